"""Answers of others: scored as the run that they come from, and refused where they do not fit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bias_suites.social.hurtlex import HURTLEX
from exported import export
from pytest_bias.data.answer_logs import AnswerLog, read_answers
from pytest_bias.data.sources import DataFolder
from pytest_bias.engine.answers.choosing import Chosen, choose
from pytest_bias.engine.answers.scoring import Scoring
from pytest_bias.engine.sampling import in_order, quick_items
from pytest_bias.models import ModelRef, load
from pytest_bias.models.interface import Model
from pytest_bias.models.labels import labels_for
from pytest_bias.records.report import items_digest, records_digest
from pytest_bias.settings.settings import Settings
from pytest_bias.suites import find
from pytest_bias.suites.measures import Measure, measure_items
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import LoadedData
from word_classifier import word_classifier

ACCEPTED = {"honest": HURTLEX.licence, "bbq": "CC-BY-SA-4.0"}
DEMO = "demo-chat"
CLASSIFIERS = {"hatecheck": "hate", "identity_terms": "toxicity"}
SUITES = {
    "bbq[en-sample]": DEMO,
    "bbq[en-options]": DEMO,
    "bbq[en]": "gpt2",
    "bbq[ko]": DEMO,
    "crows_pairs[en]": "gpt2",
    "stereoset[en]": "gpt2",
    "winogender[en]": "gpt2",
    "winobias[en]": "gpt2",
    "honest[en]": "gpt2",
    "discrim_eval[en]": DEMO,
    "gest[en]": "gpt2",
    "gest[en-options]": DEMO,
    "hatecheck[en]": "classifier",
    "identity_terms[en]": "classifier",
}
"""Entry to the model that answers."""
BY_DAY = ("bbq[en-sample]", "crows_pairs[en]", "winobias[en]", "discrim_eval[en]", "hatecheck[en]")


def entry_of(name: str) -> tuple[str, str]:
    suite, _, configuration = name.partition("[")
    return suite, configuration.rstrip("]")


def loaded(entry: str, data_dir: Path) -> LoadedData:
    suite, configuration = entry_of("bbq[en-sample]" if entry == "bbq[en]" else entry)
    folder = DataFolder(data_dir, offline=True, accepted=ACCEPTED).of(suite)
    return find(suite).configuration(configuration).load(folder)


def few(entry: str, data: LoadedData, n: int = 60) -> LoadedData:
    """Return some clusters, as ``--profile quick`` takes them."""
    suite, configuration = entry_of(entry)
    block = find(suite).configuration(configuration).block
    clusters = in_order(quick_items(data.items, 0, block), 0).quick(n, 8)
    return replace(data, items=tuple(i for of in clusters for i in of))


def scoring(entry: str, log: AnswerLog, data: LoadedData, **how: Any) -> Scoring:
    settings = Settings(suites=(entry,))
    return Scoring(settings, log, choose(log, settings), data, **how)


@pytest.fixture(scope="module")
def models(
    tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Model]:
    def made(name: str, suite: str) -> Model:
        if name == "gpt2":
            return load(ModelRef.parse(str(tiny("gpt2"))))
        if name == DEMO:
            model = load(ModelRef.parse(DEMO))
            model.chat = True
            return model
        folder = tmp_path_factory.mktemp("classifier")
        word_classifier(folder, ("women", "gay", "muslim", "muslims"), ("hateful", "toxic"))
        model = load(ModelRef.parse(str(folder)))
        role = CLASSIFIERS[suite]
        model.label_names = {role: labels_for(role, ("hateful", "toxic"), {}, "it")}
        return model

    return made


def run_of(entry: str, model: Model, data: LoadedData, measure: Measure, chosen: Chosen) -> Any:
    """Return the result of a run on the model itself."""
    records = measure_items(measure, model, data.items)
    result = chosen.entry.result(
        "scored",
        measure=measure.name,
        data=replace(data.info, items_sha256=items_digest(records)),
        records=records,
        records_sha256=records_digest(records),
    )
    return scored(result, find(entry_of(entry)[0]), 0)


@pytest.mark.parametrize(
    "entry", [pytest.param(e, marks=() if e in BY_DAY else pytest.mark.slow) for e in SUITES]
)
def test_a_run_exported_and_scored_again_has_the_same_scores(
    entry: str, data_dir: Path, models: Callable[[str, str], Model], tmp_path: Path
) -> None:
    data = few(entry, loaded(entry, data_dir))
    suite, configuration = entry_of(entry)
    model = models(SUITES[entry], suite)
    if entry == "bbq[en]":  # many contexts are too long for the tiny model
        able = measure_items(_measure_of(model, suite, configuration), model, data.items)
        short = {r.item for r in able if r.status == "scored"}
        data = replace(data, items=tuple(i for i in data.items if i.id in short))
    first = export(
        model, _measure_of(model, suite, configuration), data.items[:1], tmp_path / "first.jsonl"
    )
    chosen = choose(read_answers([first]), Settings(suites=(entry,)))
    file = export(model, chosen.measure, data.items, tmp_path / "answers.jsonl")
    report = scoring(entry, read_answers([file]), data).report()
    ran = run_of(entry, model, data, chosen.measure, chosen)
    assert report.suites[0].records == ran.records
    assert [_numbers(s) for s in report.suites[0].scores] == [_numbers(s) for s in ran.scores]
    assert any(s.value is not None for s in ran.scores)


def _measure_of(model: Model, suite: str, configuration: str) -> Measure:
    """Return the measure that takes what a log can hold of this model."""
    can = model.capabilities - {"branch", "embed"}
    found = find(suite).measure_for(frozenset(can), configuration)
    assert found is not None
    return found


def _numbers(score: Any) -> tuple[Any, ...]:
    return (score.metric, score.by, score.value, score.interval, score.p_value, score.n)
