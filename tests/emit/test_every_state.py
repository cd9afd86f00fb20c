"""Every state that a suite or a run can be in, on everything that goes out."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from made import record, report, result, score, unscored
from pytest_bias.emit import badges, comment, page, summary, terminal
from pytest_bias.emit.absence import properties, short_reason
from pytest_bias.emit.card import section
from pytest_bias.emit.wording import counted
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.publication_layout import Place
from pytest_bias.reports.withholding import withheld
from pytest_bias.runs.finishing import finish
from pytest_bias.settings.settings import read_settings

FEW = "3 clusters; it takes 8"
SILENT = "none of 9 items counts: 9 have no answer"
TWELVE = "12 of 20 items could not be scored: empty text"
GROUP = score(value=40.0, by={"bias_type": "age"}, headline=False)
RECORDS = (record("a/1", 50.0), unscored("a/2"))
OTHER = result("seat", title="SEAT", scores=[score("mean_absolute_effect", 0.4, ideal=0, unit="d")])

SHOWN = ("terminal", "summary", "comment", "card", "page")
STATES = {
    "a value": (
        result(scores=[score()], records=RECORDS),
        {**dict.fromkeys((*SHOWN, "badges"), "60.5"), "junit": "60.48"},
    ),
    "a value without an interval": (
        result(scores=[score(interval=None, interval_reason=FEW)], records=RECORDS),
        {**dict.fromkeys((*SHOWN, "badges"), "3 clusters"), "junit": FEW},
    ),
    "a headline without a value": (
        result(scores=[score(value=None, interval=None, note=SILENT), GROUP], records=RECORDS),
        dict.fromkeys((*SHOWN, "badges", "junit", "decision"), SILENT),
    ),
    "no headline": (
        result(scores=[GROUP], records=RECORDS),
        dict.fromkeys((*SHOWN, "junit", "decision"), "no item counts in its headline"),
    ),
    "no score at all": (
        result(records=RECORDS),
        dict.fromkeys((*SHOWN, "junit", "decision"), "no item counts in its headline"),
    ),
    "inconclusive": (
        result(status="inconclusive", reason=TWELVE, records=RECORDS),
        dict.fromkeys((*SHOWN, "decision"), TWELVE),
    ),
    "inconclusive with a headline": (
        result(
            status="inconclusive",
            reason=TWELVE,
            scores=[score(value=None, interval=None, note=TWELVE)],
            records=RECORDS,
        ),
        dict.fromkeys((*SHOWN, "decision"), TWELVE),
    ),
    "an error": (
        result(status="error", reason="KeyError: 'x'", data=None),
        dict.fromkeys((*SHOWN, "decision"), "KeyError: 'x'"),
    ),
    "skipped": (
        result(status="skipped", reason="the licence was not accepted", data=None),
        dict.fromkeys(SHOWN, "the licence was not accepted"),
    ),
    "not applicable": (
        result(status="not_applicable", reason="needs texts continued", data=None),
        dict.fromkeys(("terminal", "summary", "card", "page"), "needs texts continued"),
    ),
}
"""State to a suite in it, and what has to be read of it on each surface; on others, nothing."""


def surfaces(made: Report, folder, decision: Decision | None = None) -> dict[str, str]:
    """Return what a report looks like everywhere, as plain words."""
    done = finish(made, read_settings({"model": "demo"}), (), None, folder, {}, 0.95)
    decision = decision or done.decision
    stream = io.StringIO()
    terminal.show(made, decision, Console(file=stream, width=180))
    drawn = badges.by_name(made).items()
    texts = {
        "terminal": stream.getvalue(),
        "summary": summary.render(made, decision),
        "comment": comment.render(made, decision),
        "card": section.section(made, Place.beside(made)),
        "page": page.render(made, decision),
        "badges": " ".join(text for name, text in drawn if name.startswith("crows_pairs")),
        "junit": str([f"{k}={v}" for s in made.suites[:1] for k, v in properties(s).items()]),
        "decision": decision.to_json(),
    }
    return {name: plain(text) for name, text in texts.items()}


def plain(text: str) -> str:
    for code, char in (("\\", ""), ("&#39;", "'"), ("&lt;", "<")):
        text = text.replace(code, char)
    return " ".join(text.split())


@pytest.mark.parametrize("state", STATES)
def test_every_state_of_a_suite_is_told_everywhere(state, tmp_path):
    suite, expected = STATES[state]
    found = surfaces(report(suite, OTHER), tmp_path)
    for name, words in expected.items():
        assert words in found[name], f"{name}: {found[name][:2000]}"
    for name in (*SHOWN, *({"badges"} & expected.keys())):
        if name in expected:
            assert "CrowS-Pairs" in found[name] or "crows_pairs" in found[name], name
    # A number that is none is never shown as one.
    if "value" not in state.partition(" without ")[0]:
        assert "badges" in expected or found["badges"] == ""


@pytest.mark.parametrize("state", STATES)
def test_what_is_written_says_the_same(state, tmp_path):
    suite, expected = STATES[state]
    found = surfaces(report(suite, OTHER), tmp_path)
    for name in ("summary", "card", "page"):
        if words := expected.get(name):
            file = {"summary": "summary.md", "card": "card.md", "page": "report.html"}[name]
            assert words in plain((tmp_path / file).read_text(encoding="utf-8")), file
    assert json.loads((tmp_path / "decision.json").read_text(encoding="utf-8"))["problems"] == (
        [f"crows_pairs[en]: {suite.reason}"] if suite.status in ("error", "inconclusive") else []
    )
    assert ("measured without a value" in found["terminal"] + found["summary"]) == (
        ("junit" in expected and suite.headline is None) or state == "a headline without a value"
    )


def decided(status, code, verdict, reason) -> Decision:
    outcome = Outcome("crows_pairs.x", "max_distance", verdict, "crows_pairs[en]", reason=reason)
    return Decision(status, code, (outcome,), (), "sha256:0")


MEASURED = report(STATES["a value"][0])
RUNS = {
    "a limit is exceeded": (
        MEASURED,
        decided("exceeded", 1, "exceeded", None),
        dict.fromkeys(("summary", "comment", "page"), "A limit of this project is exceeded."),
    ),
    "a limit is undecided": (
        MEASURED,
        decided("undecided", 0, "undecided", "the limit lies inside the interval"),
        dict.fromkeys(("terminal", "summary", "comment", "page"), "lies inside the interval"),
    ),
    "interrupted": (
        replace(
            report(result(status="inconclusive", reason="interrupted before it was measured")),
            run={"interrupted": True},
        ),
        None,
        dict.fromkeys((*SHOWN, "decision"), "interrupted before it was measured"),
    ),
    "a sample": (
        report(replace(STATES["a value"][0], sampled=200, n_available=1508)),
        None,
        dict.fromkeys((*SHOWN, "badges"), "sample: 200 of 1508 items"),
    ),
    "withheld": (
        withheld(MEASURED, "00" * 32),
        None,
        dict.fromkeys(SHOWN, "scores not published"),
    ),
    "nothing": (report(), None, {"comment": "Nothing could be measured"}),
    "a run with null where tables are expected": (
        replace(MEASURED, run={"environment": None, "cost": None, "context": None, "shard": None}),
        None,
        dict.fromkeys(SHOWN, "60.5"),
    ),
}


@pytest.mark.parametrize("state", RUNS)
def test_every_state_of_a_run_is_told_everywhere(state, tmp_path):
    made, decision, expected = RUNS[state]
    found = surfaces(made, tmp_path, decision)
    for name, words in expected.items():
        assert words in found[name], f"{name}: {found[name][:2000]}"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (FEW, "3 clusters"),
        ("too many resamples have no value", "resamples without value"),
        ("the value lies outside its resamples", "outside its resamples"),
        ("all values are equal; it takes 10 clusters", "all values equal"),
        ("a reason that is much longer than that", "a reason that…"),
        ("one cluster; it takes 8", "one cluster"),
        (None, ""),
    ],
)
def test_a_missing_interval_says_why_in_three_words(reason, words):
    assert short_reason(reason) == words
    assert len(short_reason(reason).split()) <= 3


@pytest.mark.parametrize(
    ("n", "plural", "words"),
    [
        (1, "items", "1 item"),
        (2, "items", "2 items"),
        (0, "entities", "0 entities"),
        (1, "entities", "1 entity"),
        (1, "pairs of reviews", "1 pair of reviews"),
        (1, "gender pairs", "1 gender pair"),
        (1, "sentences of an axis", "1 sentence of an axis"),
    ],
)
def test_one_thing_is_no_several(n, plural, words, tmp_path):
    assert counted(n, plural) == words
    one = result(scores=[score(n=1, n_clusters=1)], records=RECORDS[:1], clusters=plural)
    found = surfaces(report(one), tmp_path)
    assert n != 1 or not [s for s, text in found.items() if f"over 1 {plural}" in text]


def test_a_report_is_worded_alike_where_its_suites_are_not_installed(monkeypatch):
    """All that outputs say of a suite stands in report.json, beside what the digest covers."""
    from pytest_bias.emit.outputs import OF_RUN, Shown
    from pytest_bias.suites import catalogue

    made = report(result(scores=[score()]), OTHER)
    shown = {path: text for o in OF_RUN for path, text in o.render(Shown(made)).items()}
    monkeypatch.setattr(catalogue, "installed", lambda: ())
    there = Report.from_json(made.to_json())
    assert there.digest == made.digest
    assert {p: t for o in OF_RUN for p, t in o.render(Shown(there)).items()} == shown
    assert "stereotype preferred" in shown["badges/crows_pairs-en.svg"]
