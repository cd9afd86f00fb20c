"""Rows by the library `datasets`: as they are written, in their order, whatever the format."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pytest_bias.data import tables
from pytest_bias.data.hub_splits import HubSplit, cached, rows_of
from pytest_bias.data.sources import DataFile, DataFolder, FoundFile, cache_folder
from pytest_bias.data.user_tables import NESTED, RowSource, cell, read_rows
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.records.report import sha256

COMMIT = "6" * 40
SPLIT = HubSplit("org/name", COMMIT, "test", "en")


def by_datasets(folder: Path, kind: str, path: Path, **more: Any) -> list[dict[str, Any]]:
    """Return the rows of a local file by the library, as they come from the Hub."""
    from datasets import load_dataset_builder

    own = folder / f"prepared-{path.name}"
    files = {"train": str(path), "test": str(path)}
    builder = load_dataset_builder(kind, data_files=files, cache_dir=str(own), **more)
    rows = rows_of(builder, "test", own)
    assert list(builder.config.data_files) == ["test"], "no other split is prepared"
    json.dumps(rows, allow_nan=False)
    return rows


def texts(rows: Sequence[dict[str, Any]]) -> list[dict[str, str | None]]:
    """Return what a suite makes of rows."""
    return [{c: "nested" if isinstance(v, NESTED) else cell(v) for c, v in r.items()} for r in rows]


def csv(folder: Path) -> Path:
    path = folder / "a.csv"
    path.write_bytes(
        b"\xef\xbb\xbf"
        b"id,text,flag,number,missing\r\n"
        b'01,"a, b\nc ""q""",True,1.0,\r\n'
        b"\r\n"
        b"02,NA,False,2.50,NaN\r\n"
        b',"None",TRUE,12345678901234567890,null\r\n'
    )
    return path


def json_lines(folder: Path) -> Path:
    path = folder / "a.jsonl"
    rows = [
        {"day": "2024-01-01", "id": "01", "number": 1, "text": "é\u2028x", "part": [1], "kind": 1},
        {"day": "2024-01-02", "id": "NA", "number": 2.5, "text": None, "part": [], "kind": "a"},
        {"day": "2024-01-03", "id": "", "number": 0.1, "text": "true", "part": [2], "kind": "1.0"},
        {
            "day": "2024-01-04",
            "id": "1",
            "number": 2**65 + 1,
            "part": [2],
            "kind": 3.141592653589793,
        },
    ]
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("\n\n".join(lines), encoding="utf-8")
    return path


def json_list(folder: Path) -> Path:
    path = folder / "a.json"
    rows = [json.loads(line) for line in json_lines(folder).read_text("utf-8").split("\n\n")]
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return path


def parquet(folder: Path) -> Path:
    path = folder / "a.parquet"
    table = {
        "text": ["01", None],
        "number": [1, 2],
        "share": pa.array([0.1, float("nan")], pa.float32()),
        "day": pa.array([0, None], pa.timestamp("s")),
        "part": [["a"], []],
        "image": [{"bytes": b"\x89PNG", "path": None}, None],
    }
    pq.write_table(pa.table(table), path)
    return path


@pytest.mark.parametrize(
    ("kind", "make", "read"),
    [
        ("csv", csv, tables.read_csv),
        ("json", json_lines, tables.read_json_lines),
        ("json", json_list, tables.read_json),
        ("parquet", parquet, tables.read_parquet),
    ],
    ids=["csv", "jsonl", "json", "parquet"],
)
def test_rows_are_those_that_our_own_tables_read(
    tmp_path: Path, kind: str, make: Callable[[Path], Path], read: Any
) -> None:
    path = make(tmp_path)
    ours = [row.cells for row in read(FoundFile(str(path), path.read_bytes(), "", True), ())]
    assert texts(by_datasets(tmp_path, kind, path)) == texts(ours)


def test_a_label_that_turns_into_a_text_late_is_read_as_written(tmp_path: Path) -> None:
    # The library guesses types ten thousand lines at a time.
    path = tmp_path / "long.csv"
    labels = [f"{n:05d}" for n in range(12_000)] + ["NA"]
    path.write_text("label\n" + "\n".join(labels) + "\n", encoding="utf-8")
    assert [row["label"] for row in by_datasets(tmp_path, "csv", path)] == labels


