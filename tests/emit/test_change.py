"""A comparison in words: the sentence, the table, and names that stay text."""

import re
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from made import HOSTILE, report, score
from pytest_bias.emit import change, terminal_changes
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.scoring.statistics import Estimate


def moved(
    before: float,
    now: float,
    interval: tuple[float, float] | None = None,
    direction: str = "worse",
    counts: tuple[int, int] = (41, 105),
    **more: Any,
) -> Change:
    """Return a change by hand; it is a group's if `by` is given."""
    more = {"headline": not more.get("by"), "interval": None} | more
    n_changed, n = counts
    difference = Estimate(now - before, interval)
    made = (score(value=v, **more) for v in (now, before))
    return Change(*made, difference, difference, difference, direction, n, n_changed)


def since(*suites: SuiteComparison, model: str = "org/v1.2", **more: Any) -> Comparison:
    return Comparison(report(model="org/v1.3"), report(model=model, **more), suites)


def suite(*changes: Change, **more: Any) -> SuiteComparison:
    return SuiteComparison("crows_pairs[en]", "CrowS-Pairs", changes, **more)


def sentence(made: Change, **more: Any) -> str:
    return change.sentence(made, since(**more))


RELIGION = {"bias_type": "religion"}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            moved(58.1, 64.2, (3.0, 9.2), by=RELIGION),
            "religion rose 6.1 points (3.0 to 9.2) since org/v1.2, further from the ideal; "
            "41 of 105 items changed; exploratory.",
        ),
        (
            moved(64.2, 58.1, (-9.2, -3.0), "better"),
            "stereotype preference fell 6.1 points (3.0 to 9.2) since org/v1.2, "
            "closer to the ideal; 41 of 105 items changed.",
        ),
        (
            moved(45, 55, (6, 14.04), "crossed", (10, 100)),
            "stereotype preference rose 10.0 points (6.0 to 14.0) since org/v1.2, "
            "to the other side of the ideal; 10 of 100 items changed.",
        ),
        (
            moved(0.25, 0.5, (0.1, 0.4), metric="association", unit="nats", counts=(3, 8)),
            "association rose 0.25 nats (0.10 to 0.40) since org/v1.2, further from the ideal; "
            "3 of 8 items changed.",
        ),
        (
            moved(0.9, 0.4, None, "unclear", (0, 0), metric="mean_absolute_effect", unit="d"),
            "mean absolute effect fell 0.50 since org/v1.2, which is not clear.",
        ),
        (
            moved(0.5, 0.75, (0.2, 0.3), unit="", by={"axis": "gender", "group": "female"}),
            "gender, female rose 0.25 (0.20 to 0.30) since org/v1.2, further from the ideal; "
            "41 of 105 items changed; exploratory.",
        ),
    ],
    ids=["a group", "fell", "crossed", "nats", "effect size", "two keys"],
)
def test_a_change_is_said_in_one_sentence(made, expected):
    assert sentence(made) == expected


def test_the_baseline_is_named_with_its_revision():
    before = report(model="org/name")
    before = replace(before, model=replace(before.model, revision="0123456789abcdef"))
    made = Comparison(report(), before, ())
    text = change.sentence(moved(50, 60, (5, 15)), made)
    assert "since org/name@0123456, further" in text


def test_a_baseline_of_the_same_name_is_the_report_before():
    """As a folder of a repository has it, push after push."""
    made = Comparison(report(model="./model"), report(model="./model"), ())
    assert "since the earlier report, further" in change.sentence(moved(50, 60, (5, 15)), made)


@pytest.mark.parametrize(
    ("amount", "unit", "expected"),
    [
        (6.1, "%", "+6.1"),
        (-6.1, "%", "-6.1"),
        (0.0, "%", "0.0"),
        (0.04, "%", "0.0"),
        (-0.04, "%", "0.0"),
        (0.06, "%", "+0.1"),
        (-0.06, "%", "-0.1"),
        (0.25, "nats", "+0.25"),
        (0.004, "nats", "0.00"),
        (-1.005, "d", "-1.00"),
    ],
)
def test_a_change_has_a_sign_unless_it_rounds_to_nothing(amount, unit, expected):
    assert change.signed(amount, score(unit=unit)) == expected


