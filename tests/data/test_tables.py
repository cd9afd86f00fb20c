"""Tables of every shape by one rule: what is malformed says so, what is missing is no value."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pytest_bias.data.sources import DataFolder, FoundFile
from pytest_bias.data.tables import csv_rows, json_lines, lines_of, parquet_rows
from pytest_bias.data.user_tables import OwnRow, RowSource, cell, not_there, read_rows, same
from pytest_bias.errors import DataError
from pytest_bias.forms.yaml_with_lines import read_marked

COLUMNS = ("a", "b", "group")
IN_TEXTS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What `str.splitlines` takes for the end of a line, besides carriage return and line feed."""


def found(content: str, name: str = "t.csv") -> FoundFile:
    return FoundFile(name, content.encode(), "", local=True)


def rows(folder: Path, content: str, name: str = "t.csv") -> list[OwnRow]:
    (folder / name).write_text(content, encoding="utf-8", newline="")
    source = RowSource("mine", Path(name), folder)
    return read_rows(source, COLUMNS, DataFolder(), optional=("group",))[1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("My aunt left, quickly,My uncle left, quickly,x", "line 3 has 5 cells, and the header 3"),
        ("My aunt left,My uncle left", "line 3 has 2 cells, and the header 3"),
        ("alone", "line 3 has 1 cell, and the header 3"),
        ("a,b,group", "line 3 is the header once more"),
    ],
)
def test_a_row_with_other_cells_than_the_header_is_named_with_its_line(
    tmp_path: Path, line: str, problem: str
) -> None:
    for ending in ("\n", "\r\n"):
        text = ending.join(["a,b,group", '"She, too",He,x', line, "Anna,Otto,y", ""])
        made = rows(tmp_path, text)
        assert [row.problem for row in made] == [None, problem, None]
        assert made[2].cells == {"a": "Anna", "b": "Otto", "group": "y"}
        tabs = rows(tmp_path, text.replace('"She, too"', "She").replace(",", "\t"), "t.tsv")
        assert [row.problem for row in tabs] == [None, problem, None]
        # Of a known file a suite says what a cell that is not there means.
        if problem.startswith(("line 3 has 2", "line 3 has 1")):
            assert csv_rows(found(text), COLUMNS)[1]["group"] is None
        else:
            with pytest.raises(DataError, match=f"t.csv, {problem}"):
                csv_rows(found(text), COLUMNS)


def test_a_row_is_named_by_the_line_where_it_begins(tmp_path: Path) -> None:
    made = rows(tmp_path, 'a,b,group\n"one\ntwo",b,x\n\n   \nshort,b\n')
    assert [row.problem for row in made] == [None, "line 6 has 2 cells, and the header 3"]


def test_a_column_stands_there_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has the column b 2 times"):
        rows(tmp_path, "a,b,group,b\n1,2,x,3\n")
    with pytest.raises(DataError, match="it has a, b"):
        rows(tmp_path, "a,b\n1,2\n")
    # What nobody names, spreadsheets write more than once.
    assert rows(tmp_path, "a,b,group,,\n1,2,x,,\n")[0].problem is None
    table = pa.Table.from_arrays([pa.array(["1"])] * 4, names=[*COLUMNS, "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError, match="has the column a 2 times"):
        read_rows(RowSource("mine", Path("t.parquet"), tmp_path), COLUMNS, DataFolder())


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ('{"a": "1", "b": "2", "a": "3", "group": "x"}', "names a more than once"),
        ('{"a": "1", "group": "x"}', "has no b; it has a, group"),
        ('{"a": "1", "b": ["2"], "group": "x"}', "has no text in b"),
        ('{"a": "1", "b": "2"}', None),
    ],
)
def test_an_object_of_json_is_held_to_the_same_rule(
    tmp_path: Path, row: str, problem: str | None
) -> None:
    good = '{"a": "Anna", "b": "Otto", "group": "y"}'
    listed = rows(tmp_path, f"[{good}, {row}]", "t.json")
    lines = rows(tmp_path, f"{good}\n{row}\n", "t.jsonl")
    for made in (listed, lines):
        assert made[0].problem is None
        said = made[1].problem
        assert said is problem is None or (problem and said and said.endswith(problem)), said


def test_a_file_that_is_known_is_no_table_if_one_row_is_malformed() -> None:
    text = '{"a": 1, "b": 2}\n{"a": 1}\n'
    with pytest.raises(DataError, match=r"t\.jsonl, line 2, has no b; it has a"):
        json_lines(found(text, "t.jsonl"), ("a", "b"))
    with pytest.raises(DataError, match="no Parquet file"):
        parquet_rows(found("x", "t.parquet"), ("a",))


def test_missing_is_no_value_in_every_shape(tmp_path: Path) -> None:
    as_json = '{"a": "1", "b": NaN, "group": null}\n{"a": "1", "b": "", "group": " "}\n'
    table = pa.table({"a": ["1"] * 2, "b": [float("nan"), None], "group": [None, " "]})
    pq.write_table(table, tmp_path / "t.parquet")
    parquet = read_rows(RowSource("m", Path("t.parquet"), tmp_path), COLUMNS, DataFolder())[1]
    listed = f"[{', '.join(as_json.split(chr(10))[:2])}]"
    for made in (
        rows(tmp_path, as_json, "t.jsonl"),
        rows(tmp_path, listed, "t.json"),
        rows(tmp_path, "a,b,group\n1,,\n1,  , \n"),
        parquet,
    ):
        assert [(cell(r.cells["b"]), cell(r.cells["group"])) for r in made] == [(None, None)] * 2
        assert [r.problem for r in made] == [None, None]


def test_values_that_programs_write_in_several_ways_are_one() -> None:
    assert {same(v) for v in ("True", "TRUE", "true", cell(True) or "")} == {"true"}
    assert {same(v) for v in ("1", "1.0", "1.00", cell(1.0) or "", cell(1) or "")} == {"1"}
    # Nothing else is guessed.
    assert len({same(v) for v in ("1", "true", "yes", "Yes", "1.5", "-1", "-1.", "v1.0")}) == 7


def test_values_that_are_not_there_are_said_with_those_that_are() -> None:
    assert not_there(["0", "1.0"], ["1"], "label", "positive") is None
    said = not_there(["0", "1", "0"], ["hateful"], "label", "positive")
    wanted = "the column label has none of what positive lists (hateful); it has 0 (2), 1 (1)."
    assert said == wanted


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    text = f"one{IN_TEXTS}two"
    assert lines_of(f"{text}\r\nthree\n\nfour") == [text, "three", "", "four"]
    (tmp_path / "t.txt").write_text(f"{text}\nthree\r\n", encoding="utf-8", newline="")
    source = RowSource("mine", Path("t.txt"), tmp_path)
    _, made = read_rows(source, ("text",), DataFolder())
    assert [row.cells["text"] for row in made] == [text, "three"]
    raw = text.replace("\x0b", "").replace("\x0c", "")
    for letter in "\x1c\x1d\x1e":
        raw = raw.replace(letter, "")
    (line,) = rows(tmp_path, f'{{"a": "{raw}", "b": "x", "group": "y"}}\n', "t.jsonl")
    assert line.cells["a"] == raw
    (line,) = rows(tmp_path, f"a,b,group\n{text},x,y\n")
    assert line.cells["a"] == text


def test_what_unicode_calls_the_end_of_a_line_stays_in_a_text_of_yaml() -> None:
    said = "one\x85two\u2028three\u2029four"
    marked = read_marked(f'a: "{said}"\nb: {said}\n', "it")
    assert marked.value == {"a": said, "b": said}
    assert marked.lines["b",] == 2
