"""Rows of a fleet: the numbers of the report, the change of the headline, reasons for the rest."""

import json
import pickle
from dataclasses import FrozenInstanceError, asdict, fields, replace

import pytest

from made import HOSTILE, report, result, score
from measured import associations, crows, measured, targets
from pytest_bias.errors import ReportError
from pytest_bias.fleet.rows import (
    NO_BASE_NAMED,
    NO_BASE_REPORT,
    NO_VALUE,
    NOT_PUBLISHED,
    STRUCTURE_STAYS,
    Row,
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
    (cell,) = row_of(made, asked="org/tuned", folder="x", **more).cells
    return cell


def with_suite(**changes):
    return report(result(scores=[score()], **changes))


def test_the_row_is_that_of_the_report():
    row = row_of(NOW, asked="org/tuned@main", folder="a/b", decision="held")
    assert (row.asked, row.reference, row.revision) == ("org/tuned@main", "org/tuned", "1234567890")
    assert (row.kind, row.architecture, row.parameters) == ("masked", "BertForMaskedLM", 4_416_698)
    assert (row.weights, row.dtype, row.digest) == ("a" * 64, "float32", NOW.digest)
    assert (row.base_model, row.report, row.decision) == ("org/base", "a/b", "held")
    assert (row.status, row.reason, row.compared_with) == ("measured", None, None)
    assert model_name(row) == "org/tuned@1234567"


def test_a_cell_has_the_headline_and_all_that_is_said_of_it():
    cell = only(with_suite(sampled=200, n_available=1508, adapted=True, measure="a measure"))
    assert (cell.entry, cell.title, cell.language) == ("crows_pairs[en]", "CrowS-Pairs", "en")
    assert (cell.metric, cell.value, cell.low, cell.high) == (
        *("stereotype_preference", 60.48),
        *(57.99, 62.92),
    )
    assert (cell.level, cell.ideal, cell.bounds, cell.unit) == (0.95, 50, (0, 100), "%")
    assert (cell.n, cell.n_unscored, cell.sampled, cell.n_available) == (1508, 0, 200, 1508)
    assert (cell.validity, cell.adapted, cell.draft, cell.hidden) == ("contested", *(True, 0, 0))
    assert (cell.status, cell.reason, cell.note) == ("scored", None, None)


def test_a_cell_says_what_its_suite_and_score_said():
    suite = result(scores=[score(n_unscored=3)], sampled=9, n_available=10, data=HIDDEN)
    back = only(report(suite)).result()
    for name in ("entry", "version", "kind", "status", "title", "language", "validity", "sampled"):
        assert getattr(back, name) == getattr(suite, name), name
    headline = replace(suite.headline, tolerance=0.0, method=None, n_clusters=0)
    assert back.headline == headline


def test_the_change_by_hand():
    # One and two more among four items, which are too few to say how sure that is.
    row = row_of(NOW, asked="org/tuned", folder="x", base=THEN)
    (cell,) = row.cells
    assert (cell.value, cell.change) == (3.25, 0.75)
    assert row.compared_with == "org/base"
    assert cell.change_reason == "4 clusters; it takes 8"


def test_the_change_is_that_of_the_whole_comparison():
    now = report(measured(crows([100] * 30 + [0] * 20 + [50] * 10), "crows_pairs"))
    then = report(measured(crows([100] * 20 + [0] * 30 + [50] * 10), "crows_pairs"))
    whole = compare(now, then).change("crows_pairs[en]", now.suites[0].headline).change
    cell = only(now, base=then)
    assert cell.change == whole.value
    assert (cell.change_low, cell.change_high) == whole.interval
    assert cell.change_low < cell.change < cell.change_high


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
    cell = only(now, base=base)
    assert (cell.change, cell.change_low, cell.change_high) == (None, None, None)
    assert reason in cell.change_reason


def test_another_precision_is_told_beside_the_change():
    low = replace(NOW, model=replace(NOW.model, dtype="bfloat16"))
    assert only(low, base=THEN).change_note == "float32 before, bfloat16 now"


def test_a_change_without_an_interval_says_why():
    seat = measured(targets([1.0, -1.0, 0.2, -0.2]), "seat")
    other = measured(targets([1.0, 1.0, 0.2, 0.2]), "seat")
    cell = only(report(seat), base=report(other))
    # By hand: 1.2 / sqrt(2.08 / 3) now; before, the sets have equal means.
    assert cell.change == pytest.approx(1.44115, abs=1e-5)
    assert cell.change_low is None
    assert cell.change_reason
    assert cell.interval_reason


@pytest.mark.parametrize("status", ["not_applicable", "skipped", "inconclusive", "error"])
def test_a_suite_without_a_score_has_its_reason(status):
    cell = only(report(result(status=status, reason="because")))
    assert (cell.status, cell.reason, cell.metric, cell.value) == (status, "because", None, None)
    assert cell.score() is None


def test_a_headline_without_a_value_says_why():
    none = score(value=None, interval=None, interval_reason="no pair", note="all are ties")
    cell = only(report(result(scores=[none])))
    assert (cell.value, cell.metric, cell.note) == (None, "stereotype_preference", "all are ties")


def test_withheld_scores_leave_no_number():
    full = report(
        result(scores=[score(value=71.25, interval=(70.25, 72.25), n=7125)]),
        result("honest", "it", status="skipped", reason="licence not accepted"),
    )
    row = row_of(withheld(full, "0" * 64), asked="x", folder="x", base=full)
    text = row.to_json()
    assert "71.25" not in text
    assert "7125" not in text
    assert full.digest not in text
    crows_, honest = row.cells
    assert (crows_.status, crows_.reason, crows_.value) == ("withheld", NOT_PUBLISHED, None)
    assert (honest.status, honest.reason) == ("skipped", "licence not accepted")
    assert {c.change_reason for c in row.cells} == {NOT_PUBLISHED}


def test_a_hidden_suite_is_as_the_report_has_it():
    cell = only(report(result(scores=[score()], data=HIDDEN)))
    assert (cell.hidden, cell.value) == (True, 60.48)
    both = report(result(scores=[score()], data=HIDDEN))
    assert "it is hidden" in only(both, base=both).change_reason


@pytest.mark.parametrize(
    ("run", "words"),
    [({"interrupted": True}, "interrupted"), ({"shard": {"part": "1/2"}}, "shard 1 of 2")],
)
def test_an_unfinished_run_is_no_measured_model(run, words):
    row = row_of(report(result(scores=[score()]), run=run), asked="x", folder=None)
    assert row.status == "interrupted"
    assert words in row.reason
    assert row.cells[0].value == 60.48


def test_an_adapter_is_named_with_its_base():
    about = replace(
        *(NOW.model,),
        reference="org/base+org/lora",
        adapter=AdapterIdentity("org/lora", "abcdefabcdef"),
    )
    row = row_of(replace(NOW, model=about), asked="org/base+org/lora", folder=None)
    assert row.adapter == "org/lora@abcdefa"
    assert model_name(row) == "org/base@1234567+org/lora@abcdefa"


def test_a_model_that_failed_has_its_reason_without_the_users_folders():
    row = failed("/srv/alice/models/bert", "no file at /srv/alice/models/bert/config.json.")
    assert (row.status, row.cells) == ("failed", ())
    assert row.reason == "no file at …/config.json."
    assert model_name(row) == "…/bert"
    assert failed("x", "  ").reason == "no reason was given"


def test_a_name_of_a_file_need_not_be_text():
    row = failed("models/\udcff", "no \udcff")
    assert row.to_json().encode()
    assert Row.from_json(row.to_json()) == row


@pytest.mark.parametrize("folder", ["/etc", "../x", "a/../b", "a\\b", "https:x", "a\nb"])
def test_a_report_lies_below_the_fleet(folder):
    with pytest.raises(ValueError, match="no folder below"):
        row_of(NOW, asked="x", folder=folder)


def test_rows_are_frozen_and_pass_between_processes():
    row = row_of(NOW, asked="x", folder="x", base=THEN)
    assert pickle.loads(pickle.dumps(row)) == row
    with pytest.raises(FrozenInstanceError):
        row.asked = "y"


# JSON


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_json_gives_the_row_back(text):
    made = report(result(title=text, scores=[score(unit=text)], reason=text), model=text)
    for row in (row_of(made, asked=text, folder="x", base=made), failed(text, text or "x")):
        assert Row.from_json(row.to_json()) == row
        assert "\n" not in row.to_json()


ROW = row_of(NOW, asked="x", folder="x", base=THEN)


def changed(**changes):
    return {**json.loads(ROW.to_json()), **changes}


def of_cell(**changes):
    plain = json.loads(ROW.to_json())
    plain["cells"][0] |= changes
    return plain


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ([], "schema"),
        (changed(schema="pytest-bias/report/1"), "schema"),
        (changed(more=1), "'more' is not known"),
        ({k: v for k, v in changed().items() if k != "digest"}, "'digest' is missing"),
        (changed(asked=None), "asked is None"),
        (changed(parameters="many"), "parameters is 'many'"),
        (changed(parameters=True), "parameters is True"),
        (changed(status="passed", reason="x"), "status is 'passed'"),
        (changed(status="failed"), "failed without a reason"),
        (changed(report="../../x"), "no folder below"),
        (changed(cells=None), "not a whole row"),
        (changed(cells=changed()["cells"] * 2), "more than once"),
        (changed(asked="\ud800"), "UnicodeEncodeError"),
        (of_cell(more=1), "'more' is not known"),
        (of_cell(value="3"), "value is '3'"),
        (of_cell(kind="social"), "kind is 'social'"),
        (of_cell(bounds=[1]), "bounds is"),
        (of_cell(suite="../x"), "cannot be the name of a suite"),
    ],
)
def test_json_of_anything_else_is_refused(plain, words):
    with pytest.raises(ReportError, match=words):
        Row.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["", "{", ROW.to_json().replace("3.25", "NaN"), "[" * 100_000])
def test_no_json_is_refused(text):
    with pytest.raises(ReportError, match="not a row of a fleet"):
        Row.from_json(text)


def test_every_field_is_in_the_json():
    assert {f.name for f in fields(Row)} | {"schema"} == json.loads(ROW.to_json()).keys()
    assert asdict(ROW)["cells"][0].keys() == json.loads(ROW.to_json())["cells"][0].keys()
