"""The tables and the words of a fleet's page: full numbers, no formula, nothing that breaks out."""

import csv
import io
import math
import pickle
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made import HOSTILE, endless, report, result, score
from pytest_bias.emit import verdict, wording
from pytest_bias.errors import UnknownName
from pytest_bias.fleet.page import cells, tables
from pytest_bias.fleet.page import page as fleet_page
from pytest_bias.fleet.page.columns import columns_of
from pytest_bias.fleet.page.page import About
from pytest_bias.fleet.page.tables import FIELDS, csv_table, lines, parquet_table
from pytest_bias.fleet.rows import FleetRow, failed, row_of
from pytest_bias.records.identity import AdapterIdentity
from pytest_bias.records.report import Report
from pytest_bias.reports.comparison import Change, SuiteComparison
from pytest_bias.reports.withholding import withheld
from pytest_bias.scoring.statistics import Estimate
from pytest_bias.suites import find
from pytest_bias.suites.catalogue import installed
from reader import Reader
from simulated_fleet import simulated

VALUE = 100 / 3
CROWS = result(
    scores=[score(value=VALUE, interval=(-1.5, 62.92), n_unscored=4)], sampled=1512, version="1"
)
SKIPPED = result("honest", "it", title="HONEST", status="skipped", reason="licence not accepted")
ROW = row_of(report(CROWS, SKIPPED), asked="org/name", folder="a-1")
FAILED = failed("org/other", "it has no safetensors")
ABOUT = About("A fleet", "2026-11-29T10:00:00Z", "0.1.0", {"Profile": "standard"})
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1")


class Fleet(Reader):
    """As `Reader`; this page has controls and a script."""

    VOID = (*Reader.VOID, "input")

    def handle_data(self, data):
        if "script" not in self.open:
            super().handle_data(data)


def csv_rows(rows) -> list[dict[str, str]]:
    text = csv_table(lines(rows))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def parquet(rows) -> pa.Table:
    return pq.read_table(pa.BufferReader(parquet_table(lines(rows))))


def page(rows, about=ABOUT) -> Fleet:
    return Fleet(fleet_page.render(rows, about))


def test_three_files():
    files = tables.render([ROW, FAILED], ABOUT)
    assert list(files) == ["index.html", "table.csv", "table.parquet"]
    assert files["index.html"] == fleet_page.render([ROW, FAILED], ABOUT).encode()
    assert files == tables.render([ROW, FAILED], ABOUT)


# Tables


def test_the_columns_stay():
    names = (
        *("asked", "model_status", "model_reason", "reference", "revision", "model_kind"),
        *("architecture", "parameters", "weights", "dtype", "digest", "base_model", "adapter"),
        *("compared_with", "report", "decision", "entry", "suite", "config", "version", "title"),
        *("language", "kind", "validity", "status", "reason", "measure", "adapted", "draft"),
        *("hidden", "control_of", "metric", "value", "low", "high", "interval_reason", "level"),
        *("ideal", "bound_low", "bound_high", "unit", "floor", "floor_of", "n", "n_unscored"),
        *("sampled", "n_available", "note", "change", "change_low", "change_high"),
        *("change_reason", "change_note"),
    )
    assert tuple(f.name for f in FIELDS) == names


def test_an_adapter_stands_with_its_revision():
    adapter = AdapterIdentity("org/lora", "abcdefabcdef")
    made = report(CROWS)
    made = replace(made, model=replace(made.model, adapter=adapter))
    (line,) = csv_rows([row_of(made, asked="x", folder=None)])
    assert line["adapter"] == "org/lora@abcdefa"


def test_a_note_stands_only_where_there_is_no_value():
    none = score(value=None, interval=None, interval_reason="no pair", note="all are ties")
    made = report(result(scores=[none]), result("seat", scores=[score(note="of 12 tests")]))
    lost, found = csv_rows([row_of(made, asked="x", folder=None)])
    assert (lost["value"], lost["metric"], lost["note"]) == (
        *("", "stereotype_preference"),
        "all are ties",
    )
    assert (found["value"], found["note"]) == ("60.48", "")