def test_class_labels_are_names_and_other_cells_as_written(tmp_path: Path) -> None:
    from datasets import ClassLabel, Features, Value

    path = tmp_path / "b.csv"
    path.write_text("label,number\n1,007\nno,8\n,9\n-1,NA\n", encoding="utf-8")
    stated = Features({"label": ClassLabel(names=["no", "yes"]), "number": Value("int64")})
    rows = by_datasets(tmp_path, "csv", path, features=stated)
    expected = [("yes", "007"), ("no", "8"), ("", "9"), (None, "NA")]
    assert [(r["label"], r["number"]) for r in rows] == expected
    lines = tmp_path / "b.jsonl"
    lines.write_text('{"label": 1, "number": "007"}\n{"label": null}\n', encoding="utf-8")
    found = by_datasets(tmp_path, "json", lines, features=stated)
    assert found == [{"label": "yes", "number": "007"}, {"label": None}]
    lines.write_text('{"label": "maybe"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="maybe"):
        by_datasets(tmp_path, "json", lines, features=stated)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "names one of its keys twice: a"),
        ("[1]", "no JSON object"),
        ("{", "Expecting"),
    ],
)
def test_what_is_no_row_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        by_datasets(tmp_path, "json", path)


def test_rows_that_are_longer_than_the_header_are_no_index(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("a,b\n1,2,\n3,4,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="more cells than the header"):
        by_datasets(tmp_path, "csv", path)


def test_a_short_row_has_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("a,b\n1,2\n3\n", encoding="utf-8")
    assert texts(by_datasets(tmp_path, "csv", path))[1] == {"a": "3", "b": None}


def kept(rows: str, split: HubSplit = SPLIT) -> Path:
    """Put rows where a fetch puts them."""
    from pytest_bias.data import hub_splits

    place = hub_splits._place(split, cache_folder())
    place.mkdir(parents=True)
    (place / sha256(rows)).write_text(rows, encoding="utf-8")
    return place / sha256(rows)


ROWS = "".join(f'{{"n":{n},"text":"{n}"}}\n' for n in range(5))


def source(*part: int | None) -> RowSource:
    return RowSource("rows", hub=SPLIT, part=part or (None, None))  # type: ignore[arg-type]


def test_kept_rows_serve_offline_and_damaged_ones_do_not() -> None:
    file = source().file
    assert isinstance(file, DataFile)
    folder = DataFolder(offline=True)
    assert folder.state(file) == "missing"
    path = kept(ROWS)
    assert folder.state(file) == "cached"
    found, rows = read_rows(source(), ["text"], folder)
    assert found.sha256 == sha256(ROWS)
    assert [row.cells["text"] for row in rows] == list("01234")
    for other in (
        HubSplit("org/name", "7" * 40, "test", "en"),
        HubSplit("org/name", COMMIT, "test"),
        HubSplit("org/name", COMMIT, "train", "en"),
        HubSplit("org/other", COMMIT, "test", "en"),
    ):
        assert cached(other, cache_folder()) is None, "rows of something else are no substitute"
    path.write_text(ROWS[:-10], encoding="utf-8")
    assert folder.state(file) == "damaged"
    with pytest.raises(DataMissing, match="where a damaged copy stands, and this run is offline"):
        folder.find(file)


@pytest.mark.parametrize(
    ("part", "numbers"),
    [
        ((0, 2), [0, 1]),
        ((None, 2), [0, 1]),
        ((3, None), [3, 4]),
        ((-2, None), [3, 4]),
        ((1, -1), [1, 2, 3]),
    ],
)
def test_some_rows_keep_the_numbers_that_they_have_in_the_split(
    part: tuple[int | None, int | None], numbers: list[int]
) -> None:
    kept(ROWS)
    _, rows = read_rows(source(*part), ["n"], DataFolder(offline=True))
    assert [(row.number, row.cells["n"]) for row in rows] == [(n, n) for n in numbers]


def test_rows_that_are_not_there_are_no_rows() -> None:
    kept(ROWS)
    with pytest.raises(DataError, match=r"test\.jsonl has 5 rows, so that 6 is none of them"):
        read_rows(source(None, 6), ["n"], DataFolder(offline=True))


def test_a_copy_of_ones_own_comes_first(tmp_path: Path) -> None:
    kept(ROWS)
    own = tmp_path / "org" / "name" / "en" / "test.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text('{"text": "mine"}\n', encoding="utf-8")
    found, (row,) = read_rows(source(), ["text"], DataFolder(tmp_path, offline=True))
    assert (row.cells["text"], found.local) == ("mine", True)


def test_a_commit_is_a_whole_hash() -> None:
    with pytest.raises(ValueError, match="revision 'main' is no whole hash of a commit"):
        HubSplit("org/name", "main", "test")
