"""Report files: what is written is what is read, and every change shows."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from made import record, report, result, score
from pytest_bias.errors import ReportError
from pytest_bias.records.report import (
    SCHEMA,
    Item,
    Record,
    Report,
    Withheld,
    canonical_json,
    git_blob_id,
    records_digest,
    sha256,
)

RELIGION = score(by={"bias_type": "religion"}, headline=False, value=None, note="too few")
FULL = report(
    result(scores=[score(), RELIGION], records=[record("crows/0001", 100.0)], measure="shared"),
    result("seat", status="not_applicable", reason="no vectors", data=None),
)


def plain(made: Report = FULL) -> dict[str, Any]:
    return json.loads(made.to_json())


def sealed(content: dict[str, Any]) -> str:
    """Return an edited report with a digest that fits it."""
    covered = {k: v for k, v in content.items() if k not in ("digest", "run")}
    return json.dumps({**content, "digest": f"sha256:{sha256(canonical_json(covered))}"})


def test_a_report_reads_back_as_it_was_written():
    back = Report.from_json(FULL.to_json())
    assert back == FULL
    assert back.digest == FULL.digest
    assert back.suites[0].scores == (score(), RELIGION)
    assert back.to_json() == FULL.to_json()


def test_the_report_has_the_keys_that_the_schema_names():
    content = plain()
    assert content["schema"] == SCHEMA == "pytest-bias/report/1"
    assert content["digest"].startswith("sha256:")
    assert {"tool", "model", "settings", "suites", "run"} <= content.keys()
    suite = content["suites"][0]
    assert {"name", "config", "version", "kind", "status", "reason", "adapted"} <= suite.keys()
    assert {"validity", "sampled", "data", "scores", "records"} <= suite.keys()
    assert suite["records"] == {
        "path": "records/crows_pairs[en].parquet",
        "sha256": records_digest([record("crows/0001", 100.0)]),
    }
    assert content["suites"][1]["records"] is None
    named = {"metric", "by", "headline", "value", "interval", "interval_reason", "level", "method"}
    named |= {"ideal", "bounds", "unit", "tolerance", "floor", "n", "n_unscored", "n_excluded"}
    named |= {
        "factors",
        "held_fixed",
        "n_clusters",
        "p_value",
        "p_adjusted",
        "note",
        "floor_of",
        "beside",
    }
    named |= {"test", "p_reason", "family", "spread", "seed"}
    assert suite["scores"][0].keys() == named
    assert suite["scores"][0]["interval"] == [57.99, 62.92]


def test_a_report_of_before_that_does_not_say_what_a_floor_is_still_reads():
    content = plain(replace(FULL, suites=(result(scores=[score(floor=50.0)]),)))
    of_before = content["suites"][0]["scores"][0]
    del of_before["floor_of"], of_before["beside"]
    (read,) = Report.from_json(sealed(content)).suites[0].scores
    assert (read.floor, read.floor_of, read.beside) == (50.0, None, False)
    of_before["floor_of"] = "luck"
    with pytest.raises(ReportError, match="floor_of is 'luck'"):
        Report.from_json(sealed(content))


def other(value: Any) -> Any:
    """Return a value of the same kind that differs."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case dict():
            return {**value, "more": "x"}
        case tuple() if value and isinstance(value[0], int | float):
            return (value[0] + 1, *value[1:])
        case tuple():
            return value[1:]
        case None:
            return "x"
    raise TypeError(value)


def with_suite(**changes: Any) -> Report:
    return replace(FULL, suites=(replace(FULL.suites[0], **changes), FULL.suites[1]))


def variants() -> Iterator[Any]:
    """Yield the report with each of its digested fields changed in turn."""
    first = FULL.suites[0]
    yield pytest.param(with_suite(data=None), id="suite.data")
    yield pytest.param(replace(FULL, withheld=Withheld("sha256:0", True)), id="report.withheld")
    parts = [
        ("score", first.scores[0], lambda s: with_suite(scores=(s, RELIGION))),
        ("data", first.data, lambda d: with_suite(data=d)),
        ("suite", first, lambda s: replace(FULL, suites=(s, FULL.suites[1]))),
        ("model", FULL.model, lambda m: replace(FULL, model=m)),
        ("report", FULL, lambda r: r),
    ]
    outside = {"suite.records", "suite.data", "report.run", "report.model"}
    outside |= {"report.withheld", "report.known", "suite.about"}
    for part, made, put in parts:
        for field in fields(made):
            name = f"{part}.{field.name}"
            if name not in outside:
                changed = replace(made, **{field.name: other(getattr(made, field.name))})
                yield pytest.param(put(changed), id=name)


@pytest.mark.parametrize("changed", [*variants()])
def test_the_digest_changes_with_everything_that_was_measured(changed):
    assert changed.digest != FULL.digest