def test_numbers_are_full_and_what_is_missing_is_empty():
    crows, skipped, lost = csv_rows([ROW, FAILED])
    assert float(crows["value"]) == VALUE
    assert crows["low"] == "-1.5"
    assert (crows["n"], crows["n_unscored"], crows["sampled"]) == ("1508", "4", "1512")
    assert (crows["bound_low"], crows["bound_high"], crows["adapted"]) == ("0.0", "100.0", "false")
    assert (crows["model_kind"], crows["kind"], crows["report"]) == ("masked", "intrinsic", "a-1")
    assert (skipped["status"], skipped["reason"]) == ("skipped", "licence not accepted")
    assert {skipped[n] for n in ("value", "low", "metric", "n", "ideal")} == {""}
    assert (lost["asked"], lost["model_status"]) == ("org/other", "failed")
    assert lost["model_reason"] == "it has no safetensors"
    assert {v for k, v in lost.items() if not k.startswith("model_") and k != "asked"} == {""}


def test_csv_is_of_rfc_4180():
    nasty = failed('a,"b"\nc', "x")
    text = csv_table(lines([nasty]))
    head, line, end = text.split("\r\n")
    assert (head.split(",")[:2], end) == (["asked", "model_status"], "")
    assert line.startswith('"a,""b"" c",failed,x,')
    assert "\n" not in text.replace("\r\n", "")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_is_no_formula_in_a_spreadsheet(text):
    made = report(result(title=text, status="error", reason=text), model=text)
    for line in csv_rows([row_of(made, asked=text, folder=None), failed(text, text)]):
        for name, found in line.items():
            assert not found.startswith((*"=+-@\t\r", "＝")), name
        assert line["asked"].startswith("'")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_stay_in_their_cells(text):
    made = report(result(title=text, scores=[score(unit=text)], reason=text), model=text)
    rows = [row_of(made, asked=text, folder=None), failed(text, text)]
    found = csv_rows(rows)
    assert len(found) == 2
    assert all(None not in line and len(line) == len(FIELDS) for line in found)
    assert all(c.isprintable() for line in found for v in line.values() for c in v)
    told = [row["reference"] for row in parquet(rows).to_pylist()]
    assert told == [wording.clean(text, tables.TEXT), None]


def test_parquet_has_types_and_the_same_lines():
    rows = simulated(40, 12)
    table = parquet([*rows, ROW])
    types = {"text": "string", "number": "double", "count": "int64", "flag": "bool"}
    assert {f.name: str(f.type) for f in table.schema} == {f.name: types[f.type] for f in FIELDS}
    assert [tuple(row.values()) for row in table.to_pylist()] == list(lines([*rows, ROW]))
    assert table.num_rows == sum(max(1, len(row.suites)) for row in rows) + 2
    assert table["value"].to_pylist()[-2:] == [VALUE, None]
    assert not any(math.isnan(v) for v in table["value"].to_pylist() if v is not None)


def test_tables_of_nothing():
    assert csv_rows([]) == []
    assert parquet([]).num_rows == 0
    assert parquet([]).schema.names == [f.name for f in FIELDS]


def test_a_count_that_no_count_can_be_is_left_out():
    (line,) = parquet([row_of(report(result(scores=[score(n=2**63)])), asked="x", folder=None)])[
        "n"
    ].to_pylist()
    assert line is None


# Words of the page


CHANGE = Estimate(1.25, (-0.5, 3.0))
MOVED = SuiteComparison(
    CROWS.entry, CROWS.title, (Change(CROWS.headline, CROWS.headline, CHANGE, CHANGE, CHANGE),)
)


def other(made: Report) -> FleetRow:
    return row_of(made, asked="x", folder=None)


STATES = {
    "one model": [ROW],
    "all that can become of a model": [
        replace(ROW, changes={**ROW.changes, CROWS.entry: MOVED}, base="org/base"),
        *(FAILED, other(report(replace(CROWS, version="0")))),
        other(report(CROWS, run={"interrupted": True})),
        other(withheld(report(CROWS), "0" * 64)),
    ],
}


@pytest.mark.parametrize("state", STATES)
def test_what_became_of_every_model_is_told(state, snapshot):
    assert page(STATES[state]).lines == snapshot


