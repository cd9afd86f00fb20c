"""Reports that are none, or not what they say: one clear message, the exit code, no traceback."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from commands import Command, finish, read, start, suite
from made import report, result
from pytest_bias.records.report import (
    DataInfo,
    Record,
    Report,
    SuiteResult,
    digest_of,
    records_digest,
)
from pytest_bias.reports.folder import write_report
from pytest_bias.suites import find
from pytest_bias.suites.results import scored

ENTRY = "template_association[en]"
RECORDS = f"records/{ENTRY}.parquet"
HUGE = 10**400
Edit = Callable[[Path], object]


def text_of(change: Callable[[str], str]) -> Edit:
    """Edit report.json as a text."""

    def edit(folder: Path) -> None:
        path = folder / "report.json"
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    return edit


def resealed(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Edit report.json and give it the digest of what it says now."""

    def edit(folder: Path) -> None:
        plain = read(folder / "report.json")
        change(plain)
        plain["digest"] = digest_of({k: v for k, v in plain.items() if k not in ("digest", "run")})
        (folder / "report.json").write_text(json.dumps(plain), encoding="utf-8")

    return edit


def first_score(**values: Any) -> Edit:
    return resealed(lambda plain: suite(plain, "template_association")["scores"][0].update(values))


def first_record(**values: Any) -> Edit:
    """Edit the first of the records, as a program would that knows their form."""

    def edit(folder: Path) -> None:
        table = pq.read_table(folder / RECORDS)
        rows = table.to_pylist()
        rows[0].update(values)
        pq.write_table(type(table).from_pylist(rows, schema=table.schema), folder / RECORDS)

    return edit


def half_of_the_records(folder: Path) -> None:
    path = folder / RECORDS
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def records_of_another_suite(folder: Path) -> None:
    shutil.copy(folder / "records" / "structure[all].parquet", folder / RECORDS)


@dataclass(frozen=True)
class Bad:
    """An edit, what every command that reads the report says, and the exit code of `verify`."""

    edit: Edit
    words: str
    verify: int = 3


