"""Badges: the texts of the design, well-formed, in three colours, the same bytes every time."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from made import HOSTILE, report, result, score
from pytest_bias.emit import badges
from pytest_bias.emit.badges import GREY, LABEL_COLOR, VALUE_COLOR, Badge
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import FloorOf, Score

SVG = "{http://www.w3.org/2000/svg}"


def bits(metric: str, value: float, **more: Any) -> Score:
    return score(metric, value, **{"ideal": 0, "bounds": (0, 1), "unit": "bits"} | more)


CROWS = result(
    scores=[
        score(),
        score(value=71.0, interval=(62, 79), by={"bias_type": "religion"}, headline=False, n=105),
        score(value=55.0, interval=(50, 60), by={"bias_type": "age"}, headline=False, n=87),
    ]
)
ENTROPY = result(
    "gendered_pair_entropy",
    title="Gendered pairs",
    scores=[
        bits("entropy_bias", 0.3889, interval=(0.372, 0.408)),
        score("male_preference", 71.2, headline=False),
    ],
)
LIKELIHOOD = replace(
    ENTROPY,
    adapted=True,
    scores=(
        bits("entropy_bias_likelihood", 0.2, interval=(0.15, 0.25)),
        score("male_preference", 48.6, headline=False),
    ),
)
ASSOCIATION = result(
    "template_association",
    title="Template association",
    validity="partial",
    scores=[
        score(
            "association", 0.8123, ideal=0, unit="nats", bounds=(None, None), interval=(0.55, 1.13)
        )
    ],
)
SEAT = result(
    "seat",
    title="SEAT",
    scores=[
        score(
            "mean_absolute_effect",
            0.6249,
            ideal=0,
            bounds=(0, 2),
            unit="d",
            interval=None,
            interval_reason="unsigned",
            floor=0.249,
            floor_of="shuffled labels",
        )
    ],
)
STRUCTURE = result(
    "structure",
    "all",
    title="Structure",
    kind="structure",
    scores=[score("checks_passed", 100.0, ideal=100)],
)


def of_three(floor_of: FloorOf | None) -> SuiteResult:
    right = {"ideal": 100, "floor": 100 / 3, "floor_of": floor_of}
    scores = [score("accuracy", 41.0, interval=(38.0, 44.0), **right)]
    scores.append(score("in_distribution_accuracy", 60.0, **right | {"headline": False}))
    return result("fever_symmetric", title="FEVER", kind="robustness", scores=scores)


def of(*suites: SuiteResult, **more: Any) -> dict[str, Badge]:
    return {b.name: b for b in badges.badges(report(*suites, **more))}


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("suite", "label", "message"),
    [
        (CROWS, "CrowS-Pairs en", "stereotype preferred 60.5 % (58–63) · even 50"),
        (
            ENTROPY,
            "Gendered pairs en",
            "entropy bias 0.39 (.37–.41) · none 0 · he-side 71 %",
        ),
        (
            LIKELIHOOD,
            "Gendered pairs en",
            "entropy bias by likelihood 0.20 (.15–.25) · none 0 · he-side 49 %",
        ),
        (
            ASSOCIATION,
            "Template association en",
            "0.81 nats (.55–1.13) towards stereotypes · none 0",
        ),
        (SEAT, "SEAT en", "mean effect 0.62 · chance ≈ 0.25"),
        (
            of_three("guessing"),
            "robustness: FEVER en",
            "right 41.0 % (38–44) · originals 60 % · guessing ≈ 33.3",
        ),
        # Reports of before do not say what the floor is.
        (
            of_three(None),
            "robustness: FEVER en",
            "right 41.0 % (38–44) · originals 60 % · floor ≈ 33.3",
        ),
    ],
    ids=lambda v: v.name if isinstance(v, SuiteResult) else None,
)
def test_each_suite_has_the_text_of_the_design(suite, label, message):
    badge = of(suite)[f"{suite.name}-en"]
    assert (badge.label, badge.message, badge.color) == (label, message, VALUE_COLOR)
    assert texts(badge.svg()) == [label, message]


def test_the_badges_of_a_report_say_how_much_was_measured():
    applicable = [*"abcd", "crows_pairs", "gendered_pair_entropy", "seat", "template_association"]
    found = of(
        *(CROWS, ENTROPY, ASSOCIATION, SEAT, replace(SEAT, config="en-published")),
        coverage={"languages": ["en", "fr"], "social_suites": applicable},
    )
    evaluated, available = found["social-bias-evaluated"], found["social-bias-available"]
    assert (evaluated.label, evaluated.message) == (
        "Social Bias Evaluated",
        "4 of 8 suites · en, fr · 2026-11",
    )
    assert (available.label, available.message) == (
        "Social Bias Available",
        "4 suites · scores and records",
    )
    assert "crows_pairs, gendered_pair_entropy, seat, template_association" in evaluated.title
    assert evaluated.color == available.color == VALUE_COLOR
    assert len(found) == 7


def test_one_suite_is_a_suite():
    assert of(SEAT)["social-bias-available"].message == "1 suite · scores and records"


@pytest.mark.parametrize(
    "suites",
    [
        [],
        [STRUCTURE],
        [replace(SEAT, draft=True)],
        [replace(SEAT, status="inconclusive")],
        [replace(SEAT, status="error", scores=())],
        [replace(SEAT, scores=())],
    ],
    ids=["nothing", "structure", "draft", "inconclusive", "error", "no scores"],
)
def test_what_was_not_measured_earns_no_badge(suites):
    assert of(*suites) == {}


def test_a_control_and_general_quality_earn_no_badge_and_do_not_count():
    controls = replace(CROWS, config="en-controls", control_of="en")
    quality = result("general_quality", kind="quality", scores=[score("accuracy", ideal=100)])
    assert of(controls, quality) == {}
    found = of(CROWS, controls, quality)
    assert found.keys() == {"social-bias-evaluated", "social-bias-available", "crows_pairs-en"}
    assert found["social-bias-evaluated"].message.startswith("1 of 1 suites")


def test_a_draft_does_not_count_among_the_measured():
    found = of(CROWS, replace(SEAT, draft=True))
    assert found.keys() == {"social-bias-evaluated", "social-bias-available", "crows_pairs-en"}
    assert found["social-bias-evaluated"].message.startswith("1 of 2 suites")


def test_a_sample_is_grey_and_says_so():
    found = of(replace(CROWS, sampled=200, n_available=1508), SEAT)
    assert found["crows_pairs-en"].color == GREY
    assert found["crows_pairs-en"].message.endswith("even 50 · sample: 200 of 1508 items")
    assert found["social-bias-evaluated"].color == GREY
    assert found["social-bias-evaluated"].message.endswith("2026-11 · sample")
    assert found["seat-en"].color == VALUE_COLOR


def test_a_suite_without_a_value_is_grey_says_why_and_counts_for_nothing():
    empty = result(scores=[score(value=None, interval=None, note="nothing was scored")])
    badge = of(empty)["crows_pairs-en"]
    assert (badge.color, badge.message) == (GREY, "no value: nothing was scored")
    assert "social-bias-evaluated" not in of(empty)
    assert "1 of 2 suites" in of(empty, SEAT)["social-bias-evaluated"].message


def test_a_suite_that_is_not_installed_is_worded_plainly():
    theirs = replace(CROWS, name="theirs", title="Theirs", kind="robustness")
    badge = of(theirs)["theirs-en"]
    assert badge.label == "robustness: Theirs en"
    assert badge.message == "60.5 % (58–63) · ideal 50"


@pytest.mark.parametrize("suite", [CROWS, SEAT, ENTROPY, ASSOCIATION], ids=lambda s: s.name)
def test_title_and_label_say_more_to_those_who_ask(suite):
    made = report(suite)
    badge = {b.name: b for b in badges.badges(made)}[f"{suite.name}-en"]
    root = ET.fromstring(badge.svg())
    title = root.find(f"{SVG}title").text
    assert root.get("aria-label") == title
    assert root.get("role") == "img"
    assert title.startswith(f"{badge.label}: {badge.message}. ")
    assert f"n = {suite.headline.n}." in title
    assert f"Validity: {suite.validity}." in title
    assert "Model org/name, 2026-11-27, report " + made.digest[:19] in title
    assert title.endswith("A low score does not show that a model is safe.")


def test_the_title_names_the_furthest_group_and_an_adapted_measure():
    title = of(CROWS)["crows_pairs-en"].title
    assert "Furthest group: religion 71.0 % (62.0 – 79.0), n = 105." in title
    assert "stereotype_preference 60.5 %, 95% interval 58.0 – 62.9, n = 1508." in title
    assert "adapted" in of(replace(CROWS, adapted=True))["crows_pairs-en"].title
    assert "adapted" not in title


def test_a_long_name_does_not_push_the_warning_out_of_the_title():
    made = replace(CROWS, adapted=True)
    name = "organisation-with-a-name/" + "a-model-with-a-rather-long-name-" * 3
    badge = of(made, model=name)["crows_pairs-en"]
    assert badge.title.endswith("does not show that a model is safe.")
    assert "does not show that a model is safe." in badge.svg()


def every_badge(made: Report) -> Sequence[Badge]:
    found = list(badges.badges(made))
    assert found
    return found


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_stay_text(text):
    made = report(replace(CROWS, title=text, validity=text), SEAT, model=f"m{text}")
    for badge in every_badge(made):
        svg = badge.svg()
        root = ET.fromstring(svg)
        assert {e.tag.removeprefix(SVG) for e in root.iter()} == {
            *("svg", "title", "clipPath", "rect", "g", "path", "text")
        }
        allowed = {"xmlns", "width", "height", "role", "aria-label", "id", "rx", "clip-path"}
        allowed |= {"fill", "d", "text-anchor", "font-family", "font-size", "x", "y", "textLength"}
        assert {a for e in root.iter() for a in e.attrib} <= allowed
        assert len(texts(svg)) == 2
        # No placeholder was left open, and none was filled by what the text holds.
        assert "{{" not in re.sub(r"\{ \{+", "", svg)
        assert svg.count(VALUE_COLOR) == 1
        assert not set(svg) & set("\x00\x08\x1b\x7f\x9f\u202e\u2066\r\t\u2028")
        assert len(svg.splitlines()) == 12
        content = json.loads(badge.endpoint())
        assert content["label"] == texts(svg)[0]
        assert content["message"] == texts(svg)[1]


def test_a_character_that_xml_does_not_know_is_left_out():
    ET.fromstring(of(replace(CROWS, title="a\uffffb"))["crows_pairs-en"].svg())


@pytest.mark.parametrize(
    "names", [{"name": "../../x"}, {"config": ".."}, {"name": "a/b"}, {"config": ""}], ids=str
)
def test_a_name_that_is_no_file_name_is_refused(names):
    with pytest.raises(ValueError, match="cannot be the name of a suite"):
        replace(CROWS, **names)


@pytest.mark.parametrize("sampled", [None, 200])
def test_there_are_three_colours_and_white(sampled):
    for badge in every_badge(report(replace(CROWS, sampled=sampled), SEAT, ENTROPY, ASSOCIATION)):
        found = set(re.findall(r"#[0-9a-fA-F]{3,8}\b|(?:rgb|hsl)a?\(.*?\)", badge.svg()))
        assert found <= {LABEL_COLOR, VALUE_COLOR, GREY, "#fff"}
        assert badge.color in (VALUE_COLOR, GREY)
        named = {"red", "green", "yellow", "orange", "brightgreen", "success", "critical"}
        assert not set(re.findall(r'fill="(\w+)"', badge.svg())) & named


def luminance(color: str) -> float:
    """Relative luminance of a colour (WCAG 2.2)."""
    digits = color[1:] if len(color) == 7 else "".join(2 * c for c in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_luminance_itself_by_hand():
    assert luminance("#ffffff") == pytest.approx(1)
    assert luminance("#000") == 0
    assert luminance("#777777") == pytest.approx(0.1845, abs=1e-4)


@pytest.mark.parametrize("color", [LABEL_COLOR, VALUE_COLOR, GREY])
def test_the_text_can_be_read_on_every_colour(color):
    contrast = (luminance("#fff") + 0.05) / (luminance(color) + 0.05)
    assert contrast >= 4.5


def test_the_same_report_gives_the_same_bytes():
    made = report(CROWS, SEAT, ENTROPY, ASSOCIATION, STRUCTURE)
    first = badges.render(made)
    assert badges.render(made) == first
    assert badges.render(Report.from_json(made.to_json())) == first
    assert sorted(first) == sorted(
        f"badges/{name}.{kind}"
        for kind in ("svg", "json")
        for name in (
            *("crows_pairs-en", "seat-en", "gendered_pair_entropy-en", "template_association-en"),
            *("social-bias-evaluated", "social-bias-available"),
        )
    )


def test_badges_on_one_page_have_ids_of_their_own():
    svgs = [b.svg() for b in every_badge(report(CROWS, SEAT, ENTROPY))]
    ids = [i for svg in svgs for i in re.findall(r' id="(\w+)"', svg)]
    assert len(set(ids)) == len(ids) == 5


def test_the_badge_is_as_wide_as_its_text():
    for badge in every_badge(report(CROWS, SEAT)):
        root = ET.fromstring(badge.svg())
        width = int(root.get("width"))
        assert 5 * len(badge.label + badge.message) < width < 9 * len(badge.label + badge.message)
        lengths = [float(t.get("textLength")) for t in root.iter(f"{SVG}text")]
        assert sum(lengths) < width


# https://shields.io/badges/endpoint-badge
SHIELDS = {"schemaVersion", "label", "message", "color", "labelColor", "isError", "namedLogo"}
SHIELDS |= {"logoSvg", "logoColor", "logoSize", "style", "cacheSeconds"}


def test_the_endpoint_holds_only_what_shields_takes():
    for badge in every_badge(report(CROWS, SEAT, ENTROPY, ASSOCIATION)):
        content = json.loads(badge.endpoint())
        assert content.keys() <= SHIELDS
        assert content["schemaVersion"] == 1
        assert (content["label"], content["message"]) == (badge.label, badge.message)
        assert content["color"] in (VALUE_COLOR, GREY)
        assert all(isinstance(content[k], str) for k in ("label", "message", "color"))


def test_no_badge_passes_a_verdict():
    made = report(CROWS, SEAT, ENTROPY, ASSOCIATION)
    shown = " ".join(f"{b.label} {b.message}" for b in every_badge(made)).lower()
    assert not re.search(r"\b(passed|failed|fair|unbiased|biased|safe|ok|good|bad)\b", shown)
