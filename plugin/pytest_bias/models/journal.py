"""Storage of answers on disk, so that an interrupted run can be resumed.

A page belongs to one question and one model: its name is a digest of all rows that are forwarded,
the weights, and whatever else determines the bits of an answer, so that answers of different models
are never mixed. A page consists of a few files, each written atomically, so that it is valid
whenever a run is interrupted.
"""

import io
import os
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.errors import OutputError
from pytest_bias.records.documents import write_whole
from pytest_bias.records.report import canonical_json, sha256

SECONDS: Final = 2.0
"""Seconds of work that are lost at most."""

Kept = tuple[NDArray[np.int64], NDArray[Any]]


def add_file(folder: Path, ending: str, content: bytes) -> None:
    """Write a file atomically to a folder that several processes share.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    name = f"{time.time_ns()}-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}{ending}", content)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from None


@dataclass
class Page:
    """Answers to one question; without a folder nothing is stored."""

    path: Path | None = None
    _waiting: list[Kept] = field(default_factory=list)
    _written: float = field(default_factory=time.monotonic)

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed to write again."""
        return self.path is not None and time.monotonic() - self._written > SECONDS

    def kept(self) -> Iterator[Kept]:
        """Yield the answers of earlier runs: indices, and the answers at them."""
        files = sorted(self.path.glob("*.npz")) if self.path else []
        for file in files:
            try:
                with file.open("rb") as stream, np.load(stream, allow_pickle=False) as there:
                    found = there["which"], there["answers"]
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                # Damaged files are computed again.
                continue
            yield found

    def add(self, which: NDArray[np.int64], answers: NDArray[Any]) -> None:
        """Add answers, to be written by `flush`."""
        if self.path:
            self._waiting.append((which, answers))

    def flush(self) -> None:
        """Write the pending answers."""
        self._written = time.monotonic()
        if self.path is None or not self._waiting:
            return
        which, answers = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting.clear()
        content = io.BytesIO()
        np.savez(content, which=which, answers=answers)
        add_file(self.path, ".npz", content.getvalue())


@dataclass(frozen=True)
class Journal:
    """Pages of one model.

    Parameters
    ----------
    folder : Path
        Folder of the pages.
    model : mapping
        Everything that determines the bits of an answer besides the question.
    """

    folder: Path
    model: Mapping[str, Any]

    def page(self, question: str) -> Page:
        """Return the page of a question, named by its digest."""
        name = sha256(canonical_json({"model": dict(self.model), "question": question}))
        return Page(self.folder / name[:32])
