"""The page: the numbers of the report, the words behind pictures, and nothing that breaks out."""

import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made import (
    HOSTILE,
    endless,
    endless_comparison,
    endless_decision,
    record,
    report,
    result,
    score,
    unscored,
)
from pytest_bias.emit import page, templates, wording
from pytest_bias.emit.plots import Row, Scale, fitted, forest, scale, ticks
from pytest_bias.records.report import Item
from pytest_bias.records.score import Spread
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.withholding import withheld
from pytest_bias.scoring.statistics import Estimate
from pytest_bias.suites import find
from pytest_bias.suites.about import furthest
from reader import Reader

RELIGION = score(value=71.0, interval=(62, 79), by={"bias_type": "religion"}, headline=False, n=105)
AGE = score(value=45.5, interval=(35, 56), by={"bias_type": "age"}, headline=False, n=87)
RECORDS = [
    record(
        f"crows/{i:04}",
        float(100 * (i % 2)),
        detail={"more": -3.0 * i, "less": -2.0, "tokens_more": 3, "tokens_less": 2},
    )
    for i in range(40)
]
CROWS = result(
    scores=[score(n_unscored=2, n_excluded=3), RELIGION, AGE],
    measure="pseudo-log-likelihood of shared tokens",
    clusters="pairs",
)
SEAT = result(
    "seat",
    title="SEAT",
    adapted=True,
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
            tolerance=0.01,
        )
    ],
)
SKIPPED = result("honest", "it", title="HONEST", status="skipped", reason="licence not accepted")
MADE = report(CROWS, SEAT, SKIPPED)


def read(made=MADE, *more, **named) -> Reader:
    return Reader(page.render(made, *more, **named))


# What it says


# Of suites that are not installed, so that no scope card is among it.
PAIRS = replace(CROWS, name="pairs", version="1")
VECTORS = replace(SEAT, name="vectors", version="1")
RUN = report(
    *(PAIRS, VECTORS, SKIPPED),
    run=MADE.run
    | {"cost": {"wall_s": 12.3, "model_s": 10.1, "tokens": 1234}, "notices": ["Told."]},
    coverage={"languages": ["en"], "social_suites": ["pairs", "vectors", "winobias"]},
)
GROUP = Change(
    *(RELIGION, replace(RELIGION, value=64.9), Estimate(6.1, (3.0, 9.2), p_value=0.0004)),
    *(Estimate(6.1, (3.0, 9.2)), Estimate(6.1, (2.0, 10.2)), "worse"),
    n=105,
    n_changed=41,
    items=("crows/0007",),
    p_adjusted=0.004,
)
WHOLE = replace(GROUP, current=CROWS.scores[0], family="decision", direction="unclear")
SINCE = Comparison(
    RUN,
    report(model="org/old"),
    (
        SuiteComparison("pairs[en]", "CrowS-Pairs", (WHOLE, GROUP)),
        SuiteComparison("vectors[en]", "SEAT", reason="other data (a, now b)"),
    ),
)
EXCEEDED = Outcome(
    *("pairs.stereotype_preference", "max_distance", "exceeded", "pairs[en]"),
    *(60.48, (57.99, 62.92), 0.95, (45, 55)),
)
TESTED = score(
    test="exact sign test",
    p_value=0.0125,
    p_adjusted=0.025,
    family="decision",
    spread=Spread("template", 8, 1.5, 58.0, 63.5),
)
EXPLORED = replace(RELIGION, p_value=0.0001, p_adjusted=0.0004, family="exploratory")
NONE = replace(CROWS.scores[0], value=None, interval=None, note="3 of 9 items failed")
EMPTY = replace(VECTORS, scores=(NONE,), status="inconclusive", reason="too few")
STATES = {
    "limits and change": (RUN, Decision("exceeded", 1, (EXCEEDED,), (), RUN.digest), SINCE),
    "tests, no value": (report(replace(PAIRS, scores=(TESTED, EXPLORED)), EMPTY),),
}


@pytest.mark.parametrize("state", STATES)
def test_all_that_a_report_says_is_in_its_page(state, snapshot):
    shown, digest = read(*STATES[state]), STATES[state][0].digest[7:]
    assert shown.lines.replace(digest, "DIGEST").replace(digest[:12], "DIGEST") == snapshot
    assert {p["role"] for p in shown.all("svg")} <= {"img"}


