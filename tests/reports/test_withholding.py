"""Scores that are not published: what is left of report and decision, and the seal on the rest."""

import hashlib
import io
import json
import re
import stat
from dataclasses import replace

import pytest
from rich.console import Console

from made import record, report, result, score, unscored
from pytest_bias.emit import badges, summary, terminal
from pytest_bias.emit.badges import GREY
from pytest_bias.engine.merging import joined
from pytest_bias.errors import OutputError, ReportError, UsageError
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT, claim, write_report
from pytest_bias.reports.limits import decide, read_limits
from pytest_bias.reports.withholding import (
    SALT,
    read_salt,
    salt_for,
    verdict_alone,
    withheld,
    without_numbers,
)
from pytest_bias.settings.settings import read_settings

SEEN = "71.25"
"""A number that stands in every score, and nowhere else."""

NUMBER = float(SEEN)
CROWS = result(
    scores=[
        score(value=NUMBER, interval=(NUMBER - 3, NUMBER + 3)),
        score(value=NUMBER, by={"bias_type": "religion"}, headline=False),
    ],
    records=[record("a/1", NUMBER), unscored("a/2", "empty text")],
)
SEAT = result(
    "seat",
    title="SEAT",
    sampled=200,
    n_available=1312,
    scores=[score("mean_absolute_effect", NUMBER, ideal=0, unit="d", interval=None)],
    records=[record("w/1", NUMBER)],
)
LEFT_OUT = result("honest", status="inconclusive", reason="9 of 20 items could not be scored")
STRUCTURE = result(
    "structure",
    "all",
    kind="structure",
    title="Structure",
    scores=[score("checks_passed", 100.0, ideal=100)],
    records=[record("round trip", 100.0)],
)
FULL = report(
    STRUCTURE,
    CROWS,
    SEAT,
    replace(LEFT_OUT, scores=(score(value=NUMBER),), records=CROWS.records, records_sha256="0"),
    result("bbq", status="not_applicable", reason="needs answers", data=None),
)
FULL = replace(FULL, run={**FULL.run, "key": "k"})
SALT_A, SALT_B = "00" * 31 + "0f", "ab" * 32
SHUT = withheld(FULL, SALT_A)


def printed(made: Report) -> str:
    stream = io.StringIO()
    terminal.show(made, None, Console(file=stream, width=200))
    return stream.getvalue()


# The report


def test_the_digest_is_that_of_salt_and_full_report():
    salt = b"\0" * 31 + b"\x0f"
    by_hand = hashlib.sha256(salt + FULL.digest.encode("ascii")).hexdigest()
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", FULL.digest)
    assert SHUT.withheld.digest == f"sha256:{by_hand}"
    assert withheld(FULL, SALT_B).withheld.digest != SHUT.withheld.digest
    moved = replace(CROWS, scores=(replace(CROWS.scores[0], value=NUMBER + 1e-9),))
    other = withheld(replace(FULL, suites=(moved, *FULL.suites[1:])), SALT_A)
    assert other.withheld.digest != SHUT.withheld.digest


def test_scores_and_records_are_gone_and_the_rest_is_as_it_was():
    assert [s.status for s in SHUT.suites] == [
        *("withheld", "withheld", "withheld", "inconclusive", "not_applicable")
    ]
    for suite, before in zip(SHUT.suites, FULL.suites, strict=True):
        assert (suite.scores, suite.records, suite.records_sha256) == ((), (), None)
        emptied = {"scores": (), "records": (), "records_sha256": None, "status": suite.status}
        assert suite == replace(before, **emptied)
    assert SHUT.suites[2].sampled == 200
    assert SHUT.suites[3].reason == "9 of 20 items could not be scored"
    assert replace(SHUT, suites=(), withheld=None) == replace(FULL, suites=())
    text = SHUT.to_json()
    assert SEEN not in text
    for part in ("religion", "a/1", FULL.digest, CROWS.records_sha256, SALT_A):
        assert part not in text


def test_it_reads_back_and_its_digest_covers_the_seal():
    assert Report.from_json(SHUT.to_json()) == SHUT
    plain = json.loads(SHUT.to_json())
    assert plain["withheld"] == {"digest": SHUT.withheld.digest, "finite": True}
    plain["withheld"]["finite"] = False
    with pytest.raises(ReportError, match="changed after it was written"):
        Report.from_json(json.dumps(plain))
    assert "withheld" not in json.loads(FULL.to_json())