def test_the_digest_does_not_change_with_the_run_or_the_order_of_keys():
    assert replace(FULL, run={"created": "2030-01-01"}).digest == FULL.digest
    turned = dict(reversed(list(FULL.settings.items())))
    assert replace(FULL, settings=turned).digest == FULL.digest


def test_records_are_digested_by_their_own_digest():
    bare = replace(FULL, suites=tuple(replace(s, records=()) for s in FULL.suites))
    assert bare.digest == FULL.digest
    assert with_suite(records_sha256="0" * 64).digest != FULL.digest


def test_unknown_keys_do_not_keep_a_report_from_being_read():
    content = plain()
    content["later"] = {"a": 1}
    for part in (content["model"], content["suites"][0], content["suites"][0]["data"]):
        part["later"] = "x"
    content["suites"][0]["scores"][0]["later"] = [1]
    assert Report.from_json(sealed(content)) == FULL


def test_a_report_with_unknown_keys_keeps_the_digest_that_it_states():
    content = json.loads(sealed({**plain(), "later": 1}))
    assert Report.from_json(json.dumps(content)).digest == content["digest"]


def test_keys_that_an_older_version_did_not_write_take_their_defaults():
    content = plain()
    for key in ("validity", "adapted", "draft", "measure", "sampled"):
        del content["suites"][0][key]
    del content["coverage"], content["run"], content["model"]["pooling"]
    back = Report.from_json(sealed(content))
    assert (back.coverage, back.run) == ({}, {})
    assert back.suites[0].validity == "contested"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_none_are_refused_in_reading(number):
    text = FULL.to_json().replace("60.48", number)
    with pytest.raises(ReportError, match=f"not a report: {number} is not a number"):
        Report.from_json(text, check=False)


def test_numbers_that_are_none_are_refused_in_writing():
    broken = with_suite(scores=(score(value=math.nan),))
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.to_json()
    with pytest.raises(ValueError, match="not JSON compliant"):
        _ = broken.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a report: Expecting value"),
        ("{", "not a report: Expecting property name"),
        (FULL.to_json()[:-40], "not a report: "),
        ("[1, 2]", "schema None: this version of pytest-bias reads 'pytest-bias/report/1'"),
        ("{}", "schema None"),
        ('{"schema": "pytest-bias/report/2"}', "schema 'pytest-bias/report/2'"),
        (f'{{"schema": "{SCHEMA}"}}', "not a whole report: KeyError"),
    ],
    ids=["empty", "brace", "truncated", "list", "object", "next schema", "schema alone"],
)
def test_what_is_no_report_is_named(text, message):
    with pytest.raises(ReportError, match=message):
        Report.from_json(text)


@pytest.mark.parametrize("key", ["tool", "model", "settings", "suites"])
def test_a_report_without_a_part_is_named(key):
    content = plain()
    del content[key]
    with pytest.raises(ReportError, match=f"not a whole report: KeyError\\('{key}'\\)"):
        Report.from_json(json.dumps(content))


def test_an_edited_report_is_refused_and_told_what_helps():
    text = FULL.to_json().replace("60.48", "50.48")
    with pytest.raises(ReportError, match="changed after it was written") as caught:
        Report.from_json(text)
    assert caught.value.hint == "pytest-bias verify shows which parts still hold."
    assert Report.from_json(text, check=False).suites[0].headline.value == 50.48


@pytest.mark.parametrize("digest", [None, "", "sha256:0"], ids=str)
def test_a_report_with_another_digest_is_refused(digest):
    with pytest.raises(ReportError, match="digest does not match"):
        Report.from_json(json.dumps({**plain(), "digest": digest}))


WRONG_TYPES = [
    ("model",),
    ("suites",),
    ("suites", 0),
    ("suites", 0, "scores"),
    ("suites", 0, "scores", 0),
    ("suites", 0, "data"),
]
BROKEN_TODAY = [
    ("tool",),
    ("settings",),
    ("coverage",),
    ("run",),
    ("suites", 0, "name"),
    ("suites", 0, "scores", 0, "value"),
    ("suites", 0, "scores", 0, "interval"),
    ("suites", 0, "scores", 0, "by"),
]


@pytest.mark.parametrize(
    "path",
    [
        *WRONG_TYPES,
        *(pytest.param(p) for p in BROKEN_TODAY),
    ],
    ids=lambda p: ".".join(map(str, p)),
)
def test_a_part_of_another_type_is_refused(path):
    content = plain()
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = ["nonsense"]
    with pytest.raises(ReportError, match="not a whole report"):
        Report.from_json(sealed(content))


@pytest.mark.parametrize("part", ["suites", "settings", "run"])
def test_numbers_too_large_for_a_number_are_refused_wherever_they_stand(part):
    text = json.dumps({**plain(), part: ["here"]}).replace('"here"', "1e999")
    with pytest.raises(ReportError, match="not a report: 1e999 is too large for a number"):
        Report.from_json(text, check=False)


