"""What forwards have answered so far, on disk: a run that was killed goes on where it was.

A page belongs to one question to one model: its name is a digest of every row that is forwarded, of
the weights, and of what else decides the bits of an answer. So no model is served another's
answers. A page is a few files, each written whole or not at all, so that any moment is a good one
to be killed at.
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
"""How much work is lost at most."""

Kept = tuple[NDArray[np.int64], NDArray[Any]]


def add_file(folder: Path, ending: str, content: bytes) -> None:
    """Put a file into a folder that several processes share, whole or not at all.

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
    """Answers to one question; without a folder nothing is kept."""

    path: Path | None = None
    _waiting: list[Kept] = field(default_factory=list)
    _written: float = field(default_factory=time.monotonic)

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed to write again."""
        return self.path is not None and time.monotonic() - self._written > SECONDS

    def kept(self) -> Iterator[Kept]:
        """Yield what an earlier run has answered: indices, and the answers to them."""
        files = sorted(self.path.glob("*.npz")) if self.path else []
        for file in files:
            try:
                with file.open("rb") as stream, np.load(stream, allow_pickle=False) as there:
                    found = there["which"], there["answers"]
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                # What the disk did not keep is computed again.
                continue
            yield found

    def add(self, which: NDArray[np.int64], answers: NDArray[Any]) -> None:
        """Take answers, to be written when `flush` is called."""
        if self.path:
            self._waiting.append((which, answers))

    def flush(self) -> None:
        """Write the answers that wait."""
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
        Where pages are kept.
    model : mapping
        All that decides the bits of an answer besides the question.
    """

    folder: Path
    model: Mapping[str, Any]

    def page(self, question: str) -> Page:
        """Return the page of a question, named by its digest."""
        name = sha256(canonical_json({"model": dict(self.model), "question": question}))
        return Page(self.folder / name[:32])
