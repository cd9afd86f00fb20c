"""Classifiers that the user names: what they score, what is said of them, what is refused."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Command, statuses, suite
from pytest_bias.models import load
from pytest_bias.models.interface import Capability, Model
from pytest_bias.records.report import DataInfo, Item, Record, sha256
from pytest_bias.scoring.estimators import Mean
from pytest_bias.scoring.metric import Metric
from pytest_bias.suites import catalogue as suites
from pytest_bias.suites import classifier_readings, find
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.suite import Configuration, LoadedData, Suite
from word_classifier import word_classifier

TEXTS = ["You are awful.", "You are nice.", "An awful, awful day", "nothing"]
AWFUL = [1, 0, 1, 0]


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    found = classifier_readings.read(
        model.scorers["toxicity"], "toxicity", [i.texts["text"] for i in items]
    )
    return [
        item.record("unscored", reason=reason) if reason else item.scored(100 * float(value))
        for item, value, reason in zip(items, found.values["toxic"], found.reasons, strict=True)
    ]


def items(_data: Any) -> LoadedData:
    made = tuple(Item(f"text/{n}", f"{n}", {"text": t}) for n, t in enumerate(TEXTS))
    return LoadedData(made, DataInfo("made up", "none", sha256=sha256("".join(TEXTS))))


@pytest.fixture
def _toxic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a suite that has a named classifier score texts."""
    share = Metric("toxicity", Mean(lambda r: r.value), 0, (0, 100), "%", 0.5, headline=True)
    needs = frozenset({Capability.GENERATE})
    made = Suite(
        name="made_up",
        version="1",
        title="Made up",
        kind="downstream",
        configurations=(Configuration("en", "en", items),),
        measures=(Measure("toxicity of texts", needs, take, (share,), scorer="toxicity"),),
        scope=find("crows_pairs").scope,
        tags=("social",),
    )
    both = (find("structure"), made)
    monkeypatch.setattr(suites, "installed", lambda: both)


@pytest.fixture
def awful(tmp_path: Path) -> Callable[..., Path]:
    """Return a function from labels to the folder of a classifier of the word awful."""

    def build(*labels: str) -> Path:
        folder = tmp_path / f"scorer-{'-'.join(labels)}"
        return word_classifier(folder, ["awful"], labels) if not folder.exists() else folder

    return build


def test_a_word_classifier_knows_its_words(awful: Callable[..., Path]) -> None:
    model = load(str(awful("toxic", "other")), device="cpu")
    model.label_names = {"toxicity": {"toxic": "toxic"}}
    long = " ".join(["fine"] * 300) + " awful"
    found = classifier_readings.read(model, "toxicity", [*TEXTS, long, " ".join(["fine"] * 600)])
    assert found.values["toxic"][:5] == pytest.approx([*AWFUL, 1], abs=1e-3)
    assert math.isnan(found.values["toxic"][5])
    assert "longer than" in (found.reasons[5] or "") or "tokens" in (found.reasons[5] or "")
    assert len(classifier_readings.read(model, "toxicity", []).reasons) == 0


@pytest.mark.usefixtures("_toxic")
def test_a_run_scores_with_the_named_classifier_and_says_which(
    bias: Command, tiny: Callable[[str], Path], awful: Callable[..., Path]
) -> None:
    scorer = awful("toxic", "other")
    words = ("--scorer", f"toxicity={scorer}", "--allow-missing-data", "--out", "out")
    ran = bias("run", tiny("gpt2"), *words).done()
    found = suite(ran.report, "made_up")
    assert found["scores"][0]["value"] == pytest.approx(50, abs=0.1)
    assert found["labels"] == {"toxic": "toxic"}
    assert found["scorer"]["role"] == "toxicity"
    assert found["scorer"]["reference"] == scorer.name
    assert len(found["scorer"]["weights_sha256"]) == 64
    assert f"toxicity by {scorer.name}, label toxic" in ran.said
    assert f"toxicity by {scorer.name}, label toxic" in (ran.at / "summary.md").read_text()
    assert str(scorer.parent) not in (ran.at / "report.json").read_text()
    assert bias("verify", "out").code == 0


