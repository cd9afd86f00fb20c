"""CrowS-Pairs as the benchmarks read it: some of the pairs, from all over the data."""

import csv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "crows_pairs" / "crows_pairs_anonymized.csv"
COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")


class Pair(NamedTuple):
    """One row of the data."""

    more: str
    less: str
    direction: str
    bias_type: str


def rows(path: Path, n: int) -> list[dict[str, str]]:
    """Take rows from all over the data."""
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    n = min(n, len(found))
    return [found[i * len(found) // n] for i in range(n)]


def read(path: Path, n: int) -> list[Pair]:
    """Take pairs from all over the data."""
    return [Pair(*(row[c] for c in COLUMNS)) for row in rows(path, n)]


def sentences(path: Path, n: int) -> list[str]:
    """Take both sentences of pairs from all over the data."""
    return [text for pair in read(path, n) for text in (pair.more, pair.less)]


def data_folder(path: Path, n: int, folder: Path) -> Path:
    """Write pairs from all over the data where ``--data-dir`` looks for them."""
    chosen = rows(path, n)
    file = folder / "crows_pairs" / "crows_pairs_anonymized.csv"
    file.parent.mkdir(parents=True)
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(chosen[0]))
        writer.writeheader()
        writer.writerows(chosen)
    return folder
