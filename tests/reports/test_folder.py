"""The output folder: claimed, written, read back; nothing of somebody else's is replaced."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from made import record, report, result, score, unscored
from pytest_bias.errors import OutputError, ReportError
from pytest_bias.records.report import Item, Record, Report, records_digest
from pytest_bias.reports.folder import (
    REPORT,
    UNFINISHED,
    claim,
    default_folder,
    read_records,
    read_report,
    run_key,
    write_report,
)

RECORDS = (
    record("a/1", 0.1 + 0.2, by={"g": "x"}, detail={"more": -1.5, "n": 3, "word": "é\n|"}),
    record("a/2", -0.0, by={"g": "y"}, detail={"more": 1e-300, "n": 2**53 + 1, "word": ""}),
    record("a/3", 100.0, by={"g": "x", "h": "z"}, detail={"essential": True}),
    unscored("a/4", "empty sentence", text_sha256="0" * 64, cluster="a/1"),
    unscored("a/5", "two words", status="excluded", by={"h": "Ü"}),
)
MADE = report(result(scores=[score()], records=RECORDS), result("seat", status="skipped"))
ITEMS = {"crows_pairs[en]": {r.item: Item(r.item, r.item, {"more": "A slur."}) for r in RECORDS}}
PATH = "records/crows_pairs[en].parquet"


def written(folder: Path, made: Report = MADE, **more: Any) -> Path:
    write_report(made, more.pop("files", {}), folder, **more)
    return folder


def test_records_read_back_equal_and_with_the_same_digest(tmp_path):
    back = read_report(written(tmp_path))
    assert back == MADE
    assert back.suites[0].records == RECORDS
    assert records_digest(back.suites[0].records) == MADE.suites[0].records_sha256
    assert str(back.suites[0].records[1].value) == "-0.0"
    assert back.suites[1].records == ()


def test_a_report_can_be_read_by_its_file_as_well(tmp_path):
    assert read_report(written(tmp_path) / REPORT).suites[0].records == RECORDS


@pytest.mark.parametrize(
    "details",
    [
        pytest.param(
            [{"n": 1}, {"n": 0.5}],
            id="int and float",
        ),
        pytest.param(
            [{"n": None}],
            id="null",
        ),
        pytest.param(
            [{"n": 1}, {"n": "one"}],
            id="int and text",
        ),
    ],
)
def test_details_that_the_types_allow_survive(tmp_path, details):
    records = [record(str(i), detail=d) for i, d in enumerate(details)]
    back = read_report(written(tmp_path, report(result(records=records))))
    assert records_digest(back.suites[0].records) == back.suites[0].records_sha256


def test_texts_are_kept_only_when_asked_for(tmp_path):
    without = pq.read_table(written(tmp_path / "a") / PATH)
    assert not [c for c in without.column_names if c.startswith("text.")]
    kept = written(tmp_path / "b", texts=ITEMS)
    assert pq.read_table(kept / PATH)["text.more"].to_pylist() == ["A slur."] * 5
    # The digest of records is that of the outcomes, with texts or without.
    assert read_report(kept).suites[0].records == RECORDS


def test_rows_are_sorted_by_item(tmp_path):
    turned = replace(MADE, suites=(replace(MADE.suites[0], records=RECORDS[::-1]),))
    assert pq.read_table(written(tmp_path, turned) / PATH)["item"].to_pylist() == [
        r.item for r in RECORDS
    ]


def test_files_are_written_below_the_folder_with_plain_line_ends(tmp_path):
    folder = written(tmp_path / "new" / "deep", files={"badges/a.svg": "<svg>é\n</svg>\n"})
    assert (folder / "badges" / "a.svg").read_bytes() == "<svg>é\n</svg>\n".encode()
    assert sorted(p.name for p in folder.iterdir()) == ["badges", "records", REPORT]


def test_a_folder_without_a_report_is_named(tmp_path):
    with pytest.raises(ReportError, match=f"no report at {tmp_path}") as caught:
        read_report(tmp_path)
    assert caught.value.hint == "Give the folder that a run wrote, or its report.json."


def test_a_binary_report_is_named(tmp_path):
    (tmp_path / REPORT).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReportError, match="no report at"):
        read_report(tmp_path)


def test_absent_records_are_empty_and_broken_ones_are_named(tmp_path):
    folder = written(tmp_path)
    (folder / PATH).unlink()
    assert read_report(folder).suites[0].records == ()
    (folder / PATH).write_bytes(b"PAR1 no")
    with pytest.raises(ReportError, match=r"crows_pairs\[en\].parquet holds no records"):
        read_report(folder)


def test_a_parquet_file_of_something_else_is_named(tmp_path):
    import pyarrow as pa

    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(ReportError, match="holds no records: KeyError"):
        read_records(tmp_path / "x.parquet")


def test_records_of_nothing_scored_keep_their_types(tmp_path):
    records = (unscored("a"), unscored("b"))
    back = read_report(written(tmp_path, report(result(records=records))))
    assert back.suites[0].records == records


KEY = run_key({"model": "org/name"})


def claimed(folder: Path, run: dict[str, Any] | None = None) -> Path:
    return written(folder, report(run={"key": KEY} if run is None else run))


def test_an_empty_or_new_folder_is_claimed_and_left_empty(tmp_path):
    claim(tmp_path / "new" / "deep", KEY, fresh=False).close()
    assert list((tmp_path / "new" / "deep").iterdir()) == []


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_is_of_one_run_at_a_time(tmp_path, fresh):
    (tmp_path / UNFINISHED).mkdir()
    first = claim(tmp_path, KEY, fresh=False)
    with pytest.raises(OutputError, match="another run is writing to") as caught:
        claim(tmp_path, "another", fresh=fresh)
    assert "--out" in str(caught.value.hint)
    # What the first one keeps for the next is still there.
    assert (tmp_path / UNFINISHED).is_dir()
    first.close()
    claim(tmp_path, KEY, fresh=False).close()
    assert [p.name for p in tmp_path.iterdir()] == [UNFINISHED]


HOLDS = """import sys, time
from pathlib import Path
from pytest_bias.reports.folder import claim
held = claim(Path(sys.argv[1]), "key", fresh=False)
print("held", flush=True)
time.sleep(60)
"""


@pytest.mark.cold
def test_a_run_that_was_killed_holds_no_folder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDS, tmp_path], stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(OutputError, match="another run is writing to"):
            claim(tmp_path, KEY, fresh=False)
        process.kill()
    claim(tmp_path, KEY, fresh=False).close()
    assert list(tmp_path.iterdir()) == []


def test_a_refused_folder_is_let_go(tmp_path):
    claimed(tmp_path, {"key": "other"})
    for _ in range(2):
        with pytest.raises(OutputError, match="holds a report of something else"):
            claim(tmp_path, KEY, fresh=False)


def test_a_folder_with_other_files_is_claimed(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    claim(tmp_path, KEY, fresh=False)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_same_run_may_use_its_folder_again(tmp_path):
    claim(claimed(tmp_path), KEY, fresh=False)
    assert (tmp_path / REPORT).exists()


@pytest.mark.parametrize("run", [{"key": "other"}, {}], ids=["other key", "no key"])
def test_the_report_of_something_else_is_not_replaced(tmp_path, run):
    before = (claimed(tmp_path, run) / REPORT).read_bytes()
    with pytest.raises(OutputError, match="holds a report of something else") as caught:
        claim(tmp_path, KEY, fresh=False)
    assert caught.value.hint == "--fresh replaces it; --out keeps both."
    assert caught.value.exit_code == 2
    claim(tmp_path, KEY, fresh=True)
    assert (tmp_path / REPORT).read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"schema": "pytest-bias/report/9"}',
        pytest.param(b"\xff\xfe"),
        pytest.param(
            json.dumps({**json.loads(MADE.to_json()), "run": []}).encode(),
            id="run is a list",
        ),
    ],
)
def test_a_file_that_is_no_report_is_not_replaced_either(tmp_path, content):
    (tmp_path / REPORT).write_bytes(content)
    with pytest.raises(OutputError, match="something else"):
        claim(tmp_path, KEY, fresh=False)
    assert (tmp_path / REPORT).read_bytes() == content


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match=f"{folder} cannot be written") as caught:
            claim(folder, KEY, fresh=True)
        assert caught.value.hint == "Give another one with --out."


def test_a_folder_without_permission_is_named(tmp_path, monkeypatch):
    def refuse(**_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, whom no permission stops.
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(OutputError, match="cannot be written: Permission denied"):
        claim(tmp_path, KEY, fresh=False)


def test_a_folder_that_stops_being_writable_is_named(tmp_path):
    (tmp_path / "records").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written: File exists"):
        written(tmp_path)
    assert not (tmp_path / REPORT).exists()


@pytest.mark.parametrize(
    ("model", "start"),
    [
        ("org/name", "org-name-"),
        ("../../etc/passwd", "etc-passwd-"),
        ("a b$(x)`;", "a-b-x-"),
        ("...", "model-"),
        ("é" * 5, "model-"),
        ("x" * 300, "x" * 80 + "-"),
    ],
)
def test_the_default_folder_is_a_plain_name_below_bias_report(model, start):
    folder = default_folder(model, run_key({"seed": 0}))
    assert folder.parent == Path("bias-report")
    assert folder.name == start + run_key({"seed": 0})[:7]


def test_the_key_of_a_run_follows_from_what_it_depends_on():
    assert run_key({"a": 1, "b": 2}) == run_key({"b": 2, "a": 1})
    assert run_key({"a": 1}) != run_key({"a": 2})


def test_a_record_is_read_without_the_empty_columns_of_others(tmp_path):
    written(tmp_path)
    back: tuple[Record, ...] = read_records(tmp_path / PATH)
    assert back[2].detail == {"essential": True}
    assert back[0].by == {"g": "x"}