def test_numbers_are_those_of_every_other_output():
    shown = read()
    for one in (*CROWS.scores, *SEAT.scores):
        assert wording.value(one) in shown.text
        assert wording.interval(one) in shown.text


def test_scores_that_are_not_published_are_not_in_the_page():
    made = withheld(report(replace(CROWS, records=tuple(RECORDS)), SKIPPED), "ab" * 32)
    shown = read(made)
    for line in wording.not_published(made):
        assert line in shown.text
    assert "Measured, scores not published: CrowS-Pairs en." in shown.text
    assert shown.all("svg") == []
    for one in CROWS.scores:
        assert wording.value(one) not in shown.text
    assert "crows/" not in shown.text


def test_the_scope_card_and_its_evidence_stand_below_the_numbers():
    text = read().text
    assert "Validity: contested. The authors warn in their repository, since 2021," in text
    assert "Does not show That a model near 50 is free of bias" in text
    theirs = replace(CROWS, name="theirs", title="Theirs")
    text = read(report(theirs)).text
    assert "This report does not say, and the suite is not installed here." in text
    assert "Blodgett" not in text
    older = read(report(replace(CROWS, version="0"))).text
    assert "(Scope card of version 3, which says contested.)" in older


def test_failed_checks_of_the_structure_are_named():
    made = result(
        "structure",
        "all",
        [score("checks_passed", 50.0, ideal=100, interval=None)],
        [record("finite outputs"), record("mask token", 0.0, reason="it has none")],
        kind="structure",
        title="Structure",
    )
    assert "Failed: mask token. it has none" in read(report(made)).text


# Items


def measured(records=RECORDS, **more):
    return report(replace(CROWS, records=tuple(records), **more))


def test_items_that_count_alike_are_ordered_by_a_mean_over_them():
    text = read(measured()).text
    assert "(40 count alike; furthest by log odds per token): crows/ 0039 crows/ 0038" in text
    assert text.count("crows/ ") == 10


def test_items_of_a_mean_are_the_furthest_that_are_part_of_it():
    parts = [record(f"e/{i}", i / 100, by={"part": "neutral", "pair": "a/b"}) for i in range(20)]
    parts += [record("e/control", 100.0, by={"part": "control"}), unscored("e/x")]
    one = score("entropy_bias", 0.1, ideal=0, bounds=(0, 1), unit="bits")
    made = result(
        "gendered_pair_entropy", "en", [one], parts, measure="two words at one mask", title="Pairs"
    )
    assert "furthest from the ideal: e/ 19 e/ 18 e/ 17" in read(report(made)).text


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (report(CROWS), "The records are not beside this report."),
        (measured(version="0"), "crows_pairs 0 is not installed here"),
        (measured(measure="other"), "measure of crows_pairs"),
        (
            measured([replace(r, detail={"tokens_more": 3}) for r in RECORDS]),
            "The records do not fit the suite",
        ),
    ],
)
def test_why_no_item_is_named(made, why):
    text = read(made).text
    assert why in text
    assert "crows/ 00" not in text


def test_a_score_without_parts_names_no_item():
    suite = find("seat")
    (measure,) = suite.measures
    metrics = tuple(replace(m, estimate=mean_absolute) for m in measure.metrics)
    theirs = replace(suite, measures=(replace(measure, metrics=metrics),))
    made = replace(SEAT, records=tuple(RECORDS), measure=measure.name)
    assert furthest(made, theirs).reason == "This score has no value for single items."


def mean_absolute(records, sampling):
    """Stand for an estimator that is a plain function."""
    return Estimate(None, interval_reason="none")


def test_texts_are_folded_behind_a_warning_and_only_where_given():
    items = {"crows/0039": Item("crows/0039", "c", {"more": "They <b>lie</b>.", "less": "We lie."})}
    html = page.render(measured(), texts={"crows_pairs[en]": items})
    folded = re.search(r'<details class="warning">(.*?)</details>', html, re.DOTALL)
    assert folded
    assert "offensive by design" in folded[1]
    assert "They &lt;b&gt;lie&lt;/b&gt;." in folded[1]
    assert "They" not in html.replace(folded[0], "")
    assert "warning" not in read(measured()).text
    assert '<details class="warning">' not in page.render(measured())


# How it is made


