"""The summary: tables that hold, ids and counts only, no name that breaks out."""

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from made import (
    HOSTILE,
    endless,
    endless_comparison,
    endless_decision,
    mean_effect,
    record,
    report,
    result,
    score,
)
from pytest_bias.emit import summary
from pytest_bias.emit.verdict import STATUS_SENTENCES, decided
from pytest_bias.records.report import Report
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.limits import decide, read_limits
from pytest_bias.scoring.statistics import Estimate

CROWS = result(
    scores=[
        score(n_unscored=2),
        score(value=71.0, interval=(62, 79), by={"bias_type": "religion"}, headline=False, n=105),
        score(value=55.0, interval=(50, 60), by={"bias_type": "age"}, headline=False, n=87),
    ],
    records=[record("crows/0001", 100.0)],
)
SEAT = result(
    "seat",
    title="SEAT",
    adapted=True,
    validity="partial",
    scores=[mean_effect(interval_reason="an unsigned mean")],
)
SKIPPED = result("honest", "it", title="HONEST", status="skipped", reason="licence | not accepted")
MADE = report(CROWS, SEAT, SKIPPED)


CONTROLS = result(
    config="en-controls",
    control_of="en",
    clusters="gender pairs",
    scores=[
        score(value=58.0),
        score("control_preference", 57.1, by={"control": "negated"}, headline=False),
    ],
)
QUALITY = result(
    "general_quality",
    kind="quality",
    title="General quality",
    scores=[
        score("accuracy", 67.5, ideal=100, floor=50.0, floor_of="guessing", n=80),
        score("nats_per_character", 1.83, ideal=0, unit="nats", headline=False, n=80),
    ],
)
LIMITS = read_limits(
    {
        "crows_pairs.stereotype_preference": {"max_distance": 5},
        "crows_pairs.stereotype_preference[bias_type=age]": {"max_distance": 20},
        "seat.mean_absolute_effect": {"max_distance": 1},
    }
)
MOVED = Estimate(6.1, (3.0, 9.2))
WORSE = Change(
    *(CROWS.scores[0], replace(CROWS.scores[0], value=54.38), MOVED, MOVED, MOVED, "worse"),
    n=1508,
    n_changed=210,
)
SINCE = Comparison(
    MADE,
    report(model="org/before"),
    (
        SuiteComparison("crows_pairs[en]", "CrowS-Pairs", (WORSE,)),
        SuiteComparison("seat[en]", "SEAT", reason="other items"),
    ),
)
NOTICES = ["Tested in fr, as the model's card says."]
STATES = {
    "limits and change": (MADE, decide(MADE, LIMITS), SINCE),
    "controls and quality": (report(CROWS, CONTROLS, QUALITY),),
    "notices": (replace(MADE, suites=(SKIPPED,), run={**MADE.run, "notices": NOTICES}),),
}


