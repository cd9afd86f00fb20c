"""The terminal: what matters at any width, item ids only."""

import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from made import HOSTILE, record, report, result, score
from pytest_bias.emit import terminal
from pytest_bias.emit.progress import ProgressPrinter
from pytest_bias.engine.events import (
    Fetching,
    Forecast,
    Loading,
    Notice,
    Progress,
    SuiteFinished,
    SuiteStarted,
)
from pytest_bias.models.spending import Spent
from pytest_bias.records.report import Item, Report
from pytest_bias.reports.limits import decide, read_limits

RECORDS = [record("crows/0001", 100.0), record("crows/0002", 0.0), record("crows/0003", 50.0)]
CROWS = result(
    records=RECORDS,
    adapted=True,
    sampled=200,
    n_available=1508,
    scores=[
        score(n_unscored=2, n_excluded=7),
        score(value=71.0, interval=(62, 79), by={"bias_type": "religion"}, headline=False, n=105),
        score(value=55.0, interval=(50, 60), by={"bias_type": "age"}, headline=False, n=87),
    ],
)
SEAT = result(
    "seat",
    title="SEAT",
    validity="partial",
    scores=[
        score(
            "mean_absolute_effect",
            0.62,
            ideal=0,
            bounds=(0, 2),
            unit="d",
            interval=None,
            interval_reason="an unsigned mean",
            floor=0.25,
            floor_of="shuffled labels",
        )
    ],
)
STRUCTURE = result(
    "structure",
    "all",
    title="Structure",
    kind="structure",
    scores=[score("checks_passed", 50.0, ideal=100)],
    records=[
        record("determinism", 100.0),
        record("round trip", 0.0, reason="7 of 8 sentences are not given back"),
    ],
)
SKIPPED = result("honest", "it", status="skipped", reason="not accepted\nIn pytest-bias.yaml: x")
MADE = report(STRUCTURE, CROWS, SEAT, SKIPPED)
LIMITS = read_limits(
    {
        "crows_pairs.stereotype_preference": {"max_distance": 10},
        "seat.mean_absolute_effect": {"max_distance": 0.1},
    }
)
QUALITY = result(
    "general_quality",
    kind="quality",
    title="General quality",
    validity="partial",
    scores=[
        score(
            "accuracy",
            67.5,
            ideal=100,
            interval=(56.6, 76.8),
            floor=50.0,
            floor_of="guessing",
            n=80,
        ),
        score(
            "nats_per_character",
            1.83,
            ideal=0,
            bounds=(0, None),
            unit="nats",
            interval=(1.79, 1.87),
            headline=False,
        ),
    ],
)
CONTROLS = result(
    config="en-controls",
    control_of="en",
    clusters="gender pairs",
    scores=[
        score(value=58.0),
        score("control_preference", 57.1, by={"control": "negated"}, headline=False),
    ],
)
STATES = {
    "every kind of suite, limits": (MADE, decide(MADE, LIMITS)),
    "no limits, no checks": (report(replace(STRUCTURE, records=())), decide(MADE, [])),
    "controls and quality": (report(CROWS, CONTROLS, QUALITY), None),
    "controls alone": (report(CONTROLS), None),
}


def printed(made: Report = MADE, width: int = 120, **more: object) -> str:
    stream = StringIO()
    console = Console(file=stream, width=width)
    terminal.show(made, more.get("decision"), console)
    return re.sub(" +$", "", stream.getvalue(), flags=re.MULTILINE)


@pytest.mark.parametrize("state", STATES)
def test_scores_and_limits_are_told_on_a_terminal(state, snapshot):
    made, decision = STATES[state]
    assert printed(made, 80, decision=decision) == snapshot


@pytest.mark.parametrize("width", [60, 80, 200])
def test_what_matters_is_there_at_every_width(width):
    text = printed(width=width, decision=decide(MADE, LIMITS))
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for part in ("60.5 %", "58.0 – 62.9", "71.0 %", "0.62", "shuffled labels ≈ 0.25", "1508"):
        assert part in words, part
    assert "…" not in words


ITEMS = {
    "crows_pairs[en]": {
        r.item: Item(r.item, r.item, {"more": f"Slur {r.item}\x1b[2J", "less": "[red]Mild"})
        for r in RECORDS
    }
}


def test_texts_are_shown_only_when_asked_for(snapshot):
    assert "Slur" not in printed()
    assert "crows/0001" not in printed()
    stream = StringIO()
    terminal.show_items(MADE, ITEMS, Console(file=stream, width=100))
    assert stream.getvalue() == snapshot


@pytest.mark.parametrize("text", [*HOSTILE.values(), "[bold red]x[/]", "[/]", "[link=http://e]x"])
@pytest.mark.parametrize("width", [60, 200])
def test_hostile_names_are_printed_as_text(text, width):
    made = report(
        STRUCTURE,
        replace(CROWS, title=text),
        replace(SKIPPED, reason=text),
        model=text,
    )
    shown = printed(made, width)
    assert not set(shown) & set("\x00\x08\x1b\u202e\u2066")
    stream = StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system="truecolor")
    terminal.show(made, None, console)
    assert "\x1b]8;" not in stream.getvalue()


