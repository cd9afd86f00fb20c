"""How numbers and untrusted names are written."""

import html as escapes
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from made import HOSTILE, mean_effect, report, result, score
from pytest_bias.emit.costs import cost
from pytest_bias.emit.sampled import resampled
from pytest_bias.emit.wording import (
    INTRINSIC_LIMITS,
    ROBUSTNESS_LIMITS,
    SOCIAL_LIMITS,
    beside_headline,
    controls_of,
    count,
    furthest_group,
    group,
    headline_sentence,
    ideal,
    interval,
    metric_words,
    model_name,
    month,
    number,
    on_controls,
    on_validity,
    own_rows,
    p_number,
    p_value,
    parameters,
    scope_limits,
    short_interval,
    suite_label,
    value,
)
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.score import Spread
from pytest_bias.untrusted import clean, markdown

FLOATS = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("amount", "unit", "expected"),
    [
        (60.48, "%", "60.5"),
        (0.3889, "bits", "0.39"),
        (-0.6149, "d", "-0.61"),
        (0.625, "", "0.62"),
        (0.0, "nats", "0.00"),
        (-0.001, "nats", "0.00"),
        (-0.005, "nats", "-0.01"),
        (100.0, "%", "100.0"),
        (1234567.891, "points", "1234567.9"),
        (-0.01, "%", "0.0"),
        (1.5e300, "%", "1.5e+300"),
    ],
)
def test_a_number_has_the_decimals_of_its_unit_and_no_negative_zero(amount, unit, expected):
    assert number(amount, unit) == expected


@given(FLOATS, st.sampled_from(["nats", "bits", "d", ""]))
def test_no_number_is_a_negative_zero(amount, unit):
    assert float(number(amount, unit)) == pytest.approx(amount, abs=0.00501)
    assert not re.fullmatch(r"-0\.0*", number(amount, unit))


@pytest.mark.parametrize(
    ("unit", "amount", "expected"),
    [
        ("%", 60.48, "60.5 %"),
        ("nats", 0.8, "0.80 nats"),
        ("bits", 0.4, "0.40 bits"),
        ("d", 0.6, "0.60"),
        ("", 0.5, "0.50"),
        ("points", 1.0, "1.0 points"),
        ("valence points", 0.31, "0.31 valence points"),
        ("%", None, "–"),
    ],
)
def test_a_value_has_its_unit(unit, amount, expected):
    assert value(score(value=amount, unit=unit)) == expected


@pytest.mark.parametrize(
    ("ends", "unit", "short", "whole"),
    [
        ((57.99, 62.92), "%", "(58–63)", "58.0 – 62.9"),
        ((0.0, 100.0), "%", "(0–100)", "0.0 – 100.0"),
        ((7.6, 16.2), "points", "(8–16)", "7.6 – 16.2"),
        ((0.372, 0.408), "bits", "(.37–.41)", "0.37 – 0.41"),
        ((0.95, 1.05), "bits", "(.95–1.05)", "0.95 – 1.05"),
        ((-0.5, 0.25), "nats", "(-.50–.25)", "-0.50 – 0.25"),
        ((-10.5, -0.05), "nats", "(-10.50 to -.05)", "-10.50 – -0.05"),
        ((10.0, 20.0), "nats", "(10.00–20.00)", "10.00 – 20.00"),
        (None, "%", "", "–"),
        pytest.param((-0.001, 0.2), "nats", "(.00–.20)", "0.00 – 0.20"),
    ],
)
def test_an_interval_is_written_short_and_whole(ends, unit, short, whole):
    made = score(interval=ends, unit=unit)
    assert short_interval(made) == short
    assert interval(made) == whole


@pytest.mark.parametrize(("amount", "expected"), [(50, "50"), (0.0, "0"), (0.5, "0.5")])
def test_an_ideal_has_no_needless_decimals(amount, expected):
    assert ideal(score(ideal=amount)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\tc", "a b c"),
        ("  a   b ", "a b"),
        ("a\x00\x1b[31mb\x7f", "a[31mb"),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b\N{ZERO WIDTH SPACE}c\N{BYTE ORDER MARK}", "abc"),
        ("a\ud800b\ue000c", "abc"),
        ("a\u2028b\x85c", "a bc"),
        ("é 中 \N{GRINNING FACE}", "é 中 \N{GRINNING FACE}"),
        ("", ""),
    ],
)
def test_untrusted_text_is_put_on_one_line(text, expected):
    assert clean(text) == expected


def test_untrusted_text_is_cut_with_a_mark():
    assert clean("x" * 300) == "x" * 199 + "…"
    assert clean("x" * 200) == "x" * 200
    assert clean("abcdef", 4) == "abc…"


@pytest.mark.parametrize("text", ["\ufffe", "\uffff"])
def test_characters_that_are_none_are_dropped(text):
    assert clean(f"a{text}b") == "ab"


