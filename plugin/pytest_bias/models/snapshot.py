"""A model's files on disk: location or download, checks, and digests."""

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from pytest_bias.environment import is_offline
from pytest_bias.errors import ModelError
from pytest_bias.models import damage
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.repository import NOT_REACHED, OFFLINE, fetch, listed
from pytest_bias.records.report import canonical_json, sha256

SAFETENSORS: Final = "model.safetensors"
PICKLE: Final = "pytorch_model.bin"
MODEL_SIGNATURE: Final = "model.sig"
"""Signature of a model's files, as OpenSSF model signing writes it beside them."""
DESCRIPTION: Final = (
    *("*.json", "*.txt", "*.model", "*.spm", "*.jinja", "*.py", "README.md"),
    MODEL_SIGNATURE,
)
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
CONFIGURATION: Final = (
    *("config.json", "generation_config.json", "adapter_config.json"),
    *("modules.json", "1_Pooling/config.json"),
)
"""Files of a model that say how its weights are used."""
PUBLISHED: Final = "bias"
"""Folder of a model's repository for published reports; it is not part of the model."""
EVAL_RESULTS: Final = ".eval_results"
"""Folder of a model's repository where the Hub looks for results; it is not part of the model."""

CUSTOM_GENERATION: Final = "custom_generate/generate.py"
"""Code that transformers uses for `generate` even if no configuration names it."""

Parts: TypeAlias = Mapping[str, Mapping[str, str]]
"""Part of a model, such as weights, to path to SHA-256."""

VOLATILE: Final = ("_name_or_path", "transformers_version")
"""Keys of config.json that describe how it was saved, not the model."""