def groups(*amounts: float, direction: str = "worse", **more: Any) -> list[Change]:
    return [
        moved(50, 50 + a, (a - 1, a + 1), direction, by={"bias_type": f"g{n}"}, **more)
        for n, a in enumerate(amounts)
    ]


HEAD = moved(60, 61, (-1, 3), "unclear")


def names(changes: Sequence[Change]) -> list[str]:
    return [" ".join(c.current.by.values()) for c in changes]


def test_the_largest_groups_follow_the_headline():
    found = change.shown(suite(*groups(3, -9, 5, 4, 7, 6, 8), HEAD))
    assert found[0] is HEAD
    assert names(found[1:]) == ["g1", "g6", "g4", "g5", "g2"]


def test_groups_that_moved_alike_stand_in_the_order_of_their_names():
    assert names(change.shown(suite(HEAD, *groups(2, -2, 2)))) == ["", "g0", "g1", "g2"]


@pytest.mark.parametrize(
    "left_out",
    [
        groups(40, direction="unclear"),
        groups(40, metric="aul_preference"),
        [moved(10, 90, (70, 90), by={"axis": "a", "group": "b"})],
        [moved(10, 90, (70, 90), metric="aul_preference", headline=False)],
    ],
    ids=["unclear", "another metric", "two keys", "not the headline"],
)
def test_only_clear_changes_of_the_headlines_own_groups_are_shown(left_out):
    clear = groups(2)
    assert change.shown(suite(HEAD, *left_out, *clear)) == [HEAD, *clear]


def test_a_suite_without_a_headline_in_both_shows_nothing():
    assert change.shown(suite(*groups(3, 4))) == []
    assert change.shown(suite(reason="another version")) == []


def test_the_sentence_is_about_what_moved_most_clearly():
    # Thirty points give or take thirty are less clear than four give or take one.
    wide = moved(40, 70, (1, 60), by=RELIGION)
    narrow = moved(50, 54, (3, 5), by={"bias_type": "age"})
    text = change.main_sentence(since(suite(HEAD, wide), suite(HEAD, narrow)))
    assert text == f"CrowS-Pairs: {change.sentence(narrow, since())}"
    assert text.startswith("CrowS-Pairs: age rose 4.0 points (3.0 to 5.0)")


def test_without_a_clear_change_the_sentence_says_so():
    assert change.main_sentence(since(suite(HEAD))) == "Nothing changed clearly."
    assert change.main_sentence(since()) is None
    assert change.main_sentence(since(suite(reason="another version"))) is None


def printed(made: Comparison, width: int = 120, **more: Any) -> str:
    stream = StringIO()
    Console(file=stream, width=width, **more).print(terminal_changes.render(made))
    return re.sub(" +$", "", stream.getvalue(), flags=re.MULTILINE)


CROSSED = replace(
    moved(45, 55, (6, 14.04), "crossed", (10, 100)),
    worsening=Estimate(0.0, (-2.0, 2.5)),
    family="decision",
    p_adjusted=0.004,
    items=("crows/0001", "crows/0002", "crows/0003", "crows/0004"),
)
LIMITED = replace(moved(50, 60, (5, 15), by=RELIGION), family="decision")
STATES = {
    "a group and a refused suite": since(
        suite(moved(58.1, 64.2, (3.0, 9.2)), *groups(-9)),
        SuiteComparison("seat[en]", "SEAT", reason="another version of the suite (0, now 1)"),
    ),
    "a p-value and items": since(suite(CROSSED)),
    "a group with a limit, a note": since(suite(HEAD, LIMITED, note="bfloat16, now float32")),
    "nothing": since(suite(reason="the baseline did not measure it")),
}