def test_headings_are_in_order_and_the_language_is_named():
    shown = read(RUN, None, SINCE)
    levels = [int(tag[1]) for tag, _ in shown.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert shown.all("html") == [{"lang": "en"}]


def test_nothing_is_loaded_and_no_script_runs():
    html = page.render(MADE)
    shown = Reader(html)
    assert {tag for tag, _ in shown.tags} & {"script", "img", "iframe", "object", "use"} == set()
    assert shown.all("link") == [{"rel": "icon", "href": "data:,"}]
    assert [a for _, a in shown.tags if set(a) & {"src", "srcset", "action"}] == []
    assert "url(" not in html
    assert "@import" not in html
    assert "http" not in html.replace("http-equiv", "")


def test_the_same_report_gives_the_same_bytes():
    assert page.render(MADE) == page.render(report(CROWS, SEAT, SKIPPED))


PLAIN = {tag for made in (MADE, measured()) for tag, _ in read(made).tags}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("place", ["model", "title", "group", "reason", "metric", "unit", "item"])
def test_no_name_breaks_out(text, place):
    spoilt = {
        "model": lambda: replace(MADE, model=replace(MADE.model, reference=text)),
        "title": lambda: report(replace(CROWS, title=text)),
        "group": lambda: report(
            replace(CROWS, scores=(CROWS.scores[0], replace(AGE, by={text: text}), RELIGION))
        ),
        "reason": lambda: report(CROWS, replace(SKIPPED, reason=text)),
        "metric": lambda: report(replace(SEAT, scores=(replace(SEAT.scores[0], metric=text),))),
        "unit": lambda: report(replace(SEAT, scores=(replace(SEAT.scores[0], unit=text),))),
        "item": lambda: measured([replace(r, item=f"{r.item}{text}") for r in RECORDS]),
    }[place]()
    html = page.render(spoilt)
    shown = Reader(html)
    assert {tag for tag, _ in shown.tags} <= PLAIN
    assert [a for _, a in shown.tags if any(name.startswith("on") for name in a)] == []
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)


@pytest.mark.slow
def test_no_page_is_too_large():
    made = endless()
    html = page.render(made, endless_decision(), endless_comparison(made))
    assert 1_000_000 < len(html.encode()) < page.PAGE_LIMIT
    shown = Reader(html)
    assert "Left out, so that this page stays small; report.json has them" in shown.text
    assert shown.text.count("the one that counts EXCEEDED") == 1


def test_a_picture_shows_the_furthest_groups_and_says_how_many_it_leaves_out():
    groups = [replace(AGE, value=50 + i / 10, by={"bias_type": f"g{i}"}) for i in range(60)]
    shown = read(report(replace(CROWS, scores=(CROWS.scores[0], *groups))))
    words = shown.all("svg")[1]["aria-label"]
    assert "g59:" in words
    assert "g20:" in words
    assert "g19:" not in words
    assert "The 40 groups furthest from the ideal; 20 more in the table." in shown.text
    assert "g19 51.9 %" in shown.text


# Pictures


def drawn(svg: str, kind: str) -> list[ElementTree.Element]:
    """Return the shapes of a class, in the order in which they are drawn."""
    return [e for e in ElementTree.fromstring(svg) if e.get("class") == kind]


def places(svg: str, kind: str) -> list[tuple[float, ...]]:
    """Return where the shapes of a class begin and, where they are level lines, end."""
    found = [
        re.fullmatch(r"M([\d.]+) [\d.]+(?:H([\d.]+))?.*", e.get("d")) for e in drawn(svg, kind)
    ]
    return [tuple(float(x) for x in at.groups() if x) for at in found]


def test_every_mark_stands_where_its_number_is():
    shared = Scale(0, 100, 50, "ideal 50")
    rows = [Row("b", "60", 60, (50, 75), floor=40), Row("a", "100", 100, (0, 100))]
    svg = forest(rows, "words", shared)
    assert places(svg, "interval") == [(180, 266), (8, 352)]
    assert [float(e.get("cx")) for e in drawn(svg, "value")] == [shared.at(60), shared.at(100)]
    assert places(svg, "ideal") == [(180,)] * 3
    assert [e.text for e in drawn(svg, "label")] == ["b", "60", "a", "100"]
    lines = [float(e.get("cy")) for e in drawn(svg, "value")]
    assert lines == sorted(lines)
    words = {e.text: float(e.get("x")) for e in drawn(svg, "quiet")}
    assert words == {w: shared.at(float(w.removeprefix("ideal "))) for w in words}
    assert list(words) == ["ideal 50", "0", "20", "40", "60", "80", "100"]
    assert [x for (x,) in places(svg, "tick")] == pytest.approx(list(words.values())[1:], abs=0.01)
    assert 'aria-label="words"' in svg


