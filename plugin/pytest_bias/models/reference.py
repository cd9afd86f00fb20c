"""The name of a model, and the folder that it stands for."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pytest_bias.errors import ModelError, UsageError

DEMOS: Final = {"demo": "planted", "demo-neutral": "neutral"}
"""Embedded models: name to folder beside this file."""

FORMS: Final = "org/name, org/name@revision, a folder, a .gguf file, or demo"

_HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


@dataclass(frozen=True, slots=True)
class ModelRef:
    """Which model is meant: a Hub id with a revision, a folder, a GGUF file, or a demo.

    Examples
    --------
    >>> ModelRef.parse("org/name@v1.2")
    ModelRef(name='org/name', source='hub', revision='v1.2', path=None)
    """

    name: str
    source: Literal["hub", "folder", "gguf", "demo"]
    revision: str | None = None
    path: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "ModelRef":
        """Read a model's name as a user writes it.

        Raises
        ------
        ModelError
            If a path is meant and nothing is there.
        UsageError
            If the text is none of the forms.
        """
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

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}" if self.revision else self.name
