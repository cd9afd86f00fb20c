"""The tuning fork: what was planted in the demo models is what the suites find."""

import importlib.util
import itertools
import json
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.engine.session import Session, run
from pytest_bias.models.reference import DEMOS, ModelRef
from pytest_bias.records.report import Report
from pytest_bias.records.score import Score
from pytest_bias.settings.settings import Settings

ROOT = Path(__file__).parents[2]
TRUTH = json.loads((ModelRef.parse("demo").path.parent / "truth.json").read_text(encoding="utf-8"))
MEASURED = {"demo": "planted", "demo-neutral": "neutral"}
AXES = (
    *("gender", "gender_traits", "age", "religion", "nationality", "race", "disability"),
    *("orientation", "race_and_gender"),
)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """Measure both demo models with the suites whose truth is known."""
    suites = ("gendered_pair_entropy", "template_association")
    settings = Settings(suites=suites, languages=("en",), offline=True, device="cpu")
    return {name: run(Session(plan(describe_for(settings, name), settings))) for name in MEASURED}


@pytest.fixture(scope="module")
def training() -> ModuleType:
    """Import tools/train_demo.py by its path."""
    spec = importlib.util.spec_from_file_location("train_demo", ROOT / "tools" / "train_demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(report: Report, suite: str, metric: str, **by: str) -> Score:
    return report.suite(suite, "en").score(metric, **by)


@pytest.mark.parametrize("name", MEASURED)
def test_everything_is_scored(reports, name):
    report = reports[name]
    for suite in report.suites:
        assert suite.status in ("scored", "not_applicable"), suite.entry
        assert all(s.n_unscored == 0 for s in suite.scores)
    assert report.suite("structure").headline.value == 100
    assert report.suite("gendered_pair_entropy", "en").headline.n_excluded == 0


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("metric", ["entropy_bias", "male_probability", "control_accuracy"])
def test_the_entropy_suite_finds_the_planted_numbers(reports, name, metric):
    truth = TRUTH[MEASURED[name]]["gendered_pair_entropy[en]"][metric]
    value = found(reports[name], "gendered_pair_entropy", metric).value
    assert value == pytest.approx(truth, abs=TRUTH["tolerance"][metric])


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("axis", [None, *AXES])
def test_the_association_suite_finds_the_planted_numbers(reports, name, axis):
    truths = TRUTH[MEASURED[name]]["template_association[en]"]
    truth = truths[f"association[axis={axis}]" if axis else "association"]
    by = {"axis": axis} if axis else {}
    value = found(reports[name], "template_association", "association", **by).value
    assert value == pytest.approx(truth, abs=TRUTH["tolerance"]["association"])


@pytest.mark.parametrize("name", MEASURED)
def test_every_single_gender_association_is_near_the_planted_one(reports, name):
    planted = TRUTH[MEASURED[name]]["template_association[en]"]["by_item"]
    records = {r.item: r.value for r in reports[name].suite("template_association").records}
    off = {i: records[i] - truth for i, truth in planted.items() if abs(records[i] - truth) > 0.15}
    assert off == {}
    assert len(planted) == 120


def test_associations_come_in_the_planted_order(reports):
    planted = TRUTH["planted"]["template_association[en]"]["by_item"]
    records = {r.item: r.value for r in reports["demo"].suite("template_association").records}
    groups = defaultdict(list)
    for name in planted:
        groups[name.rpartition("/")[0]].append(name)
    assert len(groups) == 10
    compared = 0
    for names in groups.values():
        for one, another in itertools.permutations(names, 2):
            # Nearer than this the two are a tie.
            if planted[one] - planted[another] > 0.1:
                compared += 1
                assert records[one] > records[another], (one, another)
    assert compared > 400


def test_the_neutral_model_stays_below_its_floors(reports):
    report = reports["demo-neutral"]
    assert found(report, "gendered_pair_entropy", "entropy_bias").value < 0.02
    assert found(report, "gendered_pair_entropy", "entropy_bias_macro").value < 0.02
    probability = found(report, "gendered_pair_entropy", "male_probability").value
    assert abs(probability - 0.5) <= 0.01
    assert abs(found(report, "template_association", "association").value) <= 0.05
    for axis in AXES:
        score = found(report, "template_association", "association", axis=axis)
        assert abs(score.value) <= 0.05, axis


def test_the_two_models_are_told_apart(reports):
    planted, neutral = (
        found(reports[n], "gendered_pair_entropy", "entropy_bias") for n in MEASURED
    )
    assert planted.interval[0] > 0.1 > neutral.interval[1]
    planted, neutral = (
        found(reports[n], "template_association", "association", axis="gender") for n in MEASURED
    )
    assert planted.interval[0] > 1 > neutral.interval[1]


def test_every_pair_shows_what_was_planted(reports):
    truth = TRUTH["planted"]["gendered_pair_entropy[en]"]["entropy_bias"]
    suite = reports["demo"].suite("gendered_pair_entropy", "en")
    pairs = [s for s in suite.scores if s.metric == "entropy_bias" and s.by]
    assert len(pairs) == 19
    for score in pairs:
        assert score.value == pytest.approx(truth, abs=0.05), score.by
        assert score.interval[0] < truth < score.interval[1]


@pytest.mark.parametrize("name", MEASURED)
def test_real_texts_are_not_applicable_to_a_closed_vocabulary(reports, name):
    other = reports[name].suite("gendered_pair_entropy", "en-wikitext2")
    assert other.status == "not_applicable"
    assert other.reason == "its texts are outside the model's closed vocabulary"


def nearly(one: Any, another: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == another.keys() and all(nearly(one[k], another[k]) for k in one)
    return one == pytest.approx(another, abs=1e-12)


@pytest.mark.parametrize("name", ["planted", "neutral"])
def test_the_truth_follows_from_the_templates_of_today(training, name):
    men = training.share_of_men(neutral=name == "neutral")
    assert nearly(training.truth(men), TRUTH[name])


@pytest.mark.parametrize("name", ["planted", "neutral"])
def test_the_models_know_every_word_of_the_texts_of_today(training, name):
    men = training.share_of_men(neutral=name == "neutral")
    built = training.build_tokenizer(training.bundled_words(training.examples_of(men)))
    folder = ModelRef.parse("demo").path.parent / name
    shipped = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    assert built.get_vocab() == shipped["model"]["vocab"]


def test_the_truth_names_every_axis():
    for name in ("planted", "neutral"):
        named = {k for k in TRUTH[name]["template_association[en]"] if "=" in k}
        assert named == {f"association[axis={axis}]" for axis in AXES}


def test_what_stands_at_two_gaps_is_learned_word_by_word(training):
    shares = {"red car": 0.3, "red bus": 0.1, "blue car": 0.6}
    found = {e.text: e.words for e in training.one_by_one("A [MASK] was [MASK].", shares)}
    assert found == {
        "A [MASK] [MASK] was [MASK].": pytest.approx({"red": 0.4, "blue": 0.6}),
        "A red [MASK] was [MASK].": pytest.approx({"car": 0.75, "bus": 0.25}),
        "A blue [MASK] was [MASK].": {"car": 1.0},
    }


def test_the_items_of_the_suites_are_those_of_the_truth(reports):
    records = reports["demo"].suite("template_association").records
    gender = {r.item for r in records if r.by["axis"] == "gender"}
    assert gender == set(TRUTH["planted"]["template_association[en]"]["by_item"])


def test_what_was_planted_is_what_the_statistics_say(training):
    men = training.share_of_men(neutral=False)
    assert men["plumber"] == 0.97
    assert men["hygienist"] == 0.04
    assert men["engineer"] == 0.89
    assert set(training.share_of_men(neutral=True).values()) == {0.5}
    assert (TRUTH["seed"], TRUTH["made_by"]) == (training.SEED, "tools/train_demo.py")


def test_the_demo_models_are_small_and_named():
    assert set(DEMOS) == set(MEASURED)
    for name in DEMOS:
        folder = ModelRef.parse(name).path
        assert sum(p.stat().st_size for p in folder.iterdir()) < 1_000_000