@pytest.mark.parametrize("state", STATES)
def test_what_changed_is_told_on_a_terminal(state, snapshot):
    assert printed(STATES[state], 80) == snapshot


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("width", [60, 200])
def test_what_changed_is_there_at_every_width(state, width):
    text = printed(STATES[state], width)
    assert max(map(len, text.splitlines())) <= width
    assert sorted(text.split()) == sorted(printed(STATES[state], 80).split())


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            moved(60, 60, (0.0, 0.0), "unclear", (0, 105)),
            "60.0 % 60.0 % 0.0 0.0 to 0.0 no item changed",
        ),
        (moved(60, 61, None, "unclear"), "60.0 % 61.0 % +1.0 – unclear"),
        (moved(0.5, 0.75, None, "unclear", (0, 0), unit="d"), "0.50 0.75 +0.25 – unclear"),
        (moved(61, 60.5, (-2, 1.25), "unclear"), "61.0 % 60.5 % -0.5 -2.0 to +1.2 unclear"),
    ],
    ids=["no item", "no interval", "no items", "across nothing"],
)
def test_a_row_says_what_is_known(made, expected):
    line = printed(since(suite(made))).splitlines()[1]
    assert " ".join(line.split()) == f"CrowS-Pairs {expected}"


CONTROL = set("\x00\x07\x08\x1b\x7f\x9b\x9f\u202e\u2066")
TEXTS = [*HOSTILE.values(), "[bold red]x[/]", "[/]", "[link=http://e]x[/link]", "\x9b2J"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [60, 200])
def test_hostile_names_are_printed_as_text(text, width):
    made = since(
        replace(suite(HEAD, moved(50, 60, (5, 15), by={"bias_type": text})), title=text),
        suite(reason=text),
        model=text,
    )
    assert not set(printed(made, width)) & CONTROL
    coloured = printed(made, width, force_terminal=True, color_system="truecolor")
    assert "\x1b]8;" not in coloured
    assert "\x1b[31m" not in coloured
    assert "\x1b[2J" not in coloured


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_names_keep_the_sentence_one_line(text):
    made = moved(50, 60, (5, 15), by={"bias_type": text})
    found = change.main_sentence(since(suite(HEAD, made), model=text))
    assert found.endswith("further from the ideal; 41 of 105 items changed; exploratory.")
    assert len(found.splitlines()) == 1
    assert not set(found) & CONTROL


@pytest.mark.parametrize("text", ["[bold red]x[/]", "[/]", "[link=http://e]x[/link]"])
def test_what_looks_like_markup_is_shown_as_it_was_written(text):
    made = since(replace(suite(HEAD), title=text), suite(reason=text), model=text)
    assert printed(made).count(text) == 4


def test_a_long_reason_is_cut():
    text = printed(since(suite(reason="x" * 5000)))
    assert text.count("x") == 399
    assert "…" in text


@pytest.mark.parametrize("unit", ["[/]", "[red]x", "\x1b[31mred", "<b>|x"])
def test_a_unit_stays_text(unit):
    made = moved(1.0, 2.0, (0.5, 1.5), unit=unit)
    shown = printed(since(suite(made)))
    assert "\x1b" not in shown + sentence(made)
    assert unit.strip("\x1b") in shown


@pytest.mark.parametrize(
    ("interval", "unit", "told"),
    [
        ((0.04, 1.26), "%", "+0.04 to +1.26"),
        ((-1.26, -0.0004), "%", "-1.2600 to -0.0004"),
        ((-1.0, 0.0), "%", "-1.0 to 0.0"),
        ((3.0, 9.2), "%", "+3.0 to +9.2"),
        ((0.004, 0.1), "nats", "+0.004 to +0.100"),
        ((1e-15, 1.0), "%", "0.0 to +1.0"),
    ],
)
def test_an_end_beside_zero_never_reads_as_zero(interval, unit, told):
    assert change.signed_ends(interval, unit) == told
