"""A stronger association, trained into the demo model, is found and named by a whole run."""

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from transformers import AutoTokenizer, BertForMaskedLM

from commands import Command, Ran, read
from pytest_bias.models.reference import ModelRef

# Eleven decisions, adjusted for one another: no p-value of a few draws is small enough.
pytestmark = pytest.mark.all_draws

ROOT = Path(__file__).parents[2]
ASSOCIATION = "template_association.association"
AXES = (
    *("gender", "gender_traits", "age", "religion", "nationality", "race", "disability"),
    *("orientation", "race_and_gender"),
)
LIMITS = {
    **{f"{ASSOCIATION}[axis={a}]": 0.3 for a in AXES},
    "gendered_pair_entropy.entropy_bias": 0.05,
    "gendered_pair_entropy.control_accuracy": 2,
}
STEPS = 40
STRONGER = 1.0
"""What every association of an axis becomes, in nats, from zero."""
STEEPER = 1.5
"""By how much the log-odds of a man grow for every occupation."""


@pytest.fixture(scope="module")
def training() -> ModuleType:
    """Import tools/train_demo.py by its path."""
    spec = importlib.util.spec_from_file_location("train_demo", ROOT / "tools" / "train_demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def planted(training: ModuleType, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that trains the demo model on, to more, and gives its folder."""

    def plant(men: dict[str, float], **pulls: float) -> Path:
        demo = ModelRef.parse("demo").path
        model = BertForMaskedLM.from_pretrained(demo)
        tokenizer = AutoTokenizer.from_pretrained(demo)
        gaps = training.Gaps.of(training.examples_of(men, pulls), tokenizer)
        training.retrain(model, gaps, STEPS)
        for part in (model, tokenizer):
            part.save_pretrained(tmp_path / "retrained")
        return tmp_path / "retrained"

    return plant


@pytest.fixture
def since_demo(bias: Command, tmp_path: Path) -> Callable[[object], Ran]:
    """Return a function that holds a model against the limits, with the demo as its baseline."""
    rules = "".join(f"  {k}: {{max_regression: {{points: {v}}}}}\n" for k, v in LIMITS.items())
    suites = ("--suite", "template_association", "--suite", "gendered_pair_entropy")

    def run(model: object) -> Ran:
        (tmp_path / "pytest-bias.yaml").write_text(f"limits:\n{rules}", encoding="utf-8")
        return bias("run", model, *suites, "--language", "en", "--baseline", "demo")

    return run


def decision_of(ran: Ran, model: str) -> dict[str, Any]:
    (folder,) = (f for f in ran.reports if f.name.startswith(model))
    return read(folder / "decision.json")


def verdicts(decision: dict[str, Any]) -> dict[str, str]:
    return {o["limit"]: o["verdict"] for o in decision["outcomes"]}


def row(ran: Ran, label: str) -> list[str]:
    """Return the row of the table of changes that begins with a label."""
    table = ran.out.split("Since demo", 1)[1]
    return next(line.split() for line in table.splitlines() if line.strip().startswith(label))


def about_the_baseline(ran: Ran, decision: dict[str, Any]) -> bool:
    """Whether the decision names the report of the baseline that the run has measured."""
    (folder,) = (f for f in ran.reports if f.name.startswith("demo-"))
    digest = read(folder / "report.json")["digest"]
    return decision["baseline"] == {"reference": "demo", "revision": None, "digest": digest}


SENTENCE = "Template association: religion rose"


@pytest.mark.slow
def test_one_axis_that_became_stronger_is_named(planted, since_demo, training):
    model = planted(training.share_of_men(neutral=False), religion=STRONGER)
    ran = since_demo(model).done(1)
    decision = decision_of(ran, "retrained")
    assert (decision["status"], decision["exit_code"]) == ("exceeded", 1)
    assert about_the_baseline(ran, decision)
    religion = f"{ASSOCIATION}[axis=religion]"
    assert verdicts(decision) == dict.fromkeys(LIMITS, "held") | {religion: "exceeded"}
    found = next(o for o in decision["outcomes"] if o["limit"] == religion)
    assert found["entry"] == "template_association[en]"
    assert found["value"] == pytest.approx(STRONGER, abs=0.2)
    assert found["interval"][0] > 0.3
    (sentence,) = (line for line in ran.out.splitlines() if line.startswith(SENTENCE))
    assert sentence.endswith("since demo, further from the ideal; 100 of 100 items changed.")
    assert row(ran, "religion")[-1] == "worse"
    assert "EXCEEDED " + religion in ran.said
    # A short training disturbs the others, by a fiftieth of what was planted.
    others = [o for o in decision["outcomes"] if o["limit"].startswith(ASSOCIATION)]
    assert all(abs(o["value"]) < 0.1 for o in others if o is not found)


@pytest.mark.slow
def test_a_gender_gap_that_became_steeper_is_found_by_both_suites(planted, since_demo, training):
    men = training.share_of_men(neutral=False)
    steeper = {o: 1 / (1 + math.exp(-STEEPER * math.log(p / (1 - p)))) for o, p in men.items()}
    ran = since_demo(planted(steeper)).done(1)
    decision = decision_of(ran, "retrained")
    gender = f"{ASSOCIATION}[axis=gender]"
    exceeded = dict.fromkeys((gender, "gendered_pair_entropy.entropy_bias"), "exceeded")
    assert verdicts(decision) == dict.fromkeys(LIMITS, "held") | exceeded
    assert row(ran, "gender ")[-1] == "worse"
    assert row(ran, "Gendered pairs")[-1] == "worse"
    before, now = (training.truth(shares) for shares in (men, steeper))
    for outcome in decision["outcomes"]:
        suite, score = outcome["limit"].split(".")
        truths = [t[f"{suite}[en]"][score] for t in (before, now)]
        assert outcome["value"] == pytest.approx(
            truths[1] - truths[0], abs=LIMITS[outcome["limit"]]
        )


@pytest.mark.slow
def test_nothing_is_found_where_nothing_was_planted(since_demo):
    ran = since_demo("demo").done(0)
    decision = decision_of(ran, "demo")
    assert decision["status"] == "held"
    assert about_the_baseline(ran, decision)
    assert decision["baseline"]["digest"] == decision["report"]
    assert verdicts(decision) == dict.fromkeys(LIMITS, "held")
    assert {tuple(o["interval"]) for o in decision["outcomes"]} == {(0.0, 0.0)}
    assert "no item changed" in ran.out
    assert "worse" not in ran.out