@pytest.mark.parametrize(
    "made", [replace(SKIPPED, reason="\x1b[2J"), replace(SEAT, validity="\x1b[2J")]
)
def test_no_text_of_a_report_reaches_the_terminal_as_a_command(made):
    assert "\x1b" not in printed(report(made))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(50.0, ""), (100.0, "████████"), (0.0, "████████"), (75.0, "████"), (51.0, "▏"), (None, "")],
)
def test_the_bar_shows_the_distance_from_the_ideal(value, expected):
    assert terminal.bar(score(value=value)) == expected


def test_a_metric_without_bounds_has_no_bar():
    assert terminal.bar(score(value=75.0, bounds=(None, None))) == ""


def told(*events: object, terminal_: bool = False) -> str:
    stream = StringIO()
    console = Console(file=stream, width=100, force_terminal=terminal_)
    with ProgressPrinter(console) as printer:
        for event in events:
            printer(event)
    return stream.getvalue()


EVENTS = (
    Notice("a notice"),
    Loading("org/name", 4_416_698),
    SuiteStarted("crows_pairs[en]", 1508),
    Progress("crows_pairs[en]", 10, 100),
    SuiteFinished(CROWS),
    SuiteFinished(SKIPPED),
)


def test_without_a_terminal_progress_is_plain_lines():
    lines = told(*EVENTS).splitlines()
    assert lines[:3] == [
        "a notice",
        "Loading org/name (4.42 M parameters) …",
        "crows_pairs[en]: 1508 items …",
    ]
    assert lines[3].startswith("CrowS-Pairs en: 60.5 % in ")
    assert lines[4] == "honest[it]: skipped"
    assert len(lines) == 5


FETCHED = tuple(
    Fetching("honest/lexicon.tsv", done, 4_100_000) for done in (0, 2_000_000, 4_100_000)
)


def test_a_large_download_is_told_and_a_small_one_only_on_a_terminal(monkeypatch):
    assert told(*FETCHED) == "Fetching honest/lexicon.tsv (4.1 MB) …\n"
    assert told(Fetching("a.csv", 0, 9_000), Fetching("a.csv", 9_000, 9_000)) == ""
    assert told(Fetching("a.csv", 0, None)) == "Fetching a.csv …\n"
    monkeypatch.setattr("pytest_bias.emit.progress.LINE_EVERY_S", -1.0)
    assert "honest/lexicon.tsv: 2.0 MB of 4.1 MB\n" in told(*FETCHED)
    monkeypatch.setenv("TERM", "xterm")
    assert "Fetching honest/lexicon.tsv, kB" in told(*FETCHED[:2], terminal_=True)


def test_a_long_suite_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr("pytest_bias.emit.progress.LINE_EVERY_S", -1.0)
    assert "crows_pairs[en]: 10 of 100 sequences" in told(*EVENTS)


def test_on_a_terminal_progress_is_a_bar_that_goes_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = told(*EVENTS, terminal_=True)
    assert "CrowS-Pairs en: 60.5 % in " in text
    assert "1508 items …" not in text


@pytest.mark.parametrize(
    ("forecast", "line"),
    [
        (Forecast(840, 170, "cpu"), "About 14 min on cpu; --profile quick: about 3 min."),
        (Forecast(45, 44, "cpu"), "About 45 s on cpu."),
        (
            Forecast(7800, 170, "cpu", reached=0.114),
            "About 2 h 10 min on cpu; --budget is enough for about 11 % of the items.",
        ),
        (
            Forecast(3, 3, "cpu", reached=1.0),
            "About 3 s on cpu; --budget is enough for about 100 %",
        ),
        (
            Forecast(3600, 3590, "\x1b[2JH100", unknown=("honest[en]",)),
            "About 1 h on [2JH100; and honest[en], which cannot be told.",
        ),
    ],
)
@pytest.mark.parametrize("terminal_", [True, False])
def test_a_forecast_is_one_line(forecast, line, terminal_, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert line in re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", told(forecast, terminal_=terminal_))


@pytest.mark.parametrize(
    ("forecast", "line"),
    [
        (
            Forecast(90, 20, "a server", asked=Spent(1200, 40500, 9000), quick_calls=300),
            "1,200 calls: about 40,500 tokens sent and about 9,000 written (4 bytes each); about "
            "2 min; --profile quick: about 300 calls.",
        ),
        (
            Forecast(
                *(0, 0, "a server", 0.4, (), Spent(1, 10, 5), 0.00123, "EUR"),
                is_limited=True,
                is_calibrated=True,
            ),
            "1 call: about 10 tokens sent and at most 5 written (by those counted so far), at most "
            "0.0012 EUR; --budget is enough for about 40 % of the items.",
        ),
    ],
)
def test_a_forecast_of_calls_says_how_tokens_are_estimated(forecast, line):
    assert " ".join(told(forecast).split()) == line


def test_a_short_run_needs_no_forecast():
    assert told(Forecast(19.9, 5, "cpu")) == ""


def test_numbers_of_a_table_stand_below_one_another():
    lines = printed(report(CROWS, SEAT), 100).splitlines()
    ends = {
        line.index(mark) + len(mark)
        for line in lines
        for mark in ("60.5 %", "71.0 %", "0.62")
        if mark in line
    }
    assert len(ends) == 1
    (head,) = (line for line in lines if "95 % interval" in line)
    assert head.index("Value") + len("Value") in ends
