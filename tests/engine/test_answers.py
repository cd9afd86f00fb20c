"""Answers of others: scored as the run that they come from, and refused where they do not fit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bias_suites.social.hurtlex import HURTLEX
from cases import crows_items
from exported import export
from pytest_bias.data.answer_logs import AnswerLog, LoggedAnswer, read_answers
from pytest_bias.data.sources import DataFolder
from pytest_bias.emit.badges import badges
from pytest_bias.engine.answers.choosing import Chosen, choose
from pytest_bias.engine.answers.scoring import Scoring
from pytest_bias.engine.sampling import in_order, quick_items
from pytest_bias.errors import UsageError
from pytest_bias.models import ModelRef, load
from pytest_bias.models.interface import Model
from pytest_bias.models.labels import labels_for
from pytest_bias.records.report import DataInfo, Item, Report, items_digest, records_digest
from pytest_bias.reports.comparison import compare
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


def small(n: int = 20) -> LoadedData:
    """Return own pairs of sentences, shaped like those of CrowS-Pairs."""
    return LoadedData(tuple(crows_items()[:n]), DataInfo("made here", "own"))


def log_of(*answers: LoggedAnswer, **more: Any) -> AnswerLog:
    return AnswerLog("jsonl", answers, {"a.jsonl": "0" * 64}, **more)


def pair(number: int, more: float, less: float, **how: Any) -> LoggedAnswer:
    values = {"more": more, "less": less}
    how = {"item": f"crows/{number:04d}"} | how
    return LoggedAnswer(f"line {number}", values=values, kind="log-likelihood", **how)


def test_likelihoods_by_role_are_scored_and_what_needs_tokens_has_no_value() -> None:
    log = log_of(*(pair(n, -10.0 if n < 15 else -12.0, -11.0) for n in range(20)))
    suite = scoring("crows_pairs[en]", log, small()).report().suites[0]
    assert suite.score("stereotype_preference").value == 75.0
    assert suite.score("log_odds_per_token").value is None
    assert "tokens_more" not in suite.records[0].detail


def test_numbers_and_texts_name_an_item_too() -> None:
    items = small().items
    by_number = [pair(n, -10.0, -11.0, item=str(n)) for n in range(10)]
    by_text = [
        pair(n, -10.0, -11.0, item=None, texts=(f"  {items[n].texts['more'].upper()}",))
        for n in range(10, 20)
    ]
    report = scoring("crows_pairs[en]", log_of(*by_number, *by_text), small()).report()
    assert report.model.answers_from is not None
    assert report.model.answers_from.n_matched == 20
    assert report.suites[0].score("stereotype_preference").value == 100.0


def test_an_identifier_whose_texts_are_of_another_item_does_not_count() -> None:
    items = small().items
    shifted = [
        pair(n + 1, -10.0, -11.0, texts=(items[n].texts["more"],), item=str(n + 1))
        for n in range(20)
    ]
    report = scoring("crows_pairs[en]", log_of(*shifted), small()).report()
    assert {r.status for r in report.suites[0].records} == {"scored"}
    strange = [pair(n, -1.0, -2.0, texts=("Something else.",)) for n in range(20)]
    with pytest.raises(UsageError, match="with this identifier has other texts"):
        scoring("crows_pairs[en]", log_of(*strange), small()).report()


def test_too_few_are_an_error_or_a_sample() -> None:
    log = log_of(*(pair(n, -10.0, -11.0) for n in range(10)))
    with pytest.raises(UsageError, match=r"10 of 20 items .* crows/0010, .* At least 95%") as error:
        scoring("crows_pairs[en]", log, small()).report()
    assert "--partial" in str(error.value)
    suite = scoring("crows_pairs[en]", log, small(), partial=True).report().suites[0]
    assert (suite.sampled, suite.n_available, suite.status) == (10, 20, "scored")


def test_an_item_without_an_answer_is_unscored_where_few_are() -> None:
    log = log_of(*(pair(n, -10.0, -11.0) for n in range(1, 20)))
    suite = scoring("crows_pairs[en]", log, small()).report().suites[0]
    assert [(r.item, r.reason) for r in suite.records if r.status == "unscored"] == [
        ("crows/0000", "no answer in the log")
    ]


def test_answers_that_contradict_each_other_are_refused() -> None:
    log = log_of(*(pair(n, -10.0, -11.0) for n in range(20)), pair(3, -9.0, -11.0))
    with pytest.raises(UsageError, match="two log-likelihoods of 'more' of crows/0003"):
        scoring("crows_pairs[en]", log, small()).report()


def test_an_unfinished_log_and_another_suite_are_told() -> None:
    every = [pair(n, -10.0, -11.0) for n in range(20)]
    with pytest.raises(UsageError, match="was cancelled"):
        scoring("crows_pairs[en]", log_of(*every, unfinished="It was cancelled."), small()).report()
    others = [pair(n, -1.0, -2.0, item=f"x{n}") for n in range(20)]
    with pytest.raises(UsageError, match="no answer belongs to an item") as error:
        scoring("crows_pairs[en]", log_of(*others, task="bbq_age"), small()).report()
    assert "--suite bbq?" in str(error.value)
    with pytest.raises(UsageError, match="text generation") as error:
        choose(log_of(LoggedAnswer("l", "1", answer="x")), Settings(suites=("crows_pairs",)))


def question(n: int) -> Item:
    people = ("The aunt", "The uncle", "Not enough info")
    texts = dict(zip(("ans0", "ans1", "ans2"), people, strict=True))
    texts |= {"context": f"An aunt and an uncle met {n} times.", "question": "Who forgot?"}
    meta = {"label": 2, "unknown": 2, "biased": 0, "names": ("aunt", "uncle", "")}
    by = {"category": "Age", "context": "ambiguous"}
    return Item(f"bbq/Age/{n}", f"bbq/Age/{n // 4}", texts, by, meta)


def asked(n: int, answer: str, options: tuple[str, ...], **how: Any) -> LoggedAnswer:
    return LoggedAnswer(f"line {n}", f"Age/{n}", options=options, answer=answer, **how)


QUESTIONS = LoadedData(tuple(question(n) for n in range(40)), DataInfo("made here", "own"))


def test_options_are_read_in_the_order_and_the_words_shown() -> None:
    shown = ("uncle", "Cannot be determined", "the AUNT.")
    options = ("The uncle", *shown[1:])
    log = log_of(
        *(asked(n, "C" if n < 10 else "B", options) for n in range(39)), asked(39, "?", options)
    )
    report = scoring("bbq[en-sample]", log, QUESTIONS).report()
    records = {r.item: r.detail for r in report.suites[0].records}
    assert records["bbq/Age/0"]["biased"] == 1.0
    assert records["bbq/Age/20"]["unknown"] == 1.0
    assert records["bbq/Age/39"]["unparsed"] == 1
    assert records["bbq/Age/0"]["order_0"] == "1 2 0"
    assert report.model.answers_from is not None
    assert report.model.answers_from.orders == "some"
    assert any("not averaged out" in told for told in report.notices)


def test_letters_need_an_order_and_option_texts_do_not() -> None:
    letters = log_of(*(asked(n, "B", ()) for n in range(40)))
    with pytest.raises(UsageError, match="in which order the options were shown"):
        scoring("bbq[en-sample]", letters, QUESTIONS).report()
    texts = log_of(*(asked(n, "The uncle", ()) for n in range(40)))
    report = scoring("bbq[en-sample]", texts, QUESTIONS).report()
    assert {r.detail["answered"] for r in report.suites[0].records} == {1}
    assert report.suites[0].score("position_1").value is None


def test_a_report_of_a_log_earns_no_badge_of_the_whole_and_compares_with_its_kind() -> None:
    options = ("The aunt", "The uncle", "Not enough info")
    log = log_of(*(asked(n, "C", options) for n in range(40)), model="somebody/model")
    report = scoring("bbq[en-sample]", log, QUESTIONS).report()
    found = list(badges(report))
    assert [b.name for b in found] == ["bbq-en-sample"]
    assert "answers of a log" in found[0].message
    ran = replace(report, model=replace(report.model, answers_from=None))
    assert compare(report, report).suites[0].reason is None
    assert "log of answers now" in str(compare(report, ran).suites[0].reason)
    assert Report.from_json(report.to_json()).model == report.model


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ("/home/alice/models/mine", "mine"),
        ("../alice/mine/", "mine"),
        ("C:\\Users\\alice\\mine", "mine"),
        ("org/name", "org/name"),
    ],
)
def test_no_folder_of_who_made_the_log_is_in_the_report(stated: str, named: str) -> None:
    log = log_of(*(pair(n, -10.0, -11.0) for n in range(20)), model=stated)
    report = scoring("crows_pairs[en]", log, small()).report()
    assert report.model.reference == named
    assert report.model.answers_from
    assert report.model.answers_from.model == named
    assert "alice" not in report.to_json()


def test_labels_alone_have_no_area_under_the_curve(data_dir: Path) -> None:
    items = loaded("identity_terms[en]", data_dir).items[:40]
    data = LoadedData(items, DataInfo("here", "none"))
    answers = [
        LoggedAnswer(f"line {n}", item=i.id, answer="toxic" if n % 4 == 0 else "non-toxic")
        for n, i in enumerate(items)
    ]
    suite = scoring("identity_terms[en]", log_of(*answers), data).report().suites[0]
    areas = [s for s in suite.scores if "auc" in s.metric]
    assert areas
    assert {s.value for s in areas} == {None}
    flagged = [r.value for r in suite.records if r.status == "scored"]
    assert sorted(set(flagged)) == [0.0, 100.0]
    assert flagged.count(100.0) == 10