@dataclass(frozen=True)
class Snapshot:
    """One model's folder (or GGUF file) at one revision.

    `notice` is a notice for the user about how it was found; `listed` names the files of a Hub
    model, downloaded or not.
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
        """Names of its files, local or on the Hub."""
        return frozenset(p.name for p in self.folder.iterdir()) | frozenset(self.listed)

    def may_read(self, *, allow_pickle: bool) -> tuple[str, ...]:
        """Return the names that its weights may have, the preferred one first."""
        return self.weight_names if allow_pickle else self.weight_names[:1]

    @cached_property
    def config(self) -> dict[str, Any]:
        """Content of config.json; empty for a GGUF file, which has it in its header."""
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
        except (ValueError, RecursionError) as error:
            told = damage.cause(path)
            why = f"{error}; it {told}" if told else str(error)
            raise ModelError(f"the {name} of {self.ref} is not JSON: {why}") from None
        if not isinstance(content, dict):
            raise ModelError(f"the {name} of {self.ref} is not a table.")
        return content

    @cached_property
    def card(self) -> dict[str, Any]:
        """Metadata of README.md; empty if missing or unreadable."""
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
            if names := shards(self.folder, name, _is_file_in(self.folder)):
                return [self.folder / n for n in names]
        self.refuse_pickle(allow_pickle=False)
        if self.ref.source == "hub" and self.offline:
            raise ModelError(
                f"the weights of {self.ref} are not in the cache, and the Hub is not asked.",
                f"Where there is a network: hf download {self.ref.name}",
            )
        name = self.weight_names[0]
        wanted = index_of(self.folder, name)
        told = damage.what_is_missing(name, wanted, self.names)
        hint = "The files may be incomplete: fetch or save them again." if wanted else None
        raise ModelError(
            f"{self.ref} has {'not all of its' if wanted else 'no'} weights: {told}", hint
        )

    def refuse_pickle(self, *, allow_pickle: bool) -> None:
        """Raise `ModelError` if there are only pickled weights and these are not allowed."""
        safe, pickle = (self.names & {n, f"{n}.index.json"} for n in self.weight_names)
        if pickle and not safe and not allow_pickle:
            raise ModelError(
                f"{self.ref} has only pickled weights ({self.weight_names[1]}), and unpickling a "
                "file can run any code that it holds.",
                "Convert them to safetensors; or, if you trust where they come from: "
                "--allow-pickle",
            )

    def weights_sha256(self, *, allow_pickle: bool) -> str:
        """Digest of the weights: of the single file, or of the sorted lines ``sha256  name``."""
        files = self.weights(allow_pickle=allow_pickle)
        return joined((f.name, file_sha256(f)) for f in files)

    @cached_property
    def config_sha256(self) -> str:
        """Digest of the configuration, without the keys about how it was saved."""
        if self.gguf:
            return file_sha256(self.gguf)
        kept = {k: v for k, v in self.config.items() if k not in VOLATILE}
        return sha256(canonical_json(kept))

    @cached_property
    def tokenizer_sha256(self) -> str | None:
        """Digest of the tokenizer's files."""
        files = [self.gguf] if self.gguf else self._there(TOKENIZER)
        return joined((f.name, file_sha256(f)) for f in files) if files else None

    @cached_property
    def code_sha256(self) -> str | None:
        """Digest of the model's own code, by paths; None if none of it is ever run.

        It covers every ``*.py`` of its repository if a configuration names its own classes
        (``auto_map``) or it has its own generation. Code that ``auto_map`` loads from another
        repository (``org/other--file.Class``) is not covered: see `code_elsewhere`.
        """
        code = [(self._path(p), file_sha256(p)) for p in self._code()]
        return joined(code) if code else None

    def measured_files(
        self, *, allow_pickle: bool, with_tokenizer: bool
    ) -> dict[str, dict[str, str]]:
        """Return the SHA-256 of every file that a measurement reads: part to path to digest.

        The parts are weights, configuration, tokenizer, chat_template and code; those without files
        are left out. `with_tokenizer` is false where another repository has the tokenizer.
        """
        weights = self.weights(allow_pickle=allow_pickle)
        parts: dict[str, Iterable[Path]] = {"weights": weights}
        if not self.gguf:
            indices = [f"{name}.index.json" for name in self.weight_names]
            parts["configuration"] = self._there((*CONFIGURATION, *indices))
            parts["code"] = self._code()
            if with_tokenizer:
                parts["tokenizer"] = self._there(TOKENIZER)
                more = sorted((self.folder / "additional_chat_templates").glob("*.jinja"))
                parts["chat_template"] = [*self._there(("chat_template.jinja",)), *more]
        found = {
            part: {self._path(p): file_sha256(p) for p in paths} for part, paths in parts.items()
        }
        return {part: files for part, files in found.items() if files}

    @property
    def signature(self) -> Path | None:
        """The signature of the model's files beside them; None if there is none."""
        path = self.folder / MODEL_SIGNATURE
        return path if path.is_file() else None

    def _there(self, names: Iterable[str]) -> list[Path]:
        """Return those of the named files that exist."""
        return [path for name in names if (path := self.folder / name).is_file()]

    def _path(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _code(self) -> list[Path]:
        """Return the files of the model's own code; none if none of it is ever run."""
        if self.gguf or not (self._classes or (self.folder / CUSTOM_GENERATION).is_file()):
            return []
        paths = ((p.relative_to(self.folder).parts[0], p) for p in self.folder.rglob("*.py"))
        return sorted(p for top, p in paths if top != PUBLISHED and not top.startswith("."))

    @property
    def code_elsewhere(self) -> tuple[str, ...]:
        """Other repositories from which ``auto_map`` loads code."""
        return tuple(sorted({n.partition("--")[0] for n in self._classes if "--" in n}))

    @cached_property
    def _classes(self) -> tuple[str, ...]:
        """Names of its own classes: ``file.Class``, or ``org/other--file.Class``."""
        maps = [self.table(n).get("auto_map") for n in ("config.json", "tokenizer_config.json")]
        values = [v for m in maps for v in (m.values() if isinstance(m, dict) else [m])]
        names = (n for v in values for n in (v if isinstance(v, list) else [v]))
        return tuple(n for n in names if n and isinstance(n, str))


def locate(ref: ModelRef, *, offline: bool = False) -> Snapshot:
    """Find a model's configuration and tokenizer, downloading them from the Hub if necessary."""
    if ref.asked:
        raise ModelError(f"{ref} is {ref.asked}: its files are not at hand.")
    if ref.source == "gguf" and ref.path:
        return Snapshot(ref, ref.path.parent, gguf=ref.path)
    if ref.path:
        revision, notice = _git_head(ref.path)
        return Snapshot(ref, ref.path, revision, notice=notice)
    offline = is_offline(offline)
    names, notice = ((), None) if offline else listed(ref)
    cached = offline or notice is not None
    why = OFFLINE if offline else NOT_REACHED
    # By name, not by commit, so that the cache can resolve the name offline.
    folder = fetch(
        ref, ref.revision, DESCRIPTION, without=(f"{PUBLISHED}/*",), cached=cached, why=why
    )
    return Snapshot(ref, folder, folder.name, None, notice, names, cached)


def fetch_weights(snapshot: Snapshot, *, allow_pickle: bool) -> None:
    """Download the weights of a Hub model; do nothing for others."""
    if snapshot.ref.source != "hub" or snapshot.offline:
        return
    for name in snapshot.may_read(allow_pickle=allow_pickle):
        folder, names = snapshot.folder, (snapshot.weight_names[0], name)
        if not any(shards(folder, n, _is_file_in(folder)) for n in names):
            stem, _, kind = name.rpartition(".")
            patterns = (name, f"{stem}-*.{kind}")
            fetch(snapshot.ref, snapshot.revision, patterns, quiet=False)


def shards(folder: Path, name: str, is_there: Callable[[str], bool]) -> list[str]:
    """Return the names of the weight files: a single one, or those that an index lists.

    The index is read from `folder`; the result is empty unless all files are there.
    """
    if is_there(name):
        return [name]
    names = index_of(folder, name)
    return names if names and all(map(is_there, names)) else []


def index_of(folder: Path, name: str) -> list[str]:
    """Return the files that the index of weights lists; empty if there is no index."""
    index = folder / f"{name}.index.json"
    if not index.is_file():
        return []
    try:
        listed = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return [str(n) for n in sorted(listed)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        told = damage.cause(index)
        why = f"it {told}" if told else f"{error!r:.200}"
        raise ModelError(f"{index.name} is damaged: {why}") from None


def _is_file_in(folder: Path) -> Callable[[str], bool]:
    return lambda name: (folder / name).is_file()


def _git_head(folder: Path) -> tuple[str | None, str | None]:
    """Return the commit of a folder that is itself a git repository without changes."""
    if not (folder / ".git").exists():
        return None, None

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=True
        )
        return done.stdout.strip()

    try:
        if git("status", "--porcelain"):
            return None, f"{folder.name} has uncommitted changes: no revision is recorded."
        return git("rev-parse", "HEAD"), None
    except (OSError, subprocess.CalledProcessError):
        return None, None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; the Hub's cache names large files by it, to avoid reading."""
    about = path.stat()
    return _digest_once(path, about.st_size, about.st_mtime_ns)


@cache
def _digest_once(path: Path, size: int, changed: int) -> str:
    target = path.resolve()
    if path.is_symlink() and target.parent.name == "blobs" and len(target.name) == 64:
        return target.name
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def of_all_parts(parts: Parts) -> dict[str, str]:
    """Return path to SHA-256 of the files of all parts."""
    return {path: digest for files in parts.values() for path, digest in files.items()}


def joined(files: Iterable[tuple[str, str]]) -> str:
    """Return one digest for named files: that of a single one, or of sorted ``sha256  name``."""
    lines = sorted(f"{digest}  {name}\n" for name, digest in files)
    return lines[0][:64] if len(lines) == 1 else sha256("".join(lines))
