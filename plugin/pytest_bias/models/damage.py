"""What is wrong with a model's files, as far as their first bytes and their names tell."""

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
"""How the names of files with weights end, of other libraries and of downloads that broke off."""
NAMED: Final = 5


def cause(path: Path) -> str | None:
    """Say what is wrong with a file, if its beginning tells; null where nothing is seen."""
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
    """Say that a file of safetensors is shorter than its own header says."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
            return "is no file of safetensors, or cut off"
        try:
            header = json.loads(file.read(length))
            ends = [int(t["data_offsets"][1]) for n, t in header.items() if n != "__metadata__"]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return "has a damaged header"
    whole = 8 + length + max(ends, default=0)
    return f"is cut off: it has {size:,} of {whole:,} bytes" if size < whole else None


def first_cause(paths: Iterable[Path]) -> str | None:
    """Name the first of some files that something is wrong with, and what."""
    found = ((p.name, cause(p)) for p in paths if p.is_file())
    return next((f"{name} {why}" for name, why in found if why), None)


def listed(names: Sequence[str]) -> str:
    """Return names of files, the first few of many."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def what_is_missing(name: str, wanted: Sequence[str], there: Iterable[str]) -> str:
    """Say which weights are not there, and what is there in their place.

    Parameters
    ----------
    name : str
        What the file with the weights is called; its index has a name of its own.
    wanted : sequence of str
        Files that the index lists; empty where there is none.
    there : iterable of str
        Names of all files.
    """
    present = sorted(there)
    if gone := [n for n in wanted if n not in present]:
        of = f"{len(gone)} of the {len(wanted)} files that {name}.index.json lists"
        has = [n for n in wanted if n in present]
        rest = f"There is {listed(has)}." if has else "None of them is there."
        return f"{of} {'is' if len(gone) == 1 else 'are'} missing: {listed(gone)}. {rest}"
    found = [n for n in present if n.endswith(_OF_WEIGHTS)]
    stem, _, kind = name.rpartition(".")
    parts = [n for n in found if n.startswith(f"{stem}-") and n.endswith(f".{kind}")]
    if parts:
        return (
            f"{listed(parts)} {'is' if len(parts) == 1 else 'are'} there, and {name}.index.json, "
            "which says what they hold, is not."
        )
    seen = f"There is {listed(found)}." if found else "Nothing that is there looks like weights."
    return f"neither {name} nor {name}.index.json. {seen}"
