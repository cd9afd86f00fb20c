"""The parts of one model below the store: what was measured of it so far."""

import gzip
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pytest_bias.engine.merging import Measured
from pytest_bias.errors import ReportError
from pytest_bias.fleet.store import Store
from pytest_bias.records.report import Part
from pytest_bias.reports.folder import UNFINISHED

PARTS: Final = "parts.json"


@dataclass
class Parts:
    """What was measured of the model with a run key, an entry of a part a file."""

    store: Store
    key: str

    @property
    def root(self) -> str:
        """Return the folder below the store."""
        return f"{UNFINISHED}/{self.key[:32]}"

    @property
    def number(self) -> int | None:
        """In how many parts the model is measured; null if that has not been settled."""
        content = self.store.read(f"{self.root}/{PARTS}")
        with suppress(ValueError, TypeError):
            return int(json.loads(content)["parts"]) if content else None
        return None

    def settle(self, number: int) -> None:
        """Say in how many parts the model is measured."""
        self.store.write(f"{self.root}/{PARTS}", json.dumps({"parts": number}).encode())

    def _name(self, part: Part, entry: str) -> str:
        return f"{self.root}/{part[0]}-of-{part[1]}/{entry}.json.gz"

    def read(self, part: Part, entry: str) -> Measured | None:
        """Return what was measured of an entry, null if nothing whole is there."""
        content = self.store.read(self._name(part, entry))
        if content is None:
            return None
        with suppress(OSError, EOFError, ValueError, KeyError, TypeError, ReportError):
            return Measured.from_json(gzip.decompress(content).decode())
        return None

    def write(self, part: Part, entry: str, found: Measured) -> None:
        """Keep what was measured of an entry."""
        packed = gzip.compress(found.to_json().encode(), compresslevel=3, mtime=0)
        self.store.write(self._name(part, entry), packed)

    def remove(self) -> None:
        """Remove everything, and the folder of all models if it was the last."""
        self.store.remove(self.root)
        if self.store.local:
            with suppress(OSError):
                (self.store.local / UNFINISHED).rmdir()