def test_the_head_of_a_column_says_metric_ideal_and_unit_as_the_badge_does():
    entropy = score("entropy_bias", 0.4, ideal=0, unit="bits")
    made = report(
        CROWS,
        result("gendered_pair_entropy", scores=[entropy], title="Gendered pairs"),
        result("seat", scores=[score("mean_absolute_effect", 0.6, ideal=0, unit="d")]),
        result("own", scores=[score("some_gap", 3, ideal=1.5, unit="points")]),
        SKIPPED,
    )
    heads = [(c.metric, c.ideal) for c in columns_of([row_of(made, asked="x", folder=None)])]
    assert heads == [
        ("Stereotype preference, %", "even 50"),
        ("Entropy bias, bits", "none 0"),
        # Its badge names no ideal.
        ("Mean absolute effect, d", "ideal 0"),
        ("Some gap, points", "ideal 1.5"),
        ("no score", ""),
    ]


def test_the_ideal_is_called_as_in_the_badge():
    for suite in installed():
        for metric in {m for measure in suite.measures for m in measure.metrics if m.headline}:
            of_it = [w for w in suite.badge if f"{{{metric.name}" in w]
            named = re.compile(rf"· (\w+) {metric.ideal:g}(?: ·|$)")
            said = {match[1] for wording in of_it if (match := named.search(wording))}
            assert said == ({metric.ideal_label} - {""}), (suite.name, metric.name)


def test_a_row_has_its_words_where_no_suite_is_installed(monkeypatch):
    entropy = score("entropy_bias", 0.4, ideal=0, unit="bits")
    made = report(CROWS, result("gendered_pair_entropy", scores=[entropy]))
    row = pickle.dumps(row_of(made, asked="x", folder=None))
    here = tables.render([pickle.loads(row)], ABOUT)
    assert b"even 50" in here["index.html"]
    monkeypatch.setattr("pytest_bias.suites.catalogue.installed", tuple)
    with pytest.raises(UnknownName):
        find("crows_pairs")
    assert tables.render([pickle.loads(row)], ABOUT) == here


def test_columns_go_by_kind_and_one_scale_has_one_column():
    def suite(name, kind, metric, **more):
        return result(name, kind=kind, scores=[score(metric, 1, **more)], title=name)

    masked = report(
        suite("structure", "structure", "checks_passed"),
        suite("perturbation", "robustness", "log_likelihood_change", unit="nats"),
        suite("bbq", "downstream", "bias"),
    )
    classifier = report(
        suite("perturbation", "robustness", "flip_rate"),
        result("crows_pairs", status="error", reason="x"),
    )
    rows = [row_of(r, asked="x", folder=None) for r in (masked, classifier)]
    found = [(c.entry, c.key[1], c.empty) for c in columns_of(rows)]
    assert found == [
        ("bbq[en]", "bias", False),
        ("perturbation[en]", "log_likelihood_change", False),
        ("perturbation[en]", "flip_rate", False),
        ("structure[en]", "checks_passed", False),
        # What no model has a value for stands last.
        ("crows_pairs[en]", None, True),
    ]
    assert "see log likelihood change" in page(rows).text


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        (CROWS, "33.3‡ -1.5 – 62.9 sample of 1512 4 unscored"),
        (replace(CROWS, validity="partial", sampled=None), "33.3† -1.5 – 62.9"),
        (replace(CROWS, validity="supported", draft=True), "33.3 -1.5 – 62.9 draft"),
        (replace(CROWS, validity="odd <b>"), "33.3 -1.5 – 62.9 odd <b>"),
        (replace(CROWS, adapted=True), "adapted"),
        (replace(CROWS, data=replace(CROWS.data, visibility="hidden")), "hidden items"),
        (replace(CROWS, status="inconclusive", reason="9 of 20"), "33.3‡"),
        (result(scores=[score(interval=None)]), "60.5‡ no interval"),
        (result(scores=[score(floor=12.5, floor_of="guessing")]), "guessing ≈ 12.5"),
        (result(scores=[score(floor=12.5)]), "floor ≈ 12.5"),
        (result(scores=[score(level=0.9)]), "90 % interval"),
        (result(scores=[score(value=None, note="all are ties")]), "no value 1"),
        (result(scores=[]), "no headline"),
        (SKIPPED, "skipped 1"),
    ],
)
def test_a_cell_in_words(suite, words):
    assert words in page([row_of(report(suite), asked="org/name", folder=None)]).text


