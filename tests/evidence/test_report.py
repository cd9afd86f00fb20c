"""Does a report hold? A real run of the demo does; what was tampered with does not."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bias_suites.social import gendered_pair_entropy
from made import record, report, result
from publications import digest_of, named
from pytest_bias.emit import badges
from pytest_bias.engine import session
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.errors import ReportError
from pytest_bias.evidence.report import verify
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT, read_report, write_report
from pytest_bias.scoring.statistics import VERSION
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.results import scored

ENTRY = "template_association[en]"
RECORDS = f"records/{ENTRY}.parquet"


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a real run: structure and one suite on the demo model."""
    settings = Settings(suites=("template_association",), languages=("en",), offline=True)
    made = session.run(session.Session(plan(describe_for(settings, "demo"), settings)))
    folder = tmp_path_factory.mktemp("report")
    write_report(made, badges.render(made), folder)
    return folder


@pytest.fixture
def copy(measured: Path, tmp_path: Path) -> Path:
    """Return a copy of the run to tamper with."""
    return Path(shutil.copytree(measured, tmp_path / "copy"))


def outcomes(folder: Path) -> dict[str, str]:
    return {named(c): c.outcome for c in verify(folder)}


def failing(folder: Path) -> dict[str, str]:
    return {named(c): c.detail for c in verify(folder) if c.outcome == "fails"}


HOLDS = {
    "report": "holds",
    "complete record": "holds",
    "denominator": "holds",
    "structure[all] records": "holds",
    "structure[all] scores": "holds",
    f"{ENTRY} records": "holds",
    f"{ENTRY} scores": "holds",
    f"{ENTRY} data": "holds",
    "badges": "holds",
}


