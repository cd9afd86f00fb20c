"""Planted shortcuts as a user meets them: a checkpoint, data in the public shapes, whole runs.

What the best classifier for the training sentences scores is computed in `planted`; a classifier
that was trained without the shortcut has no gap.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planted
from commands import Command, suite

Checkpoint = Callable[[str, bool], Path]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Return a function from a task, and whether its shortcut is planted, to a checkpoint."""
    made: dict[tuple[str, bool], Path] = {}

    def build(task: str, shortcut: bool) -> Path:
        if (task, shortcut) not in made:
            folder = tmp_path_factory.mktemp("planted") / f"{task}-{shortcut}"
            made[task, shortcut] = planted.classifier(folder, task, planted=shortcut)
        return made[task, shortcut]

    return build


@pytest.fixture
def measured(bias: Command, checkpoint: Checkpoint, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs a suite and returns its scores over all items, by metric."""
    data = tmp_path / "data"
    # Half of the pairs of each label have a negation, so that it tells nothing here.
    planted.write_mnli(
        data / "mnli/validation_matched-00000-of-00001.parquet", planted.nli(3000, 9)
    )
    planted.write_contrast(data / "imdb_contrast_sets", 800, 3)
    settings = "accept_licences: {imdb_contrast: no clear licence}\n"
    (tmp_path / "pytest-bias.yaml").write_text(settings, encoding="utf-8")

    def run(name: str, task: str, *, shortcut: bool) -> dict[str, Any]:
        words = ("--suite", f"{name}[en]", "--data-dir", data, "--out", f"{task}-{shortcut}")
        ran = bias("run", checkpoint(task, shortcut), *words).done(0)
        return {s["metric"]: s for s in suite(ran.report, name)["scores"] if not s["by"]}

    return run


def holds(score: dict[str, Any], expected: float) -> bool:
    """Whether the interval of a score contains a value."""
    low, high = score["interval"]
    return bool(low <= expected <= high)


@pytest.mark.nightly
def test_a_negation_that_was_learned_as_a_contradiction_is_found(
    measured: Callable[..., Any],
) -> None:
    with_it = measured("mnli_negation", "nli", shortcut=True)
    # Beside a weak word it says contradiction: right about all of them, wrong about entailments.
    assert holds(with_it["shortcut_gap"], 100 * (1 - planted.SURE))
    assert holds(with_it["accuracy"], planted.negation_accuracy())
    assert with_it["in_distribution_accuracy"]["value"] == pytest.approx(
        planted.nli_accuracy(), abs=4
    )
    assert with_it["gap"]["interval"][0] > 10


@pytest.mark.nightly
def test_without_it_there_is_no_gap(measured: Callable[..., Any]) -> None:
    without = measured("mnli_negation", "nli", shortcut=False)
    for metric in ("shortcut_gap", "negation_gap", "gap"):
        assert holds(without[metric], 0), metric


@pytest.mark.nightly
def test_a_genre_that_was_learned_as_an_opinion_is_found(measured: Callable[..., Any]) -> None:
    with_it = measured("imdb_contrast", "sentiment", shortcut=True)
    expected = planted.contrast_scores()
    assert holds(with_it["gap"], expected["original"] - expected["contrast"])
    assert with_it["accuracy"]["value"] == pytest.approx(expected["contrast"], abs=5)
    assert with_it["consistency"]["value"] == pytest.approx(expected["consistency"], abs=5)


@pytest.mark.nightly
@pytest.mark.all_draws
def test_without_it_contrasts_are_as_easy_as_originals(measured: Callable[..., Any]) -> None:
    without = measured("imdb_contrast", "sentiment", shortcut=False)
    assert holds(without["gap"], 0)
    right = planted.SURE + (1 - planted.SURE) * planted.WEAK
    assert without["consistency"]["value"] == pytest.approx(100 * right**2, abs=5)
