"""A model's files on disk: found or fetched, checked for what they are, and digested."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_bias.errors import ModelError
from pytest_bias.models.reference import ModelRef
from pytest_bias.records import canonical_json, sha256

SAFETENSORS: Final = "model.safetensors"
PICKLE: Final = "pytorch_model.bin"
DESCRIPTION: Final = ("*.json", "*.txt", "*.model", "*.jinja", "*.py", "README.md")
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
    "bpe.codes",
)
VOLATILE: Final = ("_name_or_path", "transformers_version")
"""Keys of config.json that say who saved it, not what the model is."""


@dataclass(frozen=True)
class Snapshot:
    """One model's folder (or GGUF file) at one revision.

    `notice` says what a user should know about how it was found.
    """

    ref: ModelRef
    folder: Path
    revision: str | None = None
    gguf: Path | None = None
    notice: str | None = None

    @cached_property
    def config(self) -> dict[str, Any]:
        """Content of config.json; empty for a GGUF file, whose header holds it."""
        if self.gguf:
            return {}
        path = self.folder / "config.json"
        if not path.is_file():
            raise ModelError(
                f"{self.ref} has no config.json.",
                "A model folder is what save_pretrained writes: configuration, tokenizer, weights.",
            )
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ModelError(f"the config.json of {self.ref} is not JSON: {error}") from None
        if not isinstance(content, dict):
            raise ModelError(f"the config.json of {self.ref} is not a table.")
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
        for name in (SAFETENSORS, PICKLE) if allow_pickle else (SAFETENSORS,):
            if files := _shards(self.folder, name):
                return files
        if _shards(self.folder, PICKLE):
            raise ModelError(
                f"{self.ref} has only pickled weights ({PICKLE}), and unpickling a file can run "
                "any code that it holds.",
                "Convert them to safetensors; or, if you trust where they come from: "
                "--allow-pickle",
            )
        raise ModelError(
            f"{self.ref} has no weights: neither {SAFETENSORS} nor {SAFETENSORS}.index.json."
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
    sha, notice = (None, None) if _is_offline(offline) else _resolve(ref)
    folder = _fetch(ref, sha, DESCRIPTION)
    return Snapshot(ref, folder, sha or folder.name, notice=notice)


def fetch_weights(snapshot: Snapshot, *, allow_pickle: bool) -> None:
    """Fetch the weights of a Hub model; nothing to do for any other."""
    if snapshot.ref.source != "hub":
        return
    if not _shards(snapshot.folder, SAFETENSORS):
        _fetch(snapshot.ref, snapshot.revision, [SAFETENSORS, "model-*.safetensors"])
    if allow_pickle and not _shards(snapshot.folder, SAFETENSORS):
        _fetch(snapshot.ref, snapshot.revision, [PICKLE, "pytorch_model-*.bin"])


def _shards(folder: Path, name: str) -> list[Path]:
    index = folder / f"{name}.index.json"
    if (folder / name).is_file():
        return [folder / name]
    if not index.is_file():
        return []
    names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    files = [folder / n for n in sorted(names)]
    return files if all(f.is_file() for f in files) else []


def _is_offline(offline: bool) -> bool:
    return offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON")


def _resolve(ref: ModelRef) -> tuple[str | None, str | None]:
    """Return the git sha that a revision stands for, and a notice if the Hub was not reached."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        return HfApi().model_info(ref.name, revision=ref.revision, timeout=30).sha, None
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
            f"there is no model {ref.name!r} on the Hub, or it is private.",
            "Check the name; for a private model: hf auth login. For a folder give its path.",
        ) from None
    except (HfHubHTTPError, OSError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    except Exception as error:
        if not type(error).__module__.startswith("http"):
            raise
        reason = type(error).__name__
    return None, f"The Hub could not be asked about {ref.name} ({reason}); looking in the cache."


def _fetch(ref: ModelRef, sha: str | None, patterns: Sequence[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, RevisionNotFoundError

    try:
        folder = snapshot_download(
            ref.name,
            revision=sha or ref.revision,
            allow_patterns=list(patterns),
            local_files_only=sha is None,
        )
    except (LocalEntryNotFoundError, RevisionNotFoundError):
        at = f" at {ref.revision!r}" if ref.revision else ""
        raise ModelError(
            f"{ref.name}{at} is not in the cache, and the Hub is not reachable from here.",
            "Give a folder that holds the model, or fetch it where there is a network: "
            f"hf download {ref.name}",
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{ref} could not be fetched: {error}") from None
    return Path(folder)


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
