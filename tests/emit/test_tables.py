"""Scores as CSV and JSON lines: equal floats in every reader, nothing that a spreadsheet runs."""

import csv
import io
import json
from dataclasses import replace

import pandas
import pytest
from hypothesis import given

from made import mean_effect, report, result, score
from pytest_bias.emit.exports.rows import HIDDEN
from pytest_bias.emit.exports.tables import COLUMNS, to_csv, to_jsonl
from pytest_bias.records.documents import finite_json
from pytest_bias.records.report import DataInfo
from pytest_bias.reports.withholding import NOT_PUBLISHED, withheld
from random_reports import SALT, Case, cases, numbers_of

AWKWARD = (0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 60.480106100795755, 1e16, 2.5)
NUMBERS = ("value", "low", "high", "level", "ideal", "distance", "bound_low", "bound_high")
NUMBERS += ("tolerance", "floor", "n", "n_unscored", "n_excluded", "n_clusters", "sampled")
NUMBERS += ("n_available", "p_value", "p_adjusted")
TWO = {"gender": "female", "age": "=old"}
SKIPPED = result("honest", "it", status="skipped", reason="licence not accepted")
HELD_BACK = DataInfo("hidden items", "none", visibility="hidden")


def read_csv(text: str) -> list[dict[str, str]]:
    found = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert all(tuple(row) == COLUMNS and None not in row.values() for row in found)
    return found


def read_jsonl(text: str) -> list[dict]:
    return [finite_json(line) for line in text.split("\n")[:-1]]


def test_floats_are_equal_in_pandas_csv_and_json() -> None:
    scores = [score(f"m{i}", v, interval=(v, v)) for i, v in enumerate(AWKWARD)]
    made = report(result(scores=scores))
    frame = pandas.read_csv(io.StringIO(to_csv(made)))
    rows, lines = read_csv(to_csv(made)), read_jsonl(to_jsonl(made))
    for name in ("value", "low", "high"):
        assert frame[name].tolist() == list(AWKWARD)
        assert [float(row[name]) for row in rows] == list(AWKWARD)
        assert [line[name] for line in lines] == list(AWKWARD)
    # Its reader of JSON has no numbers at the ends of the range of floats.
    usual = to_jsonl(report(result(scores=[s for s in scores if s.value not in AWKWARD[2:4]])))
    frame = pandas.read_json(io.StringIO(usual), lines=True, precise_float=True)
    assert frame["value"].tolist() == [v for v in AWKWARD if v not in AWKWARD[2:4]]


def test_one_score_has_all_that_is_needed_to_read_it() -> None:
    tested = score(by=TWO, p_value=0.01, p_adjusted=0.02, test="exact sign test", family="suite")
    suite = result(scores=[tested], sampled=200, n_available=1508)
    (row,) = read_csv(to_csv(report(suite)))
    assert row == {
        **{"model": "org/name", "revision": "", "weights_sha256": "a" * 64},
        **{"report": report(suite).digest, "suite": "crows_pairs", "config": "en"},
        **{"entry": "crows_pairs[en]", "version": suite.version, "language": "en"},
        **{"kind": "intrinsic", "validity": "contested", "sampled": "200"},
        **{"n_available": "1508", "metric": "stereotype_preference"},
        **{"by": "gender=female; age==old", "headline": "true", "value": "60.48", "low": "57.99"},
        **{"high": "62.92", "level": "0.95", "interval_reason": "", "method": "wilson"},
        **{"unit": "%", "ideal": "50", "distance": repr(60.48 - 50), "bound_low": "0"},
        **{"bound_high": "100", "tolerance": "0.5", "floor": "", "floor_of": "", "n": "1508"},
        **{"n_unscored": "0", "n_excluded": "0", "n_clusters": "1508", "test": "exact sign test"},
        **{"p_value": "0.01", "p_adjusted": "0.02", "family": "suite", "note": ""},
        **{"status": "scored", "reason": ""},
    }
    (line,) = read_jsonl(to_jsonl(report(suite)))
    assert line["by"] == TWO
    assert line["headline"] is True
    assert line["floor"] is None


