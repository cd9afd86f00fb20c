"""The suite of perturbations as whole runs of the command, on models with known answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Command, headline, statuses, suite
from word_classifier import word_classifier

SOUND = "librarian"
"""Two of the sentences for the structural checks have to get other numbers."""


def scores(entry: dict[str, Any], metric: str) -> dict[tuple[str, ...], float]:
    found = [s for s in entry["scores"] if s["metric"] == metric]
    return {tuple(s["by"].values()): s["value"] for s in found}


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """Return a classifier that calls a text toxic if it holds the word garden, in any casing."""
    return word_classifier(tmp_path / "classifier", [SOUND, "garden"])


def settings(folder: Path, labels: tuple[str, str], *more: str) -> Path:
    """Write texts of which every other one has the word, and settings that name them."""
    rows = [
        f"The {('house', 'garden')[n % 2]} number {n} was really quite large,{labels[n % 2]}"
        for n in range(40)
    ]
    (folder / "texts.csv").write_text("\n".join(["body,kind", *rows]), encoding="utf-8")
    path = folder / "pytest-bias.yaml"
    source = ", ".join(["path: texts.csv", "text: body", "label: kind", *more])
    path.write_text(f"texts:\n  perturbation:\n    mine: {{{source}}}\n", encoding="utf-8")
    return path


@pytest.mark.nightly
def test_a_classifier_on_texts_of_the_users_own(
    bias: Command, garden: Path, tmp_path: Path
) -> None:
    config = settings(tmp_path, ("other", "toxic"))
    words = ("--suite", "perturbation[own]", "--config", config, "--out", "out")
    ran = bias("run", garden, *words).done()
    found = suite(ran.report, "perturbation")
    assert (found["config"], found["status"], found["kind"]) == ("own", "scored", "robustness")
    flips = scores(found, "flip_rate")
    # It lowers all letters, and splits at marks and white space; a joined word it does not know.
    assert flips["casing",] == flips["contractions",] or flips["contractions",] is None
    assert flips["casing",] == 0
    # A text with the word flips if the word is mistyped; one without it never does.
    typed = [flips["keyboard", f"severity {n}"] for n in (1, 2, 3)]
    assert 0 < typed[0] <= typed[1] <= typed[2] <= 50
    assert flips["lookalikes", "severity 3"] > 10
    assert scores(found, "accuracy_drop") == flips
    assert scores(found, "in_distribution_accuracy")[()] == 100
    worst = next(s for s in found["scores"] if s["metric"] == "worst_class" and not s["by"])
    assert worst["note"] == "in toxic (20 of 40 texts)"
    assert worst["value"] == pytest.approx(2 * flips[()])
    assert worst["floor"] < worst["value"]
    assert 0.9 * flips[()] / 100 < scores(found, "divergence")[()] <= flips[()] / 100
    badge = (ran.at / "badges/perturbation-own.json").read_text()
    assert "robustness: Perturbation own" in badge
    assert "small changes flip the label of" in badge
    assert "body" not in found["data"]["source"]
    assert bias("verify", "out").code == 0


def test_a_protected_word_keeps_its_label(bias: Command, garden: Path, tmp_path: Path) -> None:
    config = settings(tmp_path, ("other", "toxic"), "protect: [garden, house]")
    words = ("--suite", "perturbation[own]", "--config", config, "--out", "out")
    ran = bias("run", garden, *words).done()
    assert headline(ran.report, "perturbation")["value"] == 0


def test_labels_that_are_not_the_models_own_are_told(
    bias: Command, garden: Path, tmp_path: Path
) -> None:
    config = settings(tmp_path, ("fine", "toxic"))
    words = ("--suite", "perturbation[own]", "--config", config, "--out", "out")
    ran = bias("run", garden, *words).done(3)
    reason = suite(ran.report, "perturbation")["reason"]
    assert (
        "texts are labelled fine, which is no label of the model; it gives toxic, other" in reason
    )
    assert "leave out `label`" in reason


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_language_models_on_the_bundled_texts(
    bias: Command, tiny: Callable[[str], Path], kind: str
) -> None:
    words = ("--suite", "perturbation", "--profile", "quick", "--out", "out")
    ran = bias("run", tiny(kind), *words).done()
    assert statuses(ran.report) == {"structure": "scored", "perturbation": "scored"}
    found = suite(ran.report, "perturbation")
    change = scores(found, "log_likelihood_change")
    # This one lower-cases, and takes accents off.
    assert (change["casing", "severity 3"] == 0) == (kind == "bert")
    (keyboard,) = [
        s
        for s in found["scores"]
        if s["by"] == {"perturbation": "keyboard"} and s["metric"] == "log_likelihood_change"
    ]
    assert keyboard["interval"] is not None
    assert keyboard["n_clusters"] >= 30
    assert headline(ran.report, "perturbation")["metric"] == "log_likelihood_change"
    assert bias("verify", "out").code == 0