def edit(folder: Path, change: Callable[[dict[str, Any]], object], *, seal: bool = True) -> None:
    """Edit report.json; `seal` computes its digest again and draws the badges anew."""
    path = folder / REPORT
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    if seal:
        content["digest"] = digest_of(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    if seal:
        draw(folder, Report.from_json(path.read_text(encoding="utf-8")))


def draw(folder: Path, made: Report) -> None:
    shutil.rmtree(folder / "badges")
    for name, text in badges.render(made).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def suite(content: dict[str, Any]) -> dict[str, Any]:
    return content["suites"][1]


def headline(content: dict[str, Any]) -> dict[str, Any]:
    return suite(content)["scores"][0]


def test_a_real_run_holds(measured):
    assert outcomes(measured) == HOLDS
    assert outcomes(measured / REPORT) == HOLDS
    details = {named(c): c.detail for c in verify(measured)}
    assert details[f"{ENTRY} records"] == "830 records"
    assert details["report"] == f"digest {read_report(measured).digest[:19]}"


def older(content: dict[str, Any]) -> None:
    """Make a report as before statistics had a version."""
    del content["tool"]["statistics_version"]
    headline(content).update(interval=[0.0, 0.1], p_value=0.5)


def test_a_report_of_older_statistics_has_values_that_hold(copy):
    edit(copy, older)
    found = {named(c): c for c in verify(copy)}
    assert {name: c.outcome for name, c in found.items()} == HOLDS | {
        "structure[all] scores": "unknown",
        f"{ENTRY} scores": "unknown",
    }
    told = "the values follow from the records; intervals and p-values are of statistics 1"
    assert found[f"{ENTRY} scores"].detail == f"{told}, {VERSION} is installed"
    edit(copy, lambda c: headline(c).update(value=0.1))
    assert failing(copy).keys() == {f"{ENTRY} scores"}


def test_what_does_not_change_a_score_may_change(copy):
    edit(copy, lambda c: c.update(run={**c["run"], "cost": {}}), seal=False)
    assert outcomes(copy) == HOLDS


@pytest.mark.by_day(
    "value", "interval", "n", "headline", "score removed", "score added", "status", "seed"
)
@pytest.mark.parametrize(
    "change",
    [
        lambda c: headline(c).update(value=0.1),
        lambda c: headline(c).update(interval=[0.0, 0.1]),
        lambda c: headline(c).update(interval=None),
        lambda c: headline(c).update(n=9_999),
        lambda c: headline(c).update(n_unscored=7),
        lambda c: headline(c).update(headline=False),
        lambda c: headline(c).update(ideal=0.8),
        lambda c: headline(c).update(note="nothing to see"),
        lambda c: headline(c).update(metric="harm"),
        lambda c: suite(c)["scores"][5].update(value=0.0),
        lambda c: suite(c)["scores"].pop(),
        lambda c: suite(c)["scores"].append(headline(c)),
        lambda c: suite(c)["scores"].reverse(),
        lambda c: suite(c).update(status="inconclusive"),
        lambda c: suite(c).update(reason="none"),
        lambda c: c["settings"].update(seed=1),
    ],
    ids=[
        *("value", "interval", "no interval", "n", "unscored", "headline", "ideal", "note"),
        *("metric", "group", "score removed", "score added", "order", "status", "reason", "seed"),
    ],
)
def test_an_edited_score_fails_even_with_a_new_digest(copy, change):
    edit(copy, change)
    found = failing(copy)
    assert f"{ENTRY} scores" in found
    assert set(found) <= {f"{ENTRY} scores", "structure[all] scores"}


def test_a_failing_score_is_shown_beside_what_the_records_give(copy):
    edit(copy, lambda c: headline(c).update(value=0.125))
    detail = failing(copy)[f"{ENTRY} scores"]
    assert "association is given as 0.125" in detail
    assert "the records give 0.1897" in detail


@pytest.mark.parametrize(
    "change",
    [
        lambda c: headline(c).update(value=0.1),
        lambda c: c["settings"].update(profile="quick"),
        lambda c: c["model"].update(reference="org/other"),
        lambda c: c["model"].update(weights_sha256=None),
        lambda c: suite(c)["data"].update(sha256="0" * 64),
        lambda c: c.update(digest="sha256:" + "0" * 64),
        lambda c: c.pop("digest"),
    ],
    ids=["value", "settings", "model", "weights", "data", "digest", "no digest"],
)
def test_an_edit_breaks_the_digest(copy, change):
    edit(copy, change, seal=False)
    assert "it says" in failing(copy)["report"]


def rewrite(folder: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Edit the records of the suite."""
    table = pq.read_table(folder / RECORDS)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), folder / RECORDS)


@pytest.mark.by_day("removed", "value", "group", "text")
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop(),
        lambda rows: rows.append(rows[0]),
        lambda rows: rows[0].update(value=0.0),
        lambda rows: rows[0].update(cluster="other"),
        lambda rows: rows[0].update(status="unscored", value=None),
        lambda rows: rows[0].update({"by.group": "female"}),
        lambda rows: rows[0].update(detail="{}"),
        lambda rows: rows[0].update(text_sha256="0" * 64),
    ],
    ids=["removed", "repeated", "value", "cluster", "status", "group", "detail", "text"],
)
def test_edited_records_fail(copy, change):
    rewrite(copy, change)
    assert failing(copy)[f"{ENTRY} records"] == (
        "they are not the records that the report was made from"
    )


def test_records_in_another_order_are_the_same(copy):
    rewrite(copy, lambda rows: rows.reverse())
    assert outcomes(copy) == HOLDS


def test_missing_records_fail(copy):
    (copy / RECORDS).unlink()
    assert failing(copy) == {f"{ENTRY} records": f"{RECORDS} is missing"}


def test_the_records_of_another_suite_fail(copy):
    shutil.copy(copy / "records" / "structure[all].parquet", copy / RECORDS)
    assert set(failing(copy)) == {f"{ENTRY} {what}" for what in ("records", "scores", "data")}


def test_damaged_records_fail(copy):
    (copy / RECORDS).write_bytes(b"PAR1")
    assert "holds no records" in failing(copy)[f"{ENTRY} records"]


@pytest.mark.parametrize("name", ["template_association-en", "social-bias-evaluated"])
def test_an_edited_badge_fails(copy, name):
    path = copy / "badges" / f"{name}.svg"
    path.write_text(path.read_text(encoding="utf-8").replace("0.81", "0.01") + " ", "utf-8")
    assert failing(copy) == {"badges": f"not what the scores give: badges/{name}.svg"}


def test_a_removed_and_an_added_badge_fail(copy):
    (copy / "badges" / "template_association-en.json").unlink()
    (copy / "badges" / "seat-en.svg").write_text("<svg/>", "utf-8")
    detail = failing(copy)["badges"]
    assert detail == (
        "not what the scores give: badges/seat-en.svg, badges/template_association-en.json"
    )


def test_without_badges_they_are_unknown(copy):
    shutil.rmtree(copy / "badges")
    assert outcomes(copy)["badges"] == "unknown"


def test_a_suite_that_is_not_installed_is_unknown(copy):
    def rename(content: dict[str, Any]) -> None:
        suite(content).update(name="theirs")
        suite(content)["records"]["path"] = "records/theirs[en].parquet"

    edit(copy, rename)
    (copy / RECORDS).rename(copy / "records" / "theirs[en].parquet")
    assert outcomes(copy)["theirs[en] records"] == "holds"
    assert outcomes(copy)["theirs[en] scores"] == "unknown"


def test_another_version_of_a_suite_is_unknown(copy):
    edit(copy, lambda c: suite(c).update(version="0"))
    unknown = {named(c): c.detail for c in verify(copy) if c.outcome == "unknown"}
    assert unknown == {
        f"{ENTRY} scores": "version 0 of the suite was run, 3 is installed",
        f"{ENTRY} data": "version 0 of the suite is not installed",
    }


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_scores_without_records_do_not_hold(copy, value):
    def invent(content: dict[str, Any]) -> None:
        suite(content).update(records=None)
        headline(content).update(value=value, interval=[value, value])

    edit(copy, invent)
    (copy / RECORDS).unlink()
    assert set(outcomes(copy).values()) != {"holds"}


def test_a_key_of_a_later_version_is_no_tampering(copy):
    made = read_report(copy)
    edit(copy, lambda c: c.update(later=1), seal=False)
    path = copy / REPORT
    content = json.loads(path.read_text(encoding="utf-8"))
    content["digest"] = digest_of(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    for badge in (copy / "badges").iterdir():
        text = badge.read_text(encoding="utf-8")
        badge.write_text(text.replace(made.digest[:19], content["digest"][:19]), "utf-8")
    assert outcomes(copy) == HOLDS


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(s)
        for s, e in [({}, KeyError), ({"seed": "x"}, ValueError), ({"seed": None}, TypeError)]
    ],
    ids=str,
)
def test_settings_without_a_seed_fail(copy, settings):
    edit(copy, lambda c: c.update(settings=settings))
    assert f"{ENTRY} scores" in failing(copy)


def test_records_of_another_shape_fail(tmp_path):
    pairs = [
        record(
            f"e/{i}",
            float(i % 2),
            by={"part": "neutral", "pair": "he/she"},
            detail={"log_p_male": -1.0, "log_p_female": -2.0 - i},
        )
        for i in range(20)
    ]
    made = result(
        "gendered_pair_entropy", records=pairs, measure=gendered_pair_entropy.SUITE.measures[0].name
    )
    suite_ = gendered_pair_entropy.SUITE
    made = replace(
        made,
        title=suite_.title,
        kind=suite_.kind,
        validity=suite_.validity,
        clusters=suite_.configuration("en").clusters,
    )
    made = scored(made, suite_, 0)
    whole = report(made)
    write_report(whole, badges.render(whole), tmp_path)
    assert {
        outcomes(tmp_path)[f"gendered_pair_entropy[en] {w}"] for w in ("records", "scores")
    } == {"holds"}
    others = report(replace(made, records=(record("x", 1.0),)))
    write_report(others, {}, tmp_path)
    assert {"gendered_pair_entropy[en] records", "gendered_pair_entropy[en] scores"} <= set(
        failing(tmp_path)
    )


def test_no_report_is_an_error(tmp_path):
    with pytest.raises(ReportError, match="no report at"):
        verify(tmp_path)
    (tmp_path / REPORT).write_text("{}", encoding="utf-8")
    with pytest.raises(ReportError, match="schema None"):
        verify(tmp_path)


@pytest.mark.nightly
@pytest.mark.cold
def test_verifying_imports_no_torch(measured):
    import subprocess
    import sys

    code = (
        "import sys, pathlib; from pytest_bias.evidence.report import verify\n"
        f"checks = verify(pathlib.Path({str(measured)!r}))\n"
        "print(len(checks) > 5, {'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True set()\n"
