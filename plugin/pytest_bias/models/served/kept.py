"""Storage of a server's answers on disk, so that a resumed run requests only missing ones.

A folder belongs to one model with its probe results, a line to one question. Files are written
atomically and never changed, so that several processes can share a folder.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_bias.models.journal import SECONDS, add_file
from pytest_bias.models.served.questions import Answer
from pytest_bias.records.report import canonical_json, sha256

ENDING: Final = ".jsonl"


@dataclass
class Kept:
    """Stored answers of one model.

    Parameters
    ----------
    folder : Path
        Folder of the answers of all models.
    model : mapping
        Everything that determines an answer besides the question.
    """

    folder: Path
    model: Mapping[str, Any]
    known: dict[str, Answer] = field(default_factory=dict, init=False)
    _waiting: list[tuple[str, Answer]] = field(default_factory=list, init=False)
    _written: float = field(default_factory=time.monotonic, init=False)

    def __post_init__(self) -> None:
        self.path = self.folder / sha256(canonical_json(dict(self.model)))[:32]
        for file in sorted(self.path.glob(f"*{ENDING}")):
            # Damaged files are requested again.
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                for line in filter(None, file.read_text(encoding="utf-8").split("\n")):
                    one = json.loads(line)
                    self.known[str(one["question"])] = dict(one["answer"])

    def add(self, question: str, answer: Answer) -> None:
        """Add an answer; it is written after two seconds, or by `flush`."""
        self.known[question] = answer
        self._waiting.append((question, answer))
        if time.monotonic() - self._written > SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the pending answers."""
        self._written = time.monotonic()
        if not self._waiting:
            return
        lines = [canonical_json({"question": q, "answer": a}) + "\n" for q, a in self._waiting]
        self._waiting.clear()
        add_file(self.path, ENDING, "".join(lines).encode())