def test_the_digest_of_a_report_that_was_read_is_the_one_it_states():
    plain = json.loads(FULL.to_json()) | {"key of a later version": 1}
    del plain["digest"]
    later = Report.from_json(json.dumps(plain), check=False)
    stated = replace(later, sealed="sha256:" + "1" * 64)
    shut = withheld(stated, SALT_A)
    by_hand = hashlib.sha256(bytes.fromhex(SALT_A) + stated.sealed.encode()).hexdigest()
    assert shut.withheld.digest == f"sha256:{by_hand}"
    assert shut.digest != stated.sealed


@pytest.mark.parametrize(
    "wrong", [1, "x", [], {"digest": 1, "finite": True}, {"digest": "x"}, {"finite": 1}], ids=str
)
def test_a_seal_of_another_form_is_refused(wrong):
    plain = json.loads(SHUT.to_json()) | {"withheld": wrong}
    with pytest.raises(ReportError, match="not a whole report"):
        Report.from_json(json.dumps(plain), check=False)


@pytest.mark.parametrize(
    ("suite", "finite"),
    [
        (CROWS, True),
        (replace(CROWS, scores=(score(value=None, interval=None),)), False),
        (replace(CROWS, scores=(score(), score(value=None, headline=False, by={"g": "x"}))), True),
        (replace(CROWS, scores=()), False),
        (replace(CROWS, status="error", reason="no memory", scores=()), True),
    ],
    ids=["value", "no value", "a group without value", "no score", "not finished"],
)
def test_finite_is_said_of_the_headlines_of_what_was_finished(suite, finite):
    assert withheld(report(suite, SEAT), SALT_A).withheld.finite is finite


# What is shown


def test_one_badge_says_that_it_was_measured():
    (badge,) = badges.badges(SHUT)
    assert badge.label == "Social Bias Evaluated"
    assert badge.message == "2 of 4 suites · scores not published · sample"
    assert badge.color == GREY
    assert "Measured in en: crows_pairs, seat." in badge.title
    assert badge.title.endswith("does not show that a model is safe.")
    (whole,) = badges.badges(withheld(report(CROWS, replace(SEAT, sampled=None)), SALT_A))
    assert whole.message == "2 of 2 suites · scores not published"
    # No more suites than with scores, of which there is a badge each.
    assert len(list(badges.badges(FULL))) == 4


@pytest.mark.parametrize(
    "made",
    [
        withheld(report(replace(CROWS, scores=(score(value=None, interval=None),))), SALT_A),
        withheld(report(replace(CROWS, draft=True), STRUCTURE), SALT_A),
        withheld(report(LEFT_OUT), SALT_A),
        replace(SHUT, withheld=None),
        replace(SHUT, suites=FULL.suites),
    ],
    ids=["no value", "draft", "inconclusive", "no seal", "scores are there"],
)
def test_what_earns_no_badge(made):
    assert list(badges.badges(made)) == []


def test_summary_and_terminal_say_so_without_a_number():
    decision = without_numbers(decide(FULL, ()), SHUT)
    for text in (summary.render(SHUT, decision), printed(SHUT)):
        words = " ".join(text.replace("\\", "").split())
        assert (
            "Measured, scores not published: Structure, CrowS-Pairs en, SEAT en (sample:" in words
        )
        assert SHUT.withheld.digest in words
        assert "inconclusive" in words
        assert "9 of 20 items could not be scored" in words
        assert "No downstream test was run" in words
        for part in (SEEN, "71.3", "religion", "withheld"):
            assert part not in words


def test_a_downstream_suite_counts_also_where_it_is_withheld():
    made = withheld(report(replace(CROWS, kind="downstream")), SALT_A)
    assert "No downstream test was run" not in printed(made)


def test_a_headline_without_a_value_is_said():
    made = withheld(report(replace(CROWS, scores=(score(value=None, interval=None),))), SALT_A)
    assert "has no value at its headline, so there is no badge" in printed(made)


# The decision


LIMITS = read_limits(
    {
        "crows_pairs.stereotype_preference": {"max_distance": 10},
        "crows_pairs.stereotype_preference[bias_type=religion]": {"max_distance": 40},
        "crows_pairs.stereotype_preference[bias_type=age]": {"max_distance": 40},
        "seat.mean_absolute_effect": {"max_distance": 0.1, "undecided": "fail"},
        "gendered_pair_entropy.entropy_bias": {"max_distance": 1},
        "crows_pairs.stereotype_score": {"max_regression": {"points": 1}},
    }
)


