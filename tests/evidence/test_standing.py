"""What badges say beside the report: that the model has changed, and that others ran it again."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from made import HOSTILE, report, result, score
from pytest_bias.emit import badges
from pytest_bias.emit.badges import GREY, VALUE_COLOR, Badge
from pytest_bias.records.report import Report
from pytest_bias.reports.publication_layout import AS_MEASURED, PublicationStatus, Rerun, lacking

MADE = report(result(scores=[score()]))
WEIGHTS = "a" * 7


def of(standing: PublicationStatus, made: Report = MADE) -> dict[str, Badge]:
    return {b.name: b for b in badges.badges(made, standing)}


def rerun(**more: object) -> Badge:
    given = {"owner": "org-b", "agree": 6, "of": 6, "signed": True} | more
    (badge,) = [
        b
        for n, b in of(PublicationStatus(rerun=Rerun(**given))).items()
        if n.startswith("results-")
    ]
    return badge


def test_nothing_is_said_of_what_is_not_known():
    assert set(of(AS_MEASURED)) == {
        "social-bias-evaluated",
        "social-bias-available",
        "crows_pairs-en",
    }


def test_a_signed_rerun_that_agrees_validates():
    badge = rerun()
    assert (badge.label, badge.message) == (
        "Results Validated",
        f"re-run by org-b · 6 of 6 agree · {WEIGHTS}",
    )
    assert badge.color == VALUE_COLOR


def test_the_revision_stands_in_the_place_of_the_weights():
    made = replace(MADE, model=replace(MADE.model, revision="0123456789" * 4))
    standing = PublicationStatus(rerun=Rerun("org-b", 6, 6, signed=True))
    assert of(standing, made)["results-validated"].message.endswith("agree · 0123456")


def test_consistent_suites_are_counted_apart():
    badge = rerun(agree=5, consistent=1)
    assert badge.label == "Results Validated"
    assert badge.message == f"re-run by org-b · 5 of 6 agree · 1 consistent · {WEIGHTS}"


@pytest.mark.parametrize("agree", [0, 5])
def test_what_does_not_agree_is_not_validated(agree):
    badge = rerun(agree=agree)
    assert (badge.label, badge.message) == ("Results re-run", f"by org-b · {agree} of 6 agree")


def test_nothing_counted_is_not_validated():
    assert rerun(agree=0, of=0).label == "Results re-run"


@pytest.mark.parametrize(
    ("owner", "message"), [("org-b", "by org-b · identity unverified"), ("", "identity unverified")]
)
def test_without_a_signature_the_word_is_never_used(owner, message):
    badge = rerun(owner=owner, signed=False)
    assert (badge.label, badge.message, badge.color) == ("Results re-run", message, GREY)
    assert "alidated" not in badge.name + badge.svg() + badge.endpoint()


def test_every_badge_of_older_weights_says_so_and_is_grey():
    found = of(PublicationStatus(stale=True, rerun=Rerun("org-b", 6, 6, signed=True)))
    assert len(found) == 4
    for badge in found.values():
        assert badge.message.endswith(f" · for older weights {WEIGHTS}")
        assert badge.message.count(WEIGHTS) == 1
        assert badge.color == GREY
        assert "changed since" in badge.title


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("signed", [True, False])
def test_a_hostile_owner_stays_text(text, signed):
    svg = rerun(owner=text, signed=signed).svg()
    root = ET.fromstring(svg)
    assert len([e for e in root.iter() if e.tag.endswith("}text")]) == 2
    assert "{{" not in svg.replace("{ {", "")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"weights_sha256": None}, "the digest of the weights"),
        ({"config_sha256": None}, "the digest of the configuration"),
        ({"tokenizer_sha256": None}, "the digest of the tokenizer"),
    ],
)
def test_an_incomplete_record_earns_neither_badge_of_the_whole(change, what):
    made = replace(MADE, model=replace(MADE.model, **change))
    assert lacking(made) == (what,)
    assert set(of(AS_MEASURED, made)) == {"crows_pairs-en"}


@pytest.mark.parametrize(
    "change",
    [
        {"tool": {"name": "pytest-bias"}},
        {"settings": {"requested": []}},
        {"coverage": {"languages": ["en"]}},
        {"coverage": {"social_suites": ["crows_pairs"]}},
    ],
    ids=["version", "seed", "suites that apply", "languages"],
)
def test_what_else_a_complete_record_states(change):
    assert len(lacking(replace(MADE, **change))) == 1


@pytest.mark.parametrize("name", ["sha256", "items_sha256", "n_items"])
def test_a_suite_states_its_data(name):
    suite = MADE.suites[0]
    assert suite.data is not None
    empty = 0 if name == "n_items" else None
    made = replace(MADE, suites=(replace(suite, data=replace(suite.data, **{name: empty})),))
    (missing,) = lacking(made)
    assert missing.endswith("of crows_pairs[en]")
