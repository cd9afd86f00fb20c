"""Rows of a fleet: the numbers of the report, the change of the headline, reasons for the rest."""

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from made import report, result, score
from measured import associations, crows, measured, targets
from pytest_bias.fleet.rows import (
    NO_BASE_NAMED,
    NO_BASE_REPORT,
    NO_VALUE,
    NOT_PUBLISHED,
    STRUCTURE_STAYS,
    failed,
    model_name,
    row_of,
)
from pytest_bias.records.identity import AdapterIdentity
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.withholding import withheld

NOW = report(measured(associations([2, 2, 5, 4])), model="org/tuned")
THEN = report(measured(associations([1, 2, 3, 4])), model="org/base")
NOW = replace(NOW, model=replace(NOW.model, base_model="org/base", revision="1234567890"))
HIDDEN = replace(result().data, visibility="hidden", least=20)


def only(made, **more):
    """Return the one suite of a row, the change of its headline, and what is said of that."""
    row = row_of(made, asked="org/tuned", folder="x", **more)
    (suite,) = row.suites
    return suite, row.change(suite.entry), row.changes[suite.entry].note


def change_of(made, **more):
    return only(made, **more)[1]


def test_the_row_is_that_of_the_report():
    row = row_of(NOW, asked="org/tuned@main", folder="a/b", decision="held")
    assert (row.asked, row.reference, row.folder) == ("org/tuned@main", "org/tuned", "a/b")
    assert (row.report.model, row.report.digest) == (NOW.model, NOW.digest)
    assert (row.status, row.reason, row.base, row.decision) == ("measured", None, None, "held")
    assert model_name(row) == "org/tuned@1234567"


def test_of_a_suite_the_headline_stays_and_no_record():
    group = score(by={"bias_type": "age"}, headline=False)
    suite = result(scores=[group, score(n_unscored=3)], sampled=9, n_available=10, data=HIDDEN)
    made = report(replace(suite, records=NOW.suites[0].records))
    (kept,) = row_of(made, asked="x", folder=None).suites
    assert kept == replace(suite, scores=(suite.scores[1],))
    assert kept.records == ()
    assert row_of(NOW, asked="x", folder=None, base=THEN).suites[0].records == ()


def test_the_change_by_hand():
    # One and two more among four items, which are too few to say how sure that is.
    row = row_of(NOW, asked="org/tuned", folder="x", base=THEN)
    (suite,) = row.suites
    change = row.change(suite.entry)
    assert (suite.headline.value, change.value) == (3.25, 0.75)
    assert row.base == "org/base"
    assert change.interval_reason == "4 clusters; it takes 8"


def test_the_change_is_that_of_the_whole_comparison():
    now = report(measured(crows([100] * 30 + [0] * 20 + [50] * 10), "crows_pairs"))
    then = report(measured(crows([100] * 20 + [0] * 30 + [50] * 10), "crows_pairs"))
    whole = compare(now, then).change("crows_pairs[en]", now.suites[0].headline).change
    change = change_of(now, base=then)
    assert (change.value, change.interval) == (whole.value, whole.interval)
    assert change.interval[0] < change.value < change.interval[1]


@pytest.mark.parametrize(
    ("now", "base", "reason"),
    [
        (NOW, None, NO_BASE_REPORT),
        (THEN, None, NO_BASE_NAMED),
        (NOW, report(measured(associations([1, 2, 3]))), "another set of items"),
        (NOW, report(), "the baseline did not measure it"),
        (NOW, withheld(THEN, "0" * 64), "in the baseline it is withheld"),
        (NOW, replace(THEN, suites=(replace(THEN.suites[0], records=()),)), "records are missing"),
        (report(result(status="error", reason="x")), THEN, NO_VALUE),
        (
            report(result("structure", "all", [score()], kind="structure")),
            report(result("structure", "all", [score()], kind="structure")),
            STRUCTURE_STAYS,
        ),
    ],
)
def test_why_there_is_no_change(now, base, reason):
    change = change_of(now, base=base)
    assert (change.value, change.interval) == (None, None)
    assert reason in change.interval_reason


def test_another_precision_is_told_beside_the_change():
    low = replace(NOW, model=replace(NOW.model, dtype="bfloat16"))
    assert only(low, base=THEN)[2] == "float32 before, bfloat16 now"


def test_a_change_without_an_interval_says_why():
    seat = measured(targets([1.0, -1.0, 0.2, -0.2]), "seat")
    other = measured(targets([1.0, 1.0, 0.2, 0.2]), "seat")
    suite, change, _ = only(report(seat), base=report(other))
    # By hand: 1.2 / sqrt(2.08 / 3) now; before, the sets have equal means.
    assert change.value == pytest.approx(1.44115, abs=1e-5)
    assert change.interval is None
    assert change.interval_reason
    assert suite.headline.interval_reason


def test_withheld_scores_leave_no_number():
    full = report(
        result(scores=[score(value=71.25, interval=(70.25, 72.25), n=7125)]),
        result("honest", "it", status="skipped", reason="licence not accepted"),
    )
    row = row_of(withheld(full, "0" * 64), asked="x", folder="x", base=full)
    text = repr(row)
    assert "71.25" not in text
    assert "7125" not in text
    assert full.digest not in text
    crows_, honest = row.suites
    assert (crows_.status, crows_.reason, crows_.headline) == ("withheld", NOT_PUBLISHED, None)
    assert (honest.status, honest.reason) == ("skipped", "licence not accepted")
    assert {row.change(s.entry).interval_reason for s in row.suites} == {NOT_PUBLISHED}


def test_a_hidden_suite_is_as_the_report_has_it():
    both = report(result(scores=[score()], data=HIDDEN))
    suite, change, _ = only(both, base=both)
    assert suite == both.suites[0]
    assert "it is hidden" in change.interval_reason


@pytest.mark.parametrize(
    ("run", "words"),
    [({"interrupted": True}, "interrupted"), ({"shard": {"part": "1/2"}}, "shard 1 of 2")],
)
def test_an_unfinished_run_is_no_measured_model(run, words):
    row = row_of(report(result(scores=[score()]), run=run), asked="x", folder=None)
    assert row.status == "interrupted"
    assert words in row.reason
    assert row.suites[0].headline.value == 60.48


def test_an_adapter_is_named_with_its_base():
    about = replace(
        *(NOW.model,),
        reference="org/base+org/lora",
        adapter=AdapterIdentity("org/lora", "abcdefabcdef"),
    )
    row = row_of(replace(NOW, model=about), asked="org/base+org/lora", folder=None)
    assert model_name(row) == "org/base@1234567+org/lora@abcdefa"


def test_a_model_that_failed_has_its_reason_without_the_users_folders():
    row = failed("/srv/alice/models/bert", "no file at /srv/alice/models/bert/config.json.")
    assert (row.status, row.suites) == ("failed", ())
    assert row.reason == "no file at …/config.json."
    assert model_name(row) == "…/bert"
    assert failed("x", "  ").reason == "no reason was given"


def test_a_name_of_a_file_need_not_be_text():
    row = failed("models/\udcff", "no \udcff")
    assert f"{row.asked} {row.reason}".encode()


def test_rows_are_frozen_and_pass_between_processes():
    row = row_of(NOW, asked="x", folder="x", base=THEN)
    assert pickle.loads(pickle.dumps(row)) == row
    with pytest.raises(FrozenInstanceError):
        row.asked = "y"