def test_reasons_stand_once_below_the_table_and_cells_lead_to_them():
    rows = [replace(ROW, asked=str(i)) for i in range(5)]
    html = fleet_page.render(rows, ABOUT)
    assert html.count("licence not accepted</li>") == 1
    found = Fleet(html)
    assert [a["href"] for a in found.all("a") if a["href"].startswith("#")] == ["#r1"] * 5
    assert [a["id"] for a in found.all("li")] == ["r1"]
    assert {a["title"] for a in found.all("a") if a.get("title")} == {"licence not accepted"}


def test_a_row_leads_to_its_report():
    hrefs = [a["href"] for a in page([replace(ROW, folder="a b/c%&<d")]).all("a")]
    assert hrefs[0] == "./a%20b/c%25%26%3Cd/report.html"


@pytest.mark.parametrize("status", verdict.STATUS_SENTENCES)
def test_a_decision_is_told_in_words(status):
    assert status in cells.DECISIONS
    text = page([replace(ROW, decision=status)]).text
    assert cells.DECISIONS[status] in text


def test_the_page_takes_no_sides():
    html = fleet_page.render([*simulated(60, 30), FAILED], ABOUT)
    text = Fleet(html).text.lower()
    for word in ("best", "worst", "passed", "rank", "average score", "mean of"):
        assert not re.search(rf"\b{word}\b", text.replace("checks passed", "")), word
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"\b(green|red|lime|crimson)\b|gradient|hsl", style)


@pytest.mark.parametrize("kinds", [("intrinsic",), ("robustness",), ("downstream", "intrinsic")])
def test_the_scope_is_that_of_the_report_page(kinds):
    made = report(*(replace(CROWS, config=f"en{i}", kind=k) for i, k in enumerate(kinds)))
    found = page([row_of(made, asked="x", folder=None)])
    for line in wording.scope_limits(made):
        assert line in found.text
    assert fleet_page._scope([row_of(made, asked="x", folder=None)]) == wording.scope_limits(made)


def test_the_page_may_do_nothing_but_its_own_script_and_style():
    found = page([ROW])
    (policy,) = [a["content"] for a in found.all("meta") if "http-equiv" in a]
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts.pop("style-src").startswith("'sha256-")
    assert parts.pop("script-src").startswith("'sha256-")
    assert parts.pop("img-src") == "data:"
    assert set(parts.values()) == {"'none'"}
    for tag, attributes in found.tags:
        assert "style" not in attributes, tag
        assert not [n for n in attributes if n.startswith("on")], tag
        assert not attributes.get("src")


# Size


@pytest.mark.nightly
def test_the_page_has_a_largest_size_whatever_reports_say():
    huge: Report = endless(300)
    rows = [row_of(huge, asked="&" * 10_000, folder="&" * 2_000)] * 20
    others = [result(f"suite{i}", "en", status="error", reason=f"{i}{'&' * 500}") for i in range(9)]
    for i in range(60):
        suites = (replace(s, reason=f"{i} {s.reason}") for s in others)
        rows.append(row_of(report(*suites), asked=f"{i}", folder=None))
    rows += [failed(f"{i}{'&' * 500}", "&" * 2_000) for i in range(2_000)]
    html = fleet_page.render(rows, About("&" * 999, "&" * 999, "&" * 999, {"&" * 99: "&" * 999}))
    assert len(html.encode()) < fleet_page.PAGE_LIMIT
    text = Fleet(html).text
    assert "Left out, so that this page stays small; table.csv has them:" in text
    assert re.search(r"\d+ models, \d+ of which failed: ", text)
    assert "Columns that are left out" in text
    assert "reasons at most" in text


def test_a_fleet_of_500_models_and_30_suites_is_small():
    rows = simulated(500, 30)
    html = fleet_page.render(rows, ABOUT)
    assert len(html.encode()) < 5_000_000
    assert html.count("<tr ") == 501
    assert "Left out" not in html