@given(st.text())
def test_clean_text_stays_clean(text):
    once = clean(text)
    assert clean(once) == once
    assert len(once) <= 200
    assert len(once.splitlines()) <= 1
    assert not {unicodedata.category(c) for c in once} & {"Cc", "Cf", "Cs", "Co"}


def rendered(text: str) -> str:
    """Render Markdown as GitHub would, HTML passed through, and return the tokens that matter."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


@pytest.mark.parametrize(
    "text",
    [
        *HOSTILE.values(),
        "[text](https://evil.example)",
        "![image](https://evil.example/x.png)",
        "<img src=x onerror=alert(1)>",
        "<https://evil.example>",
        "https://evil.example",
        "a | b | c",
        "`code` ``more``",
        "**bold** _it_ ~~gone~~",
        "# heading",
        "\\| \\` \\\\",
        "$x$ @name #1",
        "[ref]: https://evil.example",
        "- list",
        "> quote",
        "&lt;script&gt;",
    ],
)
def test_markdown_shows_untrusted_text_as_it_is(text):
    assert not set("<>\n") & set(markdown(text))
    page = rendered(f"| {markdown(text)} | second |\n| --- | --- |\n| {markdown(text)} | x |\n")
    assert page.count("<th>") == 2
    assert page.count("<td>") == 2
    assert set(re.findall(r"<(\w+)", page)) == {"table", "thead", "tbody", "tr", "th", "td"}
    # What the page shows is the cleaned text, every character of it.
    cell = escapes.unescape(re.search(r"<td>(.*?)</td>", page)[1])
    assert cell == clean(text)


def test_markdown_leaves_nothing_that_github_links_by_itself():
    assert "www." not in markdown("www.evil.example")


def test_addresses_are_no_links():
    assert "://" not in markdown("see https://evil.example and ftp://x")


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (None, "unknown size"),
        (12, "12 parameters"),
        (113_000, "113 k parameters"),
        (4_416_698, "4.42 M parameters"),
        (7_240_000_000, "7.24 B parameters"),
        (1_000_000, "1 M parameters"),
    ],
)
def test_a_number_of_parameters_in_words(n, expected):
    assert parameters(n) == expected


def test_names_in_words():
    assert metric_words("stereotype_preference_reference") == "stereotype preference reference"
    assert group(score(by={"axis": "gender", "group": "fe\nmale"})) == "gender, fe male"
    assert suite_label(result(config="fr")) == "CrowS-Pairs fr"
    assert suite_label(result("structure", "all", title="Structure")) == "Structure"
    assert suite_label(result("made", title="")) == "made en"


def test_a_models_name_carries_its_revision_as_far_as_it_is_known():
    assert model_name(report()) == "org/name"
    pinned = ModelIdentity("org/name", "masked", "B", revision="0123456789abcdef")
    assert model_name(replace(report(), model=pinned)) == "org/name@0123456"
    assert len(model_name(report(model="x" * 500))) == 120


def test_the_month_of_a_report():
    assert month(report()) == "2026-11"
    assert month(report(run={})) == ""


def by_type(amount: float | None, kind: str, n: int = 100):
    return score(value=amount, by={"bias_type": kind}, headline=False, n=n)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], None),
        ([by_type(90, "age")], None),
        ([by_type(60, "age"), by_type(30, "religion")], "religion"),
        ([by_type(60, "age"), by_type(55, "gender"), by_type(5, "religion", n=9)], "age"),
        ([by_type(60, "age"), by_type(55, "gender"), by_type(None, "religion")], "age"),
        ([by_type(60, "age"), by_type(40, "gender")], "gender"),
    ],
    ids=["none", "one", "below", "few records", "null", "tie by name"],
)
def test_the_furthest_group_is_taken_from_the_headlines_own(groups, expected):
    others = [score("aul_preference", 1.0, by={"bias_type": "x"}, headline=False)]
    found = furthest_group(result(scores=[score(), *groups, *others, *others]))
    assert (found and found.by["bias_type"]) == expected


def test_a_suite_without_a_headline_has_no_furthest_group():
    assert furthest_group(result(scores=[by_type(60, "age"), by_type(30, "gender")])) is None


def test_what_stands_under_every_score():
    intrinsic = report(result(scores=[score()]))
    assert scope_limits(intrinsic) == [SOCIAL_LIMITS, INTRINSIC_LIMITS]
    assert "does not show that a model is safe" in SOCIAL_LIMITS
    assert "predict little about applications" in INTRINSIC_LIMITS
    assert scope_limits(report(result("bbq", kind="downstream"))) == [SOCIAL_LIMITS]
    failed = report(result("bbq", kind="downstream", status="error"))
    assert INTRINSIC_LIMITS in scope_limits(failed)
    robust = result("hans", kind="robustness")
    assert scope_limits(report(robust)) == [SOCIAL_LIMITS, ROBUSTNESS_LIMITS]
    both = scope_limits(report(robust, result("crows_pairs")))
    assert both == [SOCIAL_LIMITS, INTRINSIC_LIMITS, ROBUSTNESS_LIMITS]


def of_control(metric, control, amount, **more):
    return score(metric, amount, by={"control": control}, headline=False, **more)


CROWS = result(scores=[score()])
CONTROLS = result(
    config="en-controls",
    control_of="en",
    clusters="gender pairs",
    scores=[
        score(value=58.0),
        of_control("control_preference", "original", 58.0),
        of_control("control_preference", "negated", 57.1, interval=(45.2, 68.3)),
        of_control("control_preference", "antistereotypical", 52.0, interval=None),
        of_control("original_preference", "negated", 60.6),
    ],
)


def test_controls_are_found_with_what_they_were_made_from():
    made = report(CROWS, CONTROLS)
    first, second = controls_of(made, CROWS)
    assert (first.name, first.score.value, first.original.value) == ("negated", 57.1, 60.6)
    assert (second.name, second.original) == ("antistereotypical", None)
    assert on_controls((first, second)) == (
        "controls (gender pairs): negated 57.1 % (45–68), originals 60.6 %; "
        "antistereotypical 52.0 %. A preference that these show too is no stereotype."
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(CONTROLS, control_of="fr"),
        replace(CONTROLS, name="stereoset"),
        replace(CONTROLS, status="skipped", scores=()),
        replace(CONTROLS, scores=tuple(replace(s, value=None) for s in CONTROLS.scores)),
    ],
    ids=["another language", "another suite", "not measured", "no value"],
)
def test_where_there_are_no_controls_none_are_shown(other):
    assert controls_of(report(CROWS, other), CROWS) == ()


def test_a_control_has_a_row_of_its_own_only_where_it_stands_alone():
    assert own_rows(report(CROWS, CONTROLS)) == [CROWS]
    assert own_rows(report(CONTROLS)) == [CONTROLS]
    failed = replace(CROWS, status="error", scores=())
    assert own_rows(report(failed, CONTROLS)) == [failed, CONTROLS]


@pytest.mark.parametrize("text", HOSTILE.values())
def test_the_name_of_a_control_is_only_text(text):
    hostile = replace(CONTROLS, scores=(of_control("control_preference", text, 50.0),))
    (found,) = controls_of(report(CROWS, hostile), CROWS)
    assert found.name == clean(text)


def test_validity_is_said_in_one_line_where_the_suite_is_known():
    line = on_validity(report(CROWS).suites[0])
    assert line.startswith("contested: pairs differ in more than the group")
    assert "\n" not in line
    assert on_validity(CROWS) == ""


def test_only_general_quality_shows_more_than_its_headline():
    more = [score("accuracy"), score("nats_per_character", headline=False)]
    assert beside_headline(result(scores=more)) == []
    (found,) = beside_headline(result("general_quality", kind="quality", scores=more))
    assert found.metric == "nats_per_character"


@pytest.mark.parametrize("length", [0, 1, 199, 200, 201, 202, 5000])
@pytest.mark.parametrize("text", ["x", "x ", " x", "x\x00", "\t x\n"])
def test_a_long_text_is_cut_as_if_all_of_it_had_been_read(text, length):
    found = clean(text * length)
    whole = " ".join("".join(c for c in text * length if c != "\x00").split())
    assert found == (whole if len(whole) <= 200 else f"{whole[:199]}…")


@pytest.mark.parametrize(
    ("p", "number", "words"),
    [
        (0.0004, "< 0.001", "p < 0.001"),
        (0.0312, "0.031", "p = 0.031"),
        (0.5, "0.5", "p = 0.5"),
        (1.0, "1", "p = 1"),
    ],
)
def test_p_values(p, number, words):
    assert p_number(p) == number
    assert p_value(p) == words


def test_no_p_value_is_a_dash():
    assert p_number(None) == "–"


def test_what_an_interval_resamples_and_holds_fixed():
    suite = result(clusters="occupations")
    one = score(n_clusters=47)
    assert resampled(suite, one) == "95 % interval over 47 occupations; this checkpoint held fixed."
    spread = replace(one, spread=Spread("template", 8, 1.0, 50.0, 60.0))
    assert resampled(suite, spread).endswith("this checkpoint and these templates held fixed.")
    none = replace(one, interval=None, interval_reason="one item")
    assert resampled(suite, none) == "No interval: one item."


def test_a_headline_in_words():
    assert headline_sentence(score()) == (
        "Stereotype preference: 60.5 %, 95 % interval 58.0 to 62.9; the ideal is 50."
    )
    bare = mean_effect()
    assert headline_sentence(bare) == (
        "Mean absolute effect: 0.62; the ideal is 0; shuffled labels ≈ 0.25."
    )
    none = score(value=None, note="nothing was scored")
    assert headline_sentence(none) == "Stereotype preference has no value: nothing was scored."


def test_counts_that_cannot_be_are_not_written_out():
    assert count(1508) == "1508"
    assert count(10**5000) == "more than 10^12"
    assert parameters(10**400) == "unknown size"
    spent = {"wall_s": float("inf"), "model_s": 1.0, "tokens": 1}
    assert cost(report(run={"cost": spent})) == ""