def test_verdicts_stay_and_numbers_go():
    full = decide(FULL, LIMITS)
    shut = without_numbers(full, SHUT)
    assert (shut.status, shut.exit_code) == ("exceeded", 1)
    assert shut.problems == full.problems
    assert shut.report == SHUT.digest != full.report
    for before, after in zip(full.outcomes, shut.outcomes, strict=True):
        for name in ("limit", "rule", "verdict", "entry", "fails"):
            assert getattr(after, name) == getattr(before, name)
        assert (after.value, after.interval, after.allowed) == (None, None, None)
        assert (after.n, after.n_to_decide) == (None, None)
    assert {o.verdict for o in shut.outcomes} == {"exceeded", "held", "undecided", "not_measured"}
    text = shut.to_json()
    assert SEEN in full.to_json()
    assert SEEN not in text
    assert FULL.digest not in text


def test_a_reason_stays_where_there_is_no_number():
    reasons = {o.verdict: verdict_alone(o).reason for o in decide(FULL, LIMITS).outcomes}
    assert reasons["held"] == reasons["exceeded"] == reasons["undecided"] == "scores not published"
    assert reasons["not_measured"]
    missing = [o for o in decide(FULL, LIMITS).outcomes if o.entry is None]
    assert verdict_alone(missing[0]).reason == "the suite was not run"


# The salt


def test_a_salt_is_random_and_for_its_owner_alone(tmp_path):
    found = {salt_for(FULL, tmp_path / str(n)) for n in range(3) if not (tmp_path / str(n)).mkdir()}
    assert len(found) == 3
    path = tmp_path / "0" / SALT
    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == [SALT]


def test_the_same_run_keeps_its_salt_and_another_does_not(tmp_path):
    first = salt_for(FULL, tmp_path)
    assert salt_for(FULL, tmp_path) == first
    write_report(SHUT, {}, tmp_path)
    assert salt_for(FULL, tmp_path) == first == read_salt(tmp_path)
    other = replace(FULL, run={**FULL.run, "key": "other"})
    second = salt_for(other, tmp_path)
    assert second != first
    assert read_salt(tmp_path) == second


@pytest.mark.parametrize("text", ["", "ab" * 31, "xy" * 32, "ab" * 33, "é" * 64, "AB" * 32])
def test_a_file_that_holds_no_salt_is_refused(tmp_path, text):
    (tmp_path / SALT).write_text(text, encoding="utf-8")
    with pytest.raises(OutputError, match="holds no salt: 64 hexadecimal digits"):
        salt_for(FULL, tmp_path)
    assert (tmp_path / SALT).read_text(encoding="utf-8") == text


# The folder


def test_scores_give_way_to_none_but_not_the_other_way_round(tmp_path):
    write_report(FULL, {}, tmp_path)
    claim(tmp_path, "k", fresh=False, withholds=True)
    (tmp_path / REPORT).unlink()
    write_report(SHUT, {}, tmp_path)
    claim(tmp_path, "k", fresh=False, withholds=True)
    with pytest.raises(OutputError, match="would write them there") as refused:
        claim(tmp_path, "k", fresh=False)
    assert "--out keeps both" in refused.value.hint
    claim(tmp_path, "k", fresh=True)
    for withholds in (True, False):
        with pytest.raises(OutputError, match="report of something else"):
            claim(tmp_path, "another", fresh=False, withholds=withholds)


def test_withheld_shards_cannot_be_joined():
    with pytest.raises(ReportError, match="scores of org/name are withheld: nothing can be joined"):
        joined([FULL, SHUT])


# The option


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"show_items": True}, "--withhold-scores and --show-items cannot be given together"),
        ({"with_texts": True}, "--withhold-scores and --with-texts cannot be given together"),
        ({"shard": "1/2"}, "--withhold-scores and --shard 1/2 cannot be given together"),
    ],
    ids=str,
)
def test_what_shows_items_excludes_it(tmp_path, other, said):
    with pytest.raises(UsageError, match=said):
        read_settings({"withhold_scores": True, **other}, environment={}, folder=tmp_path)


def test_it_is_off_unless_asked_for_anywhere(tmp_path):
    def found(**environment: str) -> bool:
        return read_settings({}, environment=environment, folder=tmp_path).withhold_scores

    assert not found()
    assert found(PYTEST_BIAS_WITHHOLD_SCORES="1")
    (tmp_path / "pytest-bias.yaml").write_text("withhold_scores: true\n")
    assert found()
    assert not found(PYTEST_BIAS_WITHHOLD_SCORES="no")
