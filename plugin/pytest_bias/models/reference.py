"""References to models: parsing of names, and their folders."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.applications.name import (
    ADDRESS_FORM,
    ADDRESSES,
    DEMO_CHAT,
    PREFIX,
    is_address,
    read_application,
)
from pytest_bias.models.applications.name import FORM as APPLICATION
from pytest_bias.models.served.address import FORM, PROTOCOL, read_address

DEMOS: Final = {"demo": "planted", "demo-neutral": "neutral"}
"""Bundled checkpoints: name to folder beside this file."""

BUNDLED: Final = (*DEMOS, DEMO_CHAT)
"""Names of all bundled models."""

ASKED: Final = {"served": "a served model", "application": "an application"}
"""Sources of models that are asked where they run, not loaded here; in words."""

FORMS: Final = (
    "org/name, org/name@revision, a folder, a .gguf file, demo, demo-chat, MODEL+ADAPTER, "
    f"{APPLICATION}, {ADDRESS_FORM} of an application, or {FORM}"
)

REPOSITORY: Final = re.compile(r"[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)
"""Pattern of names of Hub repositories with an owner."""
_HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


@dataclass(frozen=True, slots=True)
class ModelRef:
    """Reference to a model: Hub id with revision, folder, GGUF file, demo, application, or server.

    `adapter` is a Hub id or a folder. `server` is the address of the server of a served model,
    whose `name` is empty until the server has been queried for its only model. The `name` of an
    application is ``module:function``, its address, or that of the bundled one. A model in
    ``memory`` has no name that `parse` reads.

    Examples
    --------
    >>> ModelRef.parse("org/name@v1.2")
    ModelRef(name='org/name', source='hub', revision='v1.2', path=None, adapter=None, server=None)
    >>> str(ModelRef.parse("org/name+org/adapter@v2"))
    'org/name+org/adapter@v2'
    """

    name: str
    source: Literal["hub", "folder", "gguf", "demo", "served", "application", "memory"]
    revision: str | None = None
    path: Path | None = None
    adapter: "ModelRef | None" = None
    server: str | None = None

    @classmethod
    def parse(cls, text: str) -> "ModelRef":
        """Parse a model's name as written by a user.

        The part after a plus is an adapter if it is a folder or has the form ``org/name``;
        otherwise the plus belongs to the name.

        Raises
        ------
        ModelError
            If the text is a path that does not exist.
        UsageError
            If the text has none of the forms.
        """
        if text.startswith(PROTOCOL):
            server, name = read_address(text)
            return cls(name, "served", server=server)
        if (application := read_application(text)) is not None:
            return cls(application, "application")
        if text in DEMOS:
            return cls(text, "demo", path=Path(__file__).parent / "demo" / DEMOS[text])
        try:
            path = Path(text).expanduser()
            path.is_dir()
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(
                f"{text!r:.80} is not a model: {error}", f"A model is {FORMS}."
            ) from None
        if path.is_file() and path.suffix == ".gguf":
            return cls(path.name, "gguf", path=path.resolve())
        if path.is_dir():
            return cls(path.resolve().name, "folder", path=path.resolve())
        if path.is_file():
            raise UsageError(f"{text!r} is a file, but not a .gguf file.", f"A model is {FORMS}.")
        if plus := _before_adapter(text):
            return cls.parse(text[:plus])._with(cls.parse(text[plus + 1 :]))
        if "://" in text:
            name = "/".join(text.partition("://")[2].split("/")[1:3])
            raise UsageError(
                f"{text!r} is an address, not a model.",
                f"A model of the Hub goes by its name alone: {name or 'org/name'}",
            )
        if text.startswith((".", "/", "~")) or text.count("/") > 1 or text.endswith(".gguf"):
            raise ModelError(f"{text!r}: there is no such folder or file.", f"A model is {FORMS}.")
        name, _, revision = text.partition("@")
        if not _HUB_ID.fullmatch(name) or (("@" in text) and not revision):
            raise UsageError(f"{text!r} is not a model.", f"A model is {FORMS}.")
        return cls(name, "hub", revision or None)

    def _with(self, adapter: "ModelRef") -> "ModelRef":
        if self.adapter or adapter.adapter:
            raise UsageError(f"{self}+{adapter}: one adapter at a time is measured.")
        if adapter.source not in ("hub", "folder"):
            raise UsageError(f"{adapter} is not an adapter.", "An adapter is a folder or org/name.")
        return replace(self, adapter=adapter)

    @property
    def asked(self) -> str:
        """What it is, in words, if it is asked and not loaded; empty for a checkpoint."""
        return ASKED.get(self.source, "")

    @property
    def calls_code(self) -> bool:
        """Whether it is code of the user's that runs in this process."""
        return self.source == "application" and not is_address(self.name)

    @property
    def argument(self) -> str:
        """Text that `parse` reads as this model on this machine, with absolute paths."""
        own = (
            str(self.path)
            if self.path and self.source != "demo"
            else str(replace(self, adapter=None))
        )
        return f"{own}+{self.adapter.argument}" if self.adapter else own

    def __str__(self) -> str:
        if self.server:
            return f"{PROTOCOL}{self.server}{f'#{self.name}' if self.name else ''}"
        if self.source == "application" and self.name != DEMO_CHAT:
            return self.name if is_address(self.name) else f"{PREFIX}{self.name}"
        own = f"{self.name}@{self.revision}" if self.revision else self.name
        return f"{own}+{self.adapter}" if self.adapter else own


def asked_in_words(text: str) -> str:
    """Return `ModelRef.asked` of a name as written, which may be invalid otherwise."""
    if text.startswith(PROTOCOL):
        return ASKED["served"]
    is_application = text.startswith((PREFIX, *ADDRESSES)) or text == DEMO_CHAT
    return ASKED["application"] if is_application else ""


def _before_adapter(text: str) -> int:
    """Return the position of the plus before an adapter; 0 if there is none."""
    behind = {i: text[i + 1 :] for i, letter in enumerate(text) if letter == "+" and i}
    folders = [i for i, name in behind.items() if name and Path(name).expanduser().is_dir()]
    names = [i for i, name in behind.items() if "/" in name]
    return (folders[:1] or names[-1:] or [0])[0]