@given(st.floats(-1e5, 1e5), st.floats(1e-3, 1e5))
def test_the_numbers_of_a_scale_are_round(low, wide):
    found = ticks(low, low + wide)
    values = [v for v, _ in found]
    assert 2 <= len(found) <= 6
    assert low - 1e-6 * wide <= values[0] < values[-1] <= low + 1.000001 * wide
    step = values[1] - values[0]
    assert np.diff(values) == pytest.approx([step] * (len(values) - 1))
    assert f"{step:.1e}"[:3] in ("1.0", "2.0", "2.5", "5.0")
    assert [float(words) for _, words in found] == pytest.approx(values, abs=1e-9)


@pytest.mark.parametrize(
    ("ideal", "values"),
    [(0, (1e300,)), (0, (1e-320,)), (1e17, (1e17,)), (0, (1.7e308, -1.7e308)), (1e9, (1e9 + 1,))],
)
def test_a_value_of_any_size_is_drawn(ideal, values):
    rows = [Row("a", f"{v:.0f}", v, (v, v), floor=v) for v in values]
    shared = scale(rows, ideal, (None, None), 0, f"ideal {ideal:.0f}")
    for svg in (
        forest(rows, "", shared),
        forest([replace(row, scale=shared) for row in rows], ""),
    ):
        assert all(8 <= float(e.get("cx")) <= 352 for e in drawn(svg, "value"))
        assert all(len(e.text) < 60 for e in ElementTree.fromstring(svg).iter() if e.text)


def test_a_scale_holds_everything_and_never_leaves_the_bounds():
    rows = [Row("a", "", 97.0, (90.0, 99.5))]
    found = scale(rows, 50, (0, 100), 10)
    assert (found.low, found.high) == (pytest.approx(47.03), 100)
    narrow = scale([Row("a", "", 0.001, (-0.001, 0.002))], 0, (None, None), 0.1)
    assert narrow.high - narrow.low == pytest.approx(0.1)
    assert scale([Row("a", "", 0.0)], 0, (0, 0), 0).high > 0


def test_the_floor_stands_on_the_side_of_the_value():
    shared = Scale(-1, 1, 0)
    left, right = (forest([Row("a", "", value, floor=0.5)], "", shared) for value in (-0.8, 0.8))
    # The left corner of a diamond that is seven units wide.
    assert places(left, "floor") == [(shared.at(-0.5) - 3.5,)]
    assert places(right, "floor") == [(shared.at(0.5) - 3.5,)]


def test_a_floor_at_the_ideal_is_not_drawn_twice():
    near = replace(SEAT, scores=(replace(SEAT.scores[0], floor=0.004),))
    assert "ideal 0 · shuffled labels ≈" in page.render(MADE)
    assert "ideal 0 · shuffled labels ≈" not in page.render(report(near))


def test_labels_are_cut_to_their_room():
    assert fitted("short", 100) == "short"
    assert fitted("x" * 300, 200).endswith("…")
    assert len(fitted("\N{CJK UNIFIED IDEOGRAPH-5B57}" * 300, 200)) < len(fitted("x" * 300, 200))


def test_text_is_text_and_looks_are_those_of_the_page():
    rows = [Row("$a^2$ <b>", "1", 0.5, (0, 1), 0.2, "&", strong=True, scale=Scale(0, 1, 0, "0"))]
    svg = forest(rows, 'say "hi"') + forest([Row("a", "", 0.1)], "", Scale(0, 1, 0))
    assert "$a^2$ &lt;b&gt;" in svg
    assert "&#34;hi&#34;" in svg
    assert not re.search(r" (id|style|fill|stroke|font)\b", svg)
    rules = [
        line for line in templates.text("report.css").splitlines() if line.startswith(".forest")
    ]
    ruled = set(re.findall(r"\.forest \.(\w+) {", "".join(rules)))
    # What has no rule of its own looks as every path and every text does.
    assert set(re.findall(r'class="(\w+)"', svg)) - {"forest", "tick", "label"} == ruled
    colours = re.findall(r"(?:fill|stroke): ([^;]+);", "".join(rules))
    assert {c for c in colours if not c.startswith("var(--")} == {"none"}