@pytest.mark.usefixtures("_toxic")
def test_another_scorer_makes_another_run_and_no_comparison(
    bias: Command, tiny: Callable[[str], Path], awful: Callable[..., Path]
) -> None:
    for name, labels in (("one", ("toxic", "other")), ("two", ("other", "toxic"))):
        words = ("run", tiny("gpt2"), "--scorer", f"toxicity={awful(*labels)}")
        bias(*words, "--allow-missing-data", "--out", name).done()
    bias(*words, "--out", "one").refused(2, "something else")
    assert "another scorer (scorer-toxic-other" in bias("compare", "two", "one").said


@pytest.mark.usefixtures("_toxic")
def test_without_a_scorer_the_suite_is_skipped_with_the_line_to_paste(
    bias: Command, tiny: Callable[[str], Path]
) -> None:
    ran = bias("run", tiny("gpt2"), "--allow-missing-data", "--out", "out").done()
    assert statuses(ran.report)["made_up"] == "skipped"
    assert "--scorer toxicity=org/name" in suite(ran.report, "made_up")["reason"]
    assert ran.report["coverage"]["social_suites"] == ["made_up"]
    named = bias("run", tiny("gpt2"), "--suite", "made_up", "--out", "named")
    assert named.code == 3
    assert statuses(named.report if len(named.reports) == 1 else _last(named))["made_up"] == "error"


def _last(ran: Any) -> dict[str, Any]:
    import json

    return json.loads((ran.folder / "named" / "report.json").read_text())


@pytest.mark.usefixtures("_toxic")
def test_labels_are_named_where_they_are_not_understood(
    bias: Command, tiny: Callable[[str], Path], awful: Callable[..., Path], tmp_path: Path
) -> None:
    scorer = awful("LABEL_0", "LABEL_1")
    words = ("run", tiny("gpt2"), "--scorer", f"toxicity={scorer}", "--out", "out")
    bias(*words).refused(
        2,
        "has the labels LABEL_0, LABEL_1; for toxicity one of them must be toxic",
        "labels: {toxicity: {toxic: LABEL_1}}",
    )
    settings = tmp_path / "pytest-bias.yaml"
    settings.write_text("labels: {toxicity: {toxic: LABEL_00}}\n")
    bias(*words, "--config", settings).refused(2, "label of", "Did you mean 'LABEL_0'?")
    settings.write_text("labels: {toxicity: {toxic: LABEL_0}}\n")
    ran = bias(*words, "--config", settings).done()
    assert suite(ran.report, "made_up")["labels"] == {"toxic": "LABEL_0"}
    assert suite(ran.report, "made_up")["scores"][0]["value"] == pytest.approx(50, abs=0.1)


@pytest.mark.usefixtures("_toxic")
def test_what_is_no_classifier_is_refused(bias: Command, tiny: Callable[[str], Path]) -> None:
    words = ("run", tiny("gpt2"), "--scorer")
    bias(*words, f"toxicity={tiny('bert')}").refused(2, "this is a masked language model, not")
    bias(*words, "toxicity=/no/such/folder").refused(3, "the scorer of toxicity")
    bias(*words, "toxicty=org/name").refused(2, "Did you mean 'toxicity'?")
    bias(*words, "org/name").refused(2, "is not of the form NAME=VALUE")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("scorers: {toxic: a}", "Did you mean 'toxicity'?"),
        ("scorers: {toxicity: [3]}", "line 1: scorers.toxicity: must be a text, not a list"),
        ("scorers: 3", "scorers: must be a table, not '3'"),
        ("labels: {hates: {}}", "Did you mean 'hate'?"),
        ("labels: {hate: LABEL_1}", "labels.hate: must be a table"),
        ("labels: {hate: {hatful: a}}", "Did you mean 'hateful'?"),
        ("labels: {hate: {hateful: [1]}}", "labels.hate.hateful: must be a text, not a list"),
    ],
)
def test_a_settings_file_with_a_mistake_is_answered(
    written: str, said: str, bias: Command, tmp_path: Path
) -> None:
    (tmp_path / "pytest-bias.yaml").write_text(written + "\n")
    bias("run", "demo", "--config", tmp_path / "pytest-bias.yaml").refused(2, said)


def test_numbers_that_are_not_finite_have_a_reason(awful: Callable[..., Path]) -> None:
    model = load(str(awful("toxic", "other")), device="cpu")
    model.label_names = {"toxicity": {"toxic": "toxic"}}
    with np.errstate(all="ignore"):
        model.body.network.classifier.bias.data[:] = math.nan
        assert classifier_readings.read(model, "toxicity", ["a"]).reasons == ("non-finite",)