@pytest.mark.parametrize("field", ["value", "level", "n", "floor"])
def test_an_integer_beyond_floats_is_refused(field):
    content = plain()
    content["suites"][0]["scores"][0][field] = 10**400
    with pytest.raises(ReportError, match=f"not a whole report: TypeError.'{field} is 1000"):
        Report.from_json(sealed(content))


@pytest.mark.parametrize("number", ["1e999", '"\\ud800"'])
def test_what_has_no_canonical_form_is_refused(number):
    text = FULL.to_json().replace("60.48", number)
    with pytest.raises(ReportError):
        Report.from_json(text)


RECORD = Record(
    item="a/1",
    cluster="a",
    status="scored",
    value=0.5,
    by={"g": "x"},
    detail={"more": -1.5, "n": 3},
    reason="r",
    text_sha256="0",
)


@pytest.mark.parametrize("name", [f.name for f in fields(Record)])
def test_the_digest_of_records_sees_every_field(name):
    changed = replace(RECORD, **{name: other(getattr(RECORD, name))})
    assert records_digest([changed]) != records_digest([RECORD])


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ({"value": 0.0}, {"value": None}),
        ({"reason": ""}, {"reason": None}),
        ({"text_sha256": ""}, {"text_sha256": None}),
        ({"detail": {"n": 1}}, {"detail": {"n": True}}),
        ({"detail": {"n": "1"}}, {"detail": {"n": 1}}),
        ({"detail": {"n": 0.1 + 0.2}}, {"detail": {"n": 0.3}}),
        ({"by": {"a": "b"}}, {"by": {"b": "a"}}),
        ({"item": "a\nb"}, {"item": "a b"}),
    ],
    ids=str,
)
def test_the_digest_of_records_tells_near_misses_apart(one, another):
    first, second = (records_digest([replace(RECORD, **c)]) for c in (one, another))
    assert first != second


def test_the_digest_of_records_does_not_depend_on_their_order():
    records = [replace(RECORD, item=f"a/{i}") for i in range(5)]
    assert records_digest(records[::-1]) == records_digest(records)
    assert records_digest(records[:4]) != records_digest(records)
    assert records_digest([*records, records[0]]) != records_digest(records)
    turned = replace(RECORD, detail=dict(reversed(RECORD.detail.items())))
    assert records_digest([turned]) == records_digest([RECORD])


ITEM = Item("a/1", "a", {"sentence": "Ein Wort."}, {"g": "x"}, {"right": "male"})


def test_an_item_passes_what_it_is_on_to_its_record():
    made = ITEM.scored(1.5, {"n": 3})
    assert (made.item, made.cluster, made.by, made.status) == ("a/1", "a", {"g": "x"}, "scored")
    assert (made.value, made.detail, made.reason) == (1.5, {"n": 3}, None)
    assert made.text_sha256 == sha256('{"sentence":"Ein Wort."}')
    assert "Wort" not in repr(made)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["value", "detail"])
def test_a_number_that_is_not_finite_leaves_the_item_unscored(number, place):
    made = ITEM.scored(number) if place == "value" else ITEM.scored(0.0, {"logp": number})
    assert (made.status, made.value, made.reason, made.detail) == (
        "unscored",
        None,
        "non-finite",
        {},
    )


def test_canonical_json_is_one_text():
    assert canonical_json({"b": [1.0, None], "a": "é"}) == '{"a":"é","b":[1.0,null]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(math.nan)


def test_a_score_is_found_by_metric_and_group():
    suite = FULL.suites[0]
    assert suite.headline == suite.score("stereotype_preference")
    assert suite.score("stereotype_preference", bias_type="religion") == RELIGION
    with pytest.raises(KeyError, match=r"crows_pairs\[en\] has no score 'icat'; it has stereotype"):
        suite.score("icat")
    with pytest.raises(KeyError, match=r"by bias_type=relgion \(did you mean bias_type=religion\?"):
        suite.score("stereotype_preference", bias_type="relgion")
    with pytest.raises(KeyError, match=r"by axis=x; it has .*stereotype_preference by bias_type"):
        suite.score("stereotype_preference", axis="x")


def test_a_suite_is_found_by_name_and_configuration():
    assert FULL.suite("seat").status == "not_applicable"
    assert FULL.suite("crows_pairs", "en").entry == "crows_pairs[en]"
    with pytest.raises(KeyError, match="no 'crows_pairs' in this report"):
        FULL.suite("crows_pairs", "fr")


def test_plain_values_only_pass_into_json():
    assert asdict(FULL.suites[0])["scores"][0]["by"] == {}
    assert json.loads(FULL.to_json())["suites"][0].get("records_sha256") is None


def test_a_file_has_the_identifier_that_git_gives_it() -> None:
    # git hash-object
    assert git_blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git_blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