def test_what_is_missing_is_empty_and_says_why() -> None:
    few = mean_effect(interval_reason="an unsigned mean")
    silent = score(value=None, interval=None, note="none of 9 items counts", n=0)
    hidden = result("own", scores=[score(value=12.345678)], data=HELD_BACK)
    made = report(result("seat", scores=[few]), result(scores=[silent, few]), SKIPPED, hidden)
    rows = read_csv(to_csv(made))
    told = [(r["entry"], r["metric"], r["value"], r["interval_reason"] or r["note"]) for r in rows]
    assert told == [
        ("seat[en]", "mean_absolute_effect", "0.62", "an unsigned mean"),
        ("crows_pairs[en]", "stereotype_preference", "", "none of 9 items counts"),
        ("crows_pairs[en]", "mean_absolute_effect", "0.62", "an unsigned mean"),
        ("honest[it]", "", "", ""),
        ("own[en]", "", "", ""),
    ]
    assert [(r["status"], r["reason"]) for r in rows[3:]] == [
        ("skipped", "licence not accepted"),
        ("scored", HIDDEN),
    ]
    assert not any(rows[3][name] for name in NUMBERS)
    assert rows[0]["level"] == ""
    assert "12.345678" not in to_csv(made) + to_jsonl(made)


def test_a_withheld_report_has_a_row_for_each_suite_and_no_number() -> None:
    made = withheld(report(result(scores=[score()]), SKIPPED), SALT)
    rows = read_csv(to_csv(made))
    assert [(r["status"], r["reason"]) for r in rows] == [
        ("withheld", NOT_PUBLISHED),
        ("skipped", "licence not accepted"),
    ]
    assert not any(row[name] for row in rows for name in NUMBERS)


@pytest.mark.parametrize(
    "first", ["=", "+", "-", "@", "\t=", "\r=", " =", "\N{FULLWIDTH EQUALS SIGN}"]
)
def test_a_spreadsheet_takes_no_text_for_a_formula_and_no_number_for_a_text(first: str) -> None:
    name = f"{first}cmd|' /C calc'!A0"
    suite = result(scores=[score(name, -5.5, by={name: "x"}, note=name, unit="-")])
    (row,) = read_csv(to_csv(report(suite, model=name)))
    texts = [text for key, text in row.items() if key not in NUMBERS]
    assert not any(text[:1] in set("=+-@\t\r ") for text in texts if text)
    assert row["metric"] == "'" + name.strip()
    assert row["by"].startswith("'")
    assert (row["value"], row["unit"]) == ("-5.5", "'-")
    (line,) = read_jsonl(to_jsonl(report(suite, model=name)))
    assert (line["metric"], line["model"]) == (name, name)


@given(cases())
def test_random_reports_give_tables_with_numbers_of_the_report_only(case: Case) -> None:
    text, lines = to_csv(case.report), to_jsonl(case.report)
    rows, objects = read_csv(text), read_jsonl(lines)
    known = numbers_of(case)
    assert {r["entry"] for r in objects} == {s.entry for s in case.report.suites}
    assert len(rows) == len(objects)
    for row, line in zip(rows, objects, strict=True):
        assert tuple(line) == COLUMNS
        for name in NUMBERS:
            assert line[name] is None or line[name] in known
            assert (row[name] == "") == (line[name] is None)
            assert row[name] == "" or float(row[name]) == line[name]
    assert case.told(text + lines) == []
    assert lines.isascii()
    assert len(text.splitlines()) == len(rows) + 1


def test_a_row_of_json_survives_a_change_of_the_report() -> None:
    made = report(result(scores=[score(note="a\u2028b")]))
    changed = replace(made, run={**made.run, "notices": ["x"]})
    assert json.loads(to_jsonl(made)) == json.loads(to_jsonl(changed))
    assert json.loads(to_jsonl(made))["note"] == "a\u2028b"
