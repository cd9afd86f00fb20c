"""Diagnosis of damaged model files, by their first bytes and their names."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

_STARTS: Final = (
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file itself (git lfs pull)"),
    (b"version https://hawser", "is a pointer of Git LFS, not the file itself (git lfs pull)"),
    (b"<!doctype html", "is a web page, not the file itself"),
    (b"<html", "is a web page, not the file itself"),
    (b"PK\x03\x04", "is a ZIP archive, as torch.save writes it"),
    (b"\x80\x02", "is a pickle"),
    (b"\x1f\x8b", "is compressed with gzip"),
)
_HEAD: Final = 512
_LONGEST_HEADER: Final = 100_000_000
_OF_WEIGHTS: Final = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".gguf"),
    *(".incomplete", ".partial", ".part", ".tmp", ".index.json", ".crdownload"),
)
"""Suffixes of weight files of other libraries and of interrupted downloads."""
NAMED: Final = 5


def cause(path: Path) -> str | None:
    """Return the problem of a file, judged by its beginning, or None."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if not size:
        return "is empty"
    start = head.lstrip()[:64].lower() if head[:1] in b" \r\n\t<" else head
    for mark, what in _STARTS:
        if start.startswith(mark):
            return what
    return _cut_off(path, size) if path.suffix == ".safetensors" else None


def _cut_off(path: Path, size: int) -> str | None:
    """Return the problem that a safetensors file is shorter than its header states, or None."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
            return "is not a safetensors file, or is cut off"
        try:
            header = json.loads(file.read(length))
            ends = [int(t["data_offsets"][1]) for n, t in header.items() if n != "__metadata__"]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return "has a damaged header"
    whole = 8 + length + max(ends, default=0)
    return f"is cut off: it has {size:,} of {whole:,} bytes" if size < whole else None


def first_cause(paths: Iterable[Path]) -> str | None:
    """Return the first damaged file and its problem."""
    found = ((p.name, cause(p)) for p in paths if p.is_file())
    return next((f"{name} {why}" for name, why in found if why), None)


def listed(names: Sequence[str]) -> str:
    """Return names of files for a message, abbreviated if there are many."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def what_is_missing(name: str, wanted: Sequence[str], there: Iterable[str]) -> str:
    """Return a message with the missing weights and the files that exist instead.

    Parameters
    ----------
    name : str
        Name of the weight file; the name of its index is derived from it.
    wanted : sequence of str
        Files that the index lists; empty if there is no index.
    there : iterable of str
        Names of all files.
    """
    present = sorted(there)
    if gone := [n for n in wanted if n not in present]:
        of = f"{len(gone)} of the {len(wanted)} files that {name}.index.json lists"
        has = [n for n in wanted if n in present]
        rest = f"There is {listed(has)}." if has else "None of them exists."
        return f"{of} {'is' if len(gone) == 1 else 'are'} missing: {listed(gone)}. {rest}"
    found = [n for n in present if n.endswith(_OF_WEIGHTS)]
    stem, _, kind = name.rpartition(".")
    parts = [n for n in found if n.startswith(f"{stem}-") and n.endswith(f".{kind}")]
    if parts:
        return (
            f"{listed(parts)} {'exists' if len(parts) == 1 else 'exist'}, but {name}.index.json, "
            "which lists their contents, is missing."
        )
    seen = f"There is {listed(found)}." if found else "None of the files looks like weights."
    return f"neither {name} nor {name}.index.json. {seen}"