NOT_ITS_RECORDS = f"{RECORDS} does not hold the records that the report was made from"
NO_RECORDS = f"{RECORDS} holds no records: "
CASES = {
    "of the next schema": Bad(
        text_of(lambda t: t.replace("pytest-bias/report/1", "pytest-bias/report/2")),
        "schema 'pytest-bias/report/2': this version of pytest-bias reads 'pytest-bias/report/1'",
    ),
    "of another tool": Bad(
        text_of(lambda t: json.dumps({"results": {"crows_pairs": {"acc": 0.6}}, "config": {}})),
        "schema None: this version of pytest-bias reads",
    ),
    "no JSON": Bad(text_of(lambda t: "metric,value\n"), "not a report: Expecting value"),
    "truncated": Bad(text_of(lambda t: t[: len(t) // 2]), "not a report: "),
    "nested without end": Bad(text_of(lambda t: "[" * 100_000), "not a report: maximum recursion"),
    "edited by hand": Bad(
        text_of(lambda t: t.replace('"value": 0.', '"value": 0.0', 1)),
        "the report was changed after it was written: its digest does not match",
        verify=1,
    ),
    "NaN": Bad(
        text_of(lambda t: t.replace('"level": 0.95', '"level": NaN', 1)),
        "not a report: NaN is not a number",
    ),
    "infinite": Bad(
        text_of(lambda t: t.replace('"level": 0.95', '"level": 1e999', 1)),
        "not a report: 1e999 is too large for a number",
    ),
    "infinite cost": Bad(
        text_of(lambda t: t.replace('"wall_s": ', '"wall_s": 1e999, "was": ', 1)),
        "not a report: 1e999 is too large for a number",
    ),
    "more digits than Python reads": Bad(
        text_of(lambda t: t.replace('"parameters": ', f'"parameters": {"9" * 5000}', 1)),
        "not a report: Exceeds the limit (4300 digits)",
    ),
    "a value beyond floats": Bad(
        first_score(value=HUGE), "not a whole report: TypeError('value is 1000"
    ),
    "a count beyond floats": Bad(first_score(n=HUGE), "not a whole report: TypeError('n is 1000"),
    "truncated records": Bad(half_of_the_records, NO_RECORDS + "ArrowInvalid", verify=1),
    "records of another suite": Bad(records_of_another_suite, NOT_ITS_RECORDS, verify=1),
    "records of a model that was better": Bad(first_record(value=0.0), NOT_ITS_RECORDS, verify=1),
    "a record that is NaN": Bad(
        first_record(value=math.nan), NO_RECORDS + "TypeError('value is nan')", verify=1
    ),
    "a record that is infinite": Bad(
        first_record(value=-math.inf), NO_RECORDS + "TypeError('value is -inf')", verify=1
    ),
    "a detail that is NaN": Bad(
        first_record(detail='{"log_p_male": NaN}'), NO_RECORDS + "ValueError", verify=1
    ),
    "a detail beyond floats": Bad(
        first_record(detail=json.dumps({"log_p_male": HUGE})), NO_RECORDS + "TypeError", verify=1
    ),
    "details that are a list": Bad(
        first_record(detail="[1]"), NO_RECORDS + "TypeError('detail is [1]')", verify=1
    ),
    "a record of nothing": Bad(first_record(item=None), NO_RECORDS + "TypeError", verify=1),
    "a status that is none": Bad(
        first_record(status="fine"), NO_RECORDS + "TypeError(\"status is 'fine'\")", verify=1
    ),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with nothing wrong."""
    folder = tmp_path_factory.mktemp("good")
    words = ("run", "demo", "--suite", "template_association", "--out", "out")
    finish(start(*words, folder=folder), folder).done(0)
    return folder / "out"


@pytest.mark.by_day(
    *("of the next schema", "truncated", "edited by hand", "NaN", "truncated records"),
    *("a detail beyond floats", "a record of nothing", "more digits than Python reads"),
)
@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_with_a_report_is_said_once(
    name: str, good: Path, bias: Command, tmp_path: Path
) -> None:
    bad = CASES[name]
    shutil.copytree(good, tmp_path / "bad")
    bad.edit(tmp_path / "bad")
    for words in (
        ("compare", "bad", good),
        ("compare", good, "bad"),
        ("render", "bad", "--to", "html", "--out", "page"),
    ):
        ran = bias(*words).refused(3, bad.words)
        assert ran.err.count("error: ") == 1
        assert ran.out == ""
    assert not (tmp_path / "page").exists()
    said = bias("verify", "bad").done(bad.verify).said
    assert "unexpected" not in said
    if bad.verify == 1:
        assert "fails" in said


def test_a_bad_baseline_is_named_before_the_model_is_loaded(
    good: Path, bias: Command, tmp_path: Path
) -> None:
    for name in ("of the next schema", "a record that is NaN", "records of another suite"):
        folder = tmp_path / name.replace(" ", "-")
        shutil.copytree(good, folder)
        CASES[name].edit(folder)
        words = ("--suite", "template_association", "--baseline", folder.name, "--out", "out")
        ran = bias("run", "demo", *words).refused(3, f"the baseline {folder.name}: ")
        assert CASES[name].words.removeprefix(RECORDS) in ran.said
        assert "Loading" not in ran.out


def pairs(n: int, kind: str, step: int, first: int = 0) -> list[Record]:
    """Return scored pairs of one type, every other one for the stereotype."""
    return [
        Record(
            f"crows/{kind}/{i:04d}",
            f"crows/{kind}/{i:04d}",
            "scored",
            100.0 * ((i + step) % 2),
            {"bias_type": kind, "direction": "stereo"},
            {"more": -4.0 + i % 3, "less": -4.0 + step, "tokens_more": 4, "tokens_less": 4},
        )
        for i in range(first, first + n)
    ]


def with_few(step: int) -> Report:
    """Return a report with forty pairs of one type, one of another, none that could be scored."""
    none = Record(
        "crows/age/0000",
        "crows/age/0000",
        "unscored",
        None,
        {"bias_type": "age", "direction": "stereo"},
        reason="empty sentence",
    )
    records = (*pairs(40, "gender", step), *pairs(1, "religion", step), none)
    crows = find("crows_pairs")
    empty = SuiteResult(
        "crows_pairs",
        "en",
        crows.version,
        crows.kind,
        "scored",
        title=crows.title,
        language="en",
        validity=crows.validity,
        measure="log-likelihood of the sentence",
        adapted=True,
        data=DataInfo("made", "CC0"),
        records=records,
        records_sha256=records_digest(records),
    )
    return report(scored(empty, crows, seed=0))


def test_groups_of_no_and_of_one_item_are_compared_and_drawn(bias: Command, tmp_path: Path) -> None:
    for name, step in (("now", 1), ("before", 0)):
        write_report(with_few(step), {}, tmp_path / name)
    scores = {
        (s["metric"], s["by"].get("bias_type")): s
        for s in suite(read(tmp_path / "now" / "report.json"), "crows_pairs")["scores"]
    }
    for metric in ("stereotype_preference", "log_odds_per_token"):
        nothing = scores[metric, "age"]
        assert (nothing["value"], nothing["n"], nothing["n_unscored"]) == (None, 0, 1)
        assert nothing["note"] == nothing["interval_reason"] == "nothing was scored"
    alone = scores["log_odds_per_token", "religion"]
    assert (alone["n"], alone["interval"], alone["interval_reason"]) == (
        1,
        None,
        "all values are equal",
    )
    ran = bias("compare", "now", "before").done(0)
    assert "age" not in ran.out
    for to, file in (
        ("html", "report.html"),
        ("summary", "summary.md"),
        ("badges", "badges"),
        ("card", "card.md"),
    ):
        bias("render", "now", "--to", to, "--out", "out").done(0)
        assert (tmp_path / "out" / file).exists()
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "nothing was scored" in page
    assert "all values are equal" in page
    assert "nan" not in page.lower().split()


def test_only_groups_without_items_leave_nothing_to_compare(bias: Command, tmp_path: Path) -> None:
    empty = result(status="inconclusive", reason="no item is left", scores=(), records=())
    for name in ("now", "before"):
        write_report(report(empty), {}, tmp_path / name)
    bias("compare", "now", "before").done(3)
    bias("render", "now", "--to", "html", "--out", "out").done(0)
    assert "no item is left" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("limit", "code", "words"),
    [
        ("template_asociation.association", 2, "Did you mean 'template_association'?"),
        ("template_association.asociation", 2, "Did you mean 'association'?"),
        ("template_association[eng].association", 2, "Did you mean 'en'?"),
        (
            "template_association.association[axis=relgion]",
            3,
            "no score 'association' by axis=relgion (did you mean axis=religion?); it has "
            "axis=age; axis=disability; axis=gender; axis=gender_traits; axis=nationality",
        ),
        (
            "template_association.association[group=muslim]",
            2,
            "association by 'group' is not known. Known: axis, axis and group",
        ),
    ],
)
def test_a_limit_on_what_is_not_there(
    limit: str, code: int, words: str, bias: Command, tmp_path: Path
) -> None:
    text = f'limits:\n  "{limit}": {{max_distance: 5}}\n'
    (tmp_path / "pytest-bias.yaml").write_text(text, encoding="utf-8")
    ran = bias("run", "demo", "--suite", "template_association", "--out", "out").done(code)
    assert words in ran.said
    if code == 2:
        assert not (tmp_path / "out").exists()
    else:
        (outcome,) = read(tmp_path / "out" / "decision.json")["outcomes"]
        assert outcome["verdict"] == "not_measured"
        assert words in outcome["reason"]
