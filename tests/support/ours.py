"""Short ways to our own numbers: items of an entry, records of a model, scores of records."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from pytest_bias.data.sources import DataFolder
from pytest_bias.models import load
from pytest_bias.models.interface import Model
from pytest_bias.records.report import Item, Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites import find
from pytest_bias.suites.measures import measure_items

MASKED = ("bert-tiny", "wordpiece", "byte-level", "unigram")
"""Masked models, a real one and one of each kind of tokenizer."""

LICENCES = {
    "bbq": "no clear licence, no redistribution",
    "seat": "CC-BY-NC-4.0, no clear licence",
    "crows_pairs": "no clear licence",
    "stereoset": "no clear licence",
    "honest": "CC-BY-NC-SA-4.0",
    "equity_evaluation": "no clear licence",
    "anli": "CC-BY-NC-4.0",
    "imdb_contrast": "no clear licence",
}


def model(folder: Path, budget: int = 0) -> Model:
    """Load a checkpoint on the CPU."""
    return load(str(folder), device="cpu", budget=budget)


# Reading the largest one takes seconds.
@cache
def items(suite: str, configuration: str, data: Path | None = None) -> tuple[Item, ...]:
    """Load the items of a configuration."""
    folder = DataFolder(data, offline=True, accepted=LICENCES)
    return find(suite).configuration(configuration).load(folder).items


def records(suite: str, on: Model, of: Sequence[Item]) -> tuple[Record, ...]:
    """Measure items by the way that suits the model."""
    measure = find(suite).measure_for(on.capabilities)
    assert measure is not None
    return measure_items(measure, on, of)


def scores(suite: str, of: Iterable[Record], measure: int = 0, only: str = "") -> list[Score]:
    """Score records by the metrics of one of a suite's measures, or by one metric of them."""
    metrics = find(suite).measures[measure].metrics
    chosen = [m for m in metrics if only in ("", m.name)]
    return list(score_records(of, chosen, Context(suite, "parity")))


def whole(found: Iterable[Score]) -> dict[str, float | None]:
    """Return the values of the scores that are not about a group, by metric."""
    return {s.metric: s.value for s in found if not s.by}