def page(made: Report = MADE, **more: object) -> str:
    """Render to HTML as GitHub would, with HTML passed through."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    return markdown.render(summary.render(made, **more))


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_undecided_limits_are_never_passed_over():
    limits = ("held", "undecided", "undecided")
    outcomes = tuple(Outcome(f"a.b{n}", "max_distance", v, "a[en]") for n, v in enumerate(limits))
    made = Decision("undecided", 0, outcomes, (), "sha256:0")
    told = decided(made)
    assert told.startswith("UNDECIDED: 2 of 3 limits, which did not stop this run;")
    assert "`undecided: fail`" in told
    assert told in summary.render(report(result(scores=[score()])), made)
    stopped = replace(made, exit_code=3)
    assert decided(stopped) == STATUS_SENTENCES["undecided"]
    worse = replace(made, status="exceeded", exit_code=1)
    assert decided(worse) == STATUS_SENTENCES["exceeded"]
    assert decided(None) == ""


@pytest.mark.parametrize("state", STATES)
def test_scores_limits_and_notices_are_told_in_a_summary(state, snapshot):
    digest = STATES[state][0].digest[7:19]
    assert summary.render(*STATES[state]).replace(digest, "DIGEST") == snapshot


@pytest.mark.parametrize("status", STATUS_SENTENCES)
def test_every_status_has_a_sentence(status):
    decision = replace(decide(MADE, []), status=status)
    assert STATUS_SENTENCES[status] in page(decision=decision)


def test_no_item_and_no_record_is_shown():
    assert "crows/0001" not in page()


SAFE = {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "strong"}
SAFE |= {"blockquote", "sub", "ul", "li"}


@pytest.mark.parametrize(
    "text",
    [*HOSTILE.values(), "[x](https://e)", "![x](//e)", "<b>x</b>", "| a | b |", "# x", "https://e"],
)
@pytest.mark.parametrize("place", ["model", "title", "reason", "group", "notice"])
def test_a_hostile_text_is_only_text(place, text):
    made = MADE
    if place == "model":
        made = report(*MADE.suites, model=text)
    elif place == "title":
        made = report(replace(CROWS, title=text), SEAT, SKIPPED)
    elif place == "reason":
        made = report(CROWS, SEAT, replace(SKIPPED, reason=text))
    elif place == "notice":
        made = replace(MADE, run={**MADE.run, "notices": [text]})
    else:
        scores = [replace(s, by={"bias_type": text} if s.n == 105 else s.by) for s in CROWS.scores]
        made = report(replace(CROWS, scores=tuple(scores)), SEAT, SKIPPED)
    html = page(made)
    assert set(re.findall(r"<(\w+)", html)) <= SAFE
    assert [len(row) for row in cells(html)] == [8, 8, 8, 8, 3, 3]
    assert html.count("<h2>") == 1
    assert not re.search(r"(href|src|onerror)=", re.sub(r"&\w+;", "", html))


@pytest.mark.parametrize("place", ["metric", "unit", "validity"])
def test_texts_of_a_report_that_was_read_are_only_text(place):
    text = "x`<img src=x>"
    made = {
        "metric": lambda: report(replace(SEAT, scores=(replace(SEAT.scores[0], metric=text),))),
        "unit": lambda: report(replace(SEAT, scores=(replace(SEAT.scores[0], unit=text),))),
        "validity": lambda: report(replace(SEAT, validity=text)),
    }[place]()
    assert "<img" not in page(made)


@pytest.mark.nightly
def test_no_summary_is_too_long():
    made = endless()
    text = summary.render(made, endless_decision(), endless_comparison(made))
    assert 300_000 < len(text.encode()) < summary.SUMMARY_LIMIT
    assert "and 1960 more in report.json" in text
    # Of too many limits the gravest come first.
    assert re.search(r"Because \|\n.*\n\| the one that counts \| \*\*EXCEEDED", text)


def test_sixty_suites_with_ten_thousand_changed_items_are_counted_not_listed():
    suites = [replace(CROWS, name=f"suite_{i}", title=f"A suite {i}") for i in range(60)]
    made = report(*suites)
    ids = tuple(f"suite/{i:06}" for i in range(10_000))
    moved = Estimate(6.1, (3.0, 9.2))
    changes = tuple(
        Change(s, s, moved, moved, moved, "worse", n=10_000, n_changed=10_000, items=ids)
        for s in CROWS.scores
    )
    comparison = Comparison(
        made, made, tuple(SuiteComparison(s.entry, s.title, changes) for s in suites)
    )
    text = summary.render(made, decide(made, []), comparison)
    assert len(text.encode()) < 2**20
    assert "10000 of 10000" in text
    assert "suite/0" not in text


def test_a_table_says_what_it_leaves_out():
    limits = {
        f"crows_pairs.stereotype_preference[bias_type={i}]": {"max_distance": 5} for i in range(41)
    }
    shown = cells(page(decision=decide(MADE, read_limits(limits))))
    assert shown[-1] == ["and 1 more in report.json", "", ""]
    assert len(shown) == 1 + 3 + 1 + 1 + 1 + 40 + 1
