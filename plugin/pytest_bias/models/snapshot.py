"""A model's files on disk: found or fetched, checked for what they are, and digested."""

import contextlib
import difflib
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_bias.errors import ModelError
from pytest_bias.models.reference import DEMOS, ModelRef
from pytest_bias.options import is_offline
from pytest_bias.records import canonical_json, sha256

SAFETENSORS: Final = "model.safetensors"
PICKLE: Final = "pytorch_model.bin"
DESCRIPTION: Final = ("*.json", "*.txt", "*.model", "*.spm", "*.jinja", "*.py", "README.md")
TOKENIZER: Final = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
    "spm.model",
    "source.spm",
    "target.spm",
    "target_vocab.json",
    "bpe.codes",
)
PUBLISHED: Final = "bias"
"""Folder of a model's repository in which its report is published."""

VOLATILE: Final = ("_name_or_path", "transformers_version")
"""Keys of config.json that say who saved it, not what the model is."""


@dataclass(frozen=True)
class Snapshot:
    """One model's folder (or GGUF file) at one revision.

    `notice` says what a user should know about how it was found, `listed` names the files of a Hub
    model whether they were fetched or not.
    """

    ref: ModelRef
    folder: Path
    revision: str | None = None
    gguf: Path | None = None
    notice: str | None = None
    listed: tuple[str, ...] = ()
    offline: bool = False
    weight_names: tuple[str, str] = (SAFETENSORS, PICKLE)

    @property
    def names(self) -> frozenset[str]:
        """Names of its files, on disk or on the Hub."""
        return frozenset(p.name for p in self.folder.iterdir()) | frozenset(self.listed)

    def may_read(self, *, allow_pickle: bool) -> tuple[str, ...]:
        """Return the names that its weights may have, the better one first."""
        return self.weight_names if allow_pickle else self.weight_names[:1]

    @cached_property
    def config(self) -> dict[str, Any]:
        """Content of config.json; empty for a GGUF file, whose header holds it."""
        if not self.gguf and not (self.folder / "config.json").is_file():
            raise ModelError(
                f"{self.ref} has no config.json.",
                "A model folder is what save_pretrained writes: configuration, tokenizer, weights.",
            )
        return self.table("config.json")

    @cached_property
    def tokenizer_config(self) -> dict[str, Any]:
        """Content of tokenizer_config.json; empty if there is none."""
        return self.table("tokenizer_config.json")

    def table(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file; empty if there is none."""
        path = self.folder / name
        if self.gguf or not path.is_file():
            return {}
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ModelError(f"the {name} of {self.ref} is not JSON: {error}") from None
        if not isinstance(content, dict):
            raise ModelError(f"the {name} of {self.ref} is not a table.")
        return content

    @cached_property
    def card(self) -> dict[str, Any]:
        """Metadata at the head of README.md; empty if there are none that can be read."""
        path = self.folder / "README.md"
        if self.gguf or not path.is_file():
            return {}
        head = path.read_text(encoding="utf-8", errors="replace").split("---", 2)
        try:
            found = yaml.safe_load(head[1]) if len(head) == 3 and not head[0].strip() else {}
        except yaml.YAMLError:
            found = {}
        return found if isinstance(found, dict) else {}

    def weights(self, *, allow_pickle: bool) -> list[Path]:
        """Return the files that hold the weights.

        Raises
        ------
        ModelError
            If there are none, or only pickled ones and these are not allowed.
        """
        if self.gguf:
            return [self.gguf]
        for name in self.may_read(allow_pickle=allow_pickle):
            if files := _shards(self.folder, name):
                return files
        self.refuse_pickle(allow_pickle=False)
        if self.ref.source == "hub" and self.offline:
            raise ModelError(
                f"the weights of {self.ref} are not in the cache, and the Hub is not asked.",
                f"Where there is a network: hf download {self.ref.name}",
            )
        raise ModelError(
            f"{self.ref} has no weights: neither {self.weight_names[0]} nor "
            f"{self.weight_names[0]}.index.json."
        )

    def refuse_pickle(self, *, allow_pickle: bool) -> None:
        """Raise `ModelError` if there are pickled weights only and they are not allowed."""
        safe, pickle = (self.names & {n, f"{n}.index.json"} for n in self.weight_names)
        if pickle and not safe and not allow_pickle:
            raise ModelError(
                f"{self.ref} has only pickled weights ({self.weight_names[1]}), and unpickling a "
                "file can run any code that it holds.",
                "Convert them to safetensors; or, if you trust where they come from: "
                "--allow-pickle",
            )

    def weights_sha256(self, *, allow_pickle: bool) -> str:
        """Digest of the weights: of the file, or of the sorted lines ``sha256  name``."""
        files = self.weights(allow_pickle=allow_pickle)
        return _joined((f.name, _file_sha256(f)) for f in files)

    @cached_property
    def config_sha256(self) -> str:
        """Digest of the configuration, without the keys that say who saved it."""
        if self.gguf:
            return _file_sha256(self.gguf)
        kept = {k: v for k, v in self.config.items() if k not in VOLATILE}
        return sha256(canonical_json(kept))

    @cached_property
    def tokenizer_sha256(self) -> str | None:
        """Digest of the tokenizer's files."""
        if self.gguf:
            return _file_sha256(self.gguf)
        files = [self.folder / name for name in TOKENIZER if (self.folder / name).is_file()]
        return _joined((f.name, _file_sha256(f)) for f in files) if files else None


def locate(ref: ModelRef, *, offline: bool = False) -> Snapshot:
    """Find a model's configuration and tokenizer, fetching them from the Hub if need be."""
    if ref.source == "gguf" and ref.path:
        return Snapshot(ref, ref.path.parent, gguf=ref.path)
    if ref.path:
        revision, notice = _git_head(ref.path)
        return Snapshot(ref, ref.path, revision, notice=notice)
    offline = is_offline(offline)
    listed, notice = ((), None) if offline else _files_on_hub(ref)
    cached = offline or notice is not None
    why = "this run is offline" if offline else "the Hub is not reachable from here"
    # By its name, not by its commit, so that the cache knows it by name when it is asked offline.
    folder = _fetch(ref, ref.revision, DESCRIPTION, cached=cached, why=why)
    return Snapshot(ref, folder, folder.name, None, notice, listed, cached)


def fetch_weights(snapshot: Snapshot, *, allow_pickle: bool) -> None:
    """Fetch the weights of a Hub model; nothing to do for any other."""
    if snapshot.ref.source != "hub" or snapshot.offline:
        return
    for name in snapshot.may_read(allow_pickle=allow_pickle):
        if not any(_shards(snapshot.folder, n) for n in (snapshot.weight_names[0], name)):
            stem, _, kind = name.rpartition(".")
            patterns = (name, f"{stem}-*.{kind}")
            _fetch(snapshot.ref, snapshot.revision, patterns, cached=False, why="")


def published(ref: ModelRef, *, offline: bool = False) -> tuple[Path | None, str | None]:
    """Return the folder of the report that a model's repository holds, and what to tell the user.

    The folder is null if there is certainly no report.

    On the Hub that is the head of the default branch, whatever the revision of `ref`. No weights
    are fetched.

    Raises
    ------
    ModelError
        If it cannot be known: the Hub does not answer or is not asked, and the cache has no report.
    """
    name = f"{PUBLISHED}/report.json"
    if ref.path:
        folder = ref.path.parent if ref.source == "gguf" else ref.path
        return (folder / PUBLISHED if (folder / name).is_file() else None), None
    ref = replace(ref, revision=None)
    offline = is_offline(offline)
    listed, notice = ((), None) if offline else _files_on_hub(ref)
    cached = offline or notice is not None
    if not cached and name not in listed:
        return None, None
    why = "this run is offline" if offline else "the Hub is not reachable from here"
    folder = _fetch(ref, None, (name, f"{PUBLISHED}/records/*"), cached=cached, why=why)
    if not (folder / name).is_file():
        raise ModelError(
            f"the published report of {ref.name} is not in the cache, and {why}.",
            f"Where there is a network: hf download {ref.name} --include '{PUBLISHED}/*'",
        )
    return folder / PUBLISHED, notice


def _shards(folder: Path, name: str) -> list[Path]:
    index = folder / f"{name}.index.json"
    if (folder / name).is_file():
        return [folder / name]
    if not index.is_file():
        return []
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        files = [folder / str(n) for n in sorted(names)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{index.name} is damaged: {error!r:.200}") from None
    return files if files and all(f.is_file() for f in files) else []


def _files_on_hub(ref: ModelRef) -> tuple[tuple[str, ...], str | None]:
    """Return the names of a model's files, and a notice if the Hub could not be asked."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        about = HfApi().model_info(ref.name, revision=ref.revision, timeout=30)
        return tuple(s.rfilename for s in about.siblings or ()), None
    except GatedRepoError:
        raise ModelError(
            f"{ref.name} is gated.",
            f"Ask for access at https://huggingface.co/{ref.name}, then: hf auth login",
        ) from None
    except RevisionNotFoundError:
        raise ModelError(
            f"{ref.name} has no revision {ref.revision!r}.",
            f"Branches and tags: https://huggingface.co/{ref.name}/tree/main",
        ) from None
    except RepositoryNotFoundError:
        raise ModelError(
            f"there is no model {ref.name!r} on the Hub, or it is private.{_nearest(ref.name)}",
            "Check the name; for a private model: hf auth login. For a folder give its path.",
        ) from None
    except (HfHubHTTPError, OSError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    except Exception as error:
        # The client's own library for HTTP raises errors of its own.
        if not type(error).__module__.startswith("http"):
            raise
        reason = type(error).__name__
    return (), f"The Hub could not be asked about {ref.name} ({reason}); looking in the cache."


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, DEMOS, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _fetch(
    ref: ModelRef, revision: str | None, patterns: Sequence[str], *, cached: bool, why: str
) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, RevisionNotFoundError

    try:
        with _without_noise(patterns):
            folder = snapshot_download(
                ref.name,
                revision=revision,
                allow_patterns=list(patterns),
                local_files_only=cached,
            )
    except (LocalEntryNotFoundError, RevisionNotFoundError):
        at = f" --revision {ref.revision}" if ref.revision else ""
        raise ModelError(
            f"{ref} is not in the cache, and {why or 'the Hub did not answer'}."
            f"{_nearest(ref.name)}",
            "Give a folder that holds the model, or fetch it where there is a network: "
            f"hf download {ref.name}{at}",
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{ref} could not be fetched: {error}") from None
    return Path(folder)


@contextlib.contextmanager
def _without_noise(patterns: Sequence[str]) -> Iterator[None]:
    """Show the client's progress for weights only, and no advice on patterns that match nothing."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
        logging,
    )

    level, hidden = logging.get_verbosity(), are_progress_bars_disabled()
    logging.set_verbosity_error()
    if patterns == DESCRIPTION:
        disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if not hidden:
            enable_progress_bars()


def _git_head(folder: Path) -> tuple[str | None, str | None]:
    """Return the commit of a folder that is a git repository of its own and has no changes."""
    if not (folder / ".git").exists():
        return None, None

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if git("status", "--porcelain"):
            return None, f"{folder.name} has changes that are not committed: no revision is named."
        return git("rev-parse", "HEAD"), None
    except (OSError, subprocess.CalledProcessError):
        return None, None


def _file_sha256(path: Path) -> str:
    """SHA-256 of a file; the cache of the Hub names large files by it, so they are not read."""
    about = path.stat()
    return _digest_once(path, about.st_size, about.st_mtime_ns)


@cache
def _digest_once(path: Path, size: int, changed: int) -> str:
    target = path.resolve()
    if path.is_symlink() and target.parent.name == "blobs" and len(target.name) == 64:
        return target.name
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _joined(files: Iterable[tuple[str, str]]) -> str:
    lines = sorted(f"{digest}  {name}\n" for name, digest in files)
    return lines[0][:64] if len(lines) == 1 else sha256("".join(lines))
