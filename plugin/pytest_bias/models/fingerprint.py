"""Current digests of a model, without downloading weights and without torch."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_bias.environment import is_offline
from pytest_bias.errors import HubNotReached, ModelError
from pytest_bias.models.adapters import located
from pytest_bias.models.chat import default_of
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.repository import ask, fetch
from pytest_bias.models.snapshot import (
    EVAL_RESULTS,
    PUBLISHED,
    Snapshot,
    file_sha256,
    joined,
    shards,
)
from pytest_bias.records.identity import AdapterIdentity, ModelIdentity
from pytest_bias.records.report import sha256

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

PARTS: Final[Mapping[str, str]] = {
    "weights_sha256": "weights",
    "config_sha256": "configuration",
    "tokenizer_sha256": "tokenizer",
    "chat_template_sha256": "chat template",
    "code_sha256": "remote code",
}
"""Digests that identify a model, and what each one covers."""

OF_AN_ADAPTER: Final = tuple(list(PARTS)[:2])


@dataclass(frozen=True, slots=True)
class ModelFingerprint:
    """Current state of a model: the digests that a run records, and those of its files.

    Parameters
    ----------
    revision : str, optional
        Its commit.
    weights_sha256, config_sha256, tokenizer_sha256, chat_template_sha256, code_sha256 : str
        As in `ModelIdentity`.
    adapter : AdapterIdentity, optional
        Adapter that is merged into it.
    base : str, optional
        Name of the model that an adapter is merged into.
    files : mapping of str to str
        Path to digest of every file of the repository. On the Hub as in its listing: ``sha256:``
        and the SHA-256 for large files (LFS), ``git:`` and git's digest for others. For a folder
        always ``sha256:``.
    adapter_files : mapping of str to str
        The same for the adapter's repository.
    private, gated : bool
        Whether access to it on the Hub is restricted.
    code_elsewhere : tuple of str
        Other repositories from which it loads code, which no digest covers.
    signatures : mapping of str to Path
        Signatures of files (``model.sig``) that are beside them, by source: ``model``, ``adapter``.
    """

    revision: str | None
    weights_sha256: str | None
    config_sha256: str | None
    tokenizer_sha256: str | None
    chat_template_sha256: str | None
    code_sha256: str | None
    files: Mapping[str, str]
    adapter: AdapterIdentity | None = None
    adapter_files: Mapping[str, str] | None = None
    base: str | None = None
    private: bool = False
    gated: bool = False
    code_elsewhere: tuple[str, ...] = ()
    signatures: Mapping[str, Path] = field(default_factory=dict, compare=False)


def fingerprint(ref: ModelRef, *, offline: bool = False) -> ModelFingerprint:
    """Return the current fingerprint of a model.

    For a Hub model the configuration, the tokenizer and its code are downloaded, and the digests of
    the weights are taken from the listing. Offline the files in the cache are used.

    Raises
    ------
    HubNotReached
        If the Hub does not answer although the run is online: the cache may be outdated.
    ModelError
        If the model does not exist, or has no weights.
    """
    snapshot, adapter, _ = located(ref, offline=offline)
    model = _part(snapshot, offline=offline)
    added = _part(adapter.snapshot, offline=offline) if adapter else None
    tokenizing = [s for s in (adapter.snapshot if adapter else None, snapshot) if s]
    own = next((s for s in tokenizing if s.tokenizer_sha256), snapshot)
    template = _template(own)
    sources = {"model": snapshot, **({"adapter": adapter.snapshot} if adapter else {})}
    return ModelFingerprint(
        revision=snapshot.revision,
        weights_sha256=model.weights_sha256,
        config_sha256=snapshot.config_sha256,
        tokenizer_sha256=own.tokenizer_sha256,
        chat_template_sha256=sha256(template) if template else None,
        code_sha256=next(filter(None, (s.code_sha256 for s in (snapshot, own))), None),
        files=model.files,
        adapter=adapter.identity_with(added.weights_sha256) if adapter and added else None,
        adapter_files=added.files if added else None,
        base=snapshot.ref.name if added else None,
        private=model.private or bool(added and added.private),
        gated=model.gated or bool(added and added.gated),
        code_elsewhere=tuple(sorted({n for s in tokenizing for n in s.code_elsewhere})),
        signatures={name: path for name, s in sources.items() if (path := s.signature)},
    )


def differences(
    one: ModelIdentity | ModelFingerprint, other: ModelIdentity | ModelFingerprint
) -> tuple[str, ...]:
    """Return the names of the parts in which two models differ; empty if they are the same.

    README.md and reports published in ``bias`` are ignored.
    """
    found = [words for name, words in PARTS.items() if getattr(one, name) != getattr(other, name)]
    if one.adapter is None or other.adapter is None:
        return (*found, *(["adapter"] if one.adapter != other.adapter else []))
    return (
        *found,
        *(
            f"{PARTS[name]} of the adapter"
            for name in OF_AN_ADAPTER
            if getattr(one.adapter, name) != getattr(other.adapter, name)
        ),
    )


def is_beside(path: str) -> bool:
    """Whether a file only documents a model: its card, a published report, or a result."""
    return path == "README.md" or path.startswith((f"{PUBLISHED}/", f"{EVAL_RESULTS}/"))


@dataclass(frozen=True, slots=True)
class _Part:
    """One repository: the weights and files of a model, or of an adapter."""

    weights_sha256: str
    files: Mapping[str, str]
    private: bool = False
    gated: bool = False


def _part(snapshot: Snapshot, *, offline: bool) -> _Part:
    if snapshot.ref.source == "hub" and not is_offline(offline):
        if snapshot.offline:
            raise HubNotReached(
                f"the Hub could not be asked about {snapshot.ref.name}: what it is now is not "
                "known.",
                "Try again where the Hub answers.",
            )
        return _on_hub(snapshot)
    paths = [snapshot.gguf] if snapshot.gguf else _files_in(snapshot.folder)
    files = {p.relative_to(snapshot.folder).as_posix(): f"sha256:{file_sha256(p)}" for p in paths}
    return _Part(snapshot.weights_sha256(allow_pickle=True), files)


def _on_hub(snapshot: Snapshot) -> _Part:
    # At the commit whose configuration was read, even if the name has moved since.
    about = ask(ModelRef(snapshot.ref.name, "hub", snapshot.revision), digests=True)
    siblings = {s.rfilename: s for s in about.siblings or ()}
    names = _weight_names(snapshot, siblings.__contains__)
    small = [n for n in names if siblings[n].lfs is None]
    # Git's digest of a file is not a digest of its content alone.
    folder = fetch(snapshot.ref, snapshot.revision, small) if small else snapshot.folder
    digests = (
        (Path(n).name, lfs.sha256 if (lfs := siblings[n].lfs) else file_sha256(folder / n))
        for n in names
    )
    return _Part(
        joined(digests),
        {path: _digest(snapshot.ref, sibling) for path, sibling in sorted(siblings.items())},
        private=bool(about.private),
        gated=bool(about.gated),
    )


def _digest(ref: ModelRef, sibling: "RepoSibling") -> str:
    if sibling.lfs:
        return f"sha256:{sibling.lfs.sha256}"
    if sibling.blob_id:
        return f"git:{sibling.blob_id}"
    raise ModelError(f"the Hub does not state the digest of {sibling.rfilename} of {ref.name}.")


def _weight_names(snapshot: Snapshot, is_there: Callable[[str], bool]) -> list[str]:
    # Digests of pickled weights do not require unpickling.
    for name in snapshot.may_read(allow_pickle=True):
        if names := shards(snapshot.folder, name, is_there):
            return names
    raise ModelError(f"{snapshot.ref} has no weights: no {snapshot.weight_names[0]}.")


def _files_in(folder: Path) -> Iterable[Path]:
    """Yield the files of a model's folder, except hidden ones and those in hidden folders."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(p.startswith(".") for p in path.relative_to(folder).parts):
            yield path


def _template(snapshot: Snapshot) -> str | None:
    """Return the chat template that a tokenizer loaded from these files has."""
    try:
        return _template_in(snapshot)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelError(
            f"the chat template of {snapshot.ref} cannot be read: {error!r:.200}"
        ) from None


def _template_in(snapshot: Snapshot) -> str | None:
    if snapshot.gguf:
        return _template_in_gguf(snapshot.gguf)
    # A separate file takes precedence over the configuration.
    files = [snapshot.folder / "chat_template.jinja"]
    files += sorted((snapshot.folder / "additional_chat_templates").glob("*.jinja"))
    found = {p.stem: p.read_text(encoding="utf-8") for p in files if p.is_file()}
    if "chat_template" in found:
        found["default"] = found.pop("chat_template")
    if found:
        return default_of(found)
    stated = snapshot.tokenizer_config.get("chat_template")
    if isinstance(stated, list):
        stated = {t["name"]: t["template"] for t in stated}
    return default_of(stated)


def _template_in_gguf(path: Path) -> str | None:
    from gguf import GGUFReader

    field = GGUFReader(path).get_field("tokenizer.chat_template")
    return default_of(field.contents()) if field else None
