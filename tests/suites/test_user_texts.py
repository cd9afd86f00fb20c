"""Texts of the user's own: what the settings may say of them, and what is read."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing, UnknownName, UsageError
from pytest_bias.settings.settings import Settings, from_json, read_settings, to_json
from pytest_bias.suites.user_texts import OwnText, describe_texts, load_texts, sources_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def settings(folder: Path, yaml: str) -> Settings:
    (folder / "pytest-bias.yaml").write_text(yaml, encoding="utf-8")
    return read_settings({}, environment={}, folder=folder)


def data(folder: Path, source: str) -> DataFolder:
    found = settings(folder, f"texts: {{suite: {{mine: {source}}}}}")
    return DataFolder(offline=True, texts=found.texts).of("suite")


def rows(folder: Path, source: str) -> list[tuple[Any, ...]]:
    (found,) = load_texts(data(folder, source))
    return [tuple(row) for row in found.rows]


def test_a_path_alone_is_a_source_and_begins_at_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("One.\n\n  Two. \r\nThree.", encoding="utf-8")
    expected = [("One.", None, 0), ("Two.", None, 2), ("Three.", None, 3)]
    assert rows(tmp_path, "texts.txt") == expected
    assert rows(tmp_path, "{path: texts.txt}") == expected


def test_a_text_file_can_be_paragraphs_or_one_text(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("One\ngoes on.\n\nTwo.\n", encoding="utf-8")
    paragraphs = [("One\ngoes on.", None, 0), ("Two.", None, 1)]
    assert rows(tmp_path, "{path: texts.txt, each: paragraph}") == paragraphs
    assert rows(tmp_path, "{path: texts.txt, each: file}") == [("One\ngoes on.\n\nTwo.", None, 0)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'body,queue\n"One, two",a\nThree,b\n,c\n'),
        ("t.tsv", "body\tqueue\nOne, two\ta\nThree\tb\n\tc\n"),
        (
            "t.jsonl",
            '{"body": "One, two", "queue": "a"}\n{"body": "Three", "queue": "b"}\n'
            '{"body": null, "queue": "c"}\n',
        ),
        ("t.parquet", ""),
    ],
)
def test_a_table_has_columns_and_an_empty_cell_is_an_empty_text(
    tmp_path: Path, name: str, content: str
) -> None:
    if content:
        (tmp_path / name).write_text(content, encoding="utf-8")
    else:
        table = {"body": ["One, two", "Three", None], "queue": ["a", "b", "c"]}
        pq.write_table(pa.table(table), tmp_path / name)
    found = rows(tmp_path, f"{{path: {name}, text: body, label: queue}}")
    assert found == [("One, two", "a", 0), ("Three", "b", 1), ("", "c", 2)]
    assert all(isinstance(OwnText(*row), OwnText) for row in found)


def test_settings_travel_to_other_processes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    found = settings(tmp_path, "texts: {s: {a: {path: a.txt, in_domain: true, protect: [x]}}}")
    there = from_json(to_json(found))
    assert there.texts == found.texts
    (source,) = sources_of(DataFolder(texts=there.texts).of("s"))
    assert (source.rows.path, source.in_domain, source.protect) == (
        tmp_path / "a.txt",
        True,
        ("x",),
    )


def test_the_report_has_names_and_digests_and_no_path(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    first = describe_texts(load_texts(data(tmp_path, "a.txt")), 1)
    (tmp_path / "a.txt").write_text("Two.", encoding="utf-8")
    second = describe_texts(load_texts(data(tmp_path, "a.txt")), 1)
    assert first.sha256 != second.sha256
    assert first.local
    assert "mine" in first.source
    assert "a.txt" not in first.source


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("[a]", "texts: must be a table, not a list"),
        ("{s: a.txt}", "texts.s: must be a table, not 'a.txt'"),
        ("{s: {a: [3]}}", "texts.s.a: must be a table, not a list"),
        ("{s: {a: {pth: a.txt}}}", "Did you mean 'path'"),
        ("{s: {a: {path: a.txt, each: word}}}", "each: 'word' is not known"),
        ("{s: {a: {path: a.txt, in_domain: sure}}}", "true or false"),
        ("{s: {a: {path: a.txt, protect: [x, [1]]}}}", "protect[2]: must be a text, not a list"),
        ("{s: {a: {text: body}}}", "needs one of path, dataset; it has none"),
        ("{s: {a: {path: a.txt, dataset: org/name}}}", "it has path and dataset"),
        ("{s: {a: {dataset: org/name, file: a.csv}}}", "lacks revision"),
        ("{s: {a: {path: a.txt, file: a.csv}}}", "lacks dataset, revision"),
        ("{s: {a: {dataset: org/name, file: a.csv, revision: main}}}", "no whole hash"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, texts: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        settings(tmp_path, f"texts: {texts}")
    assert message in str(error.value)
    assert "pytest-bias.yaml, line 1: texts" in str(error.value)


def test_a_file_that_is_not_there_or_empty_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="there is no"):
        rows(tmp_path, "no.txt")
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(DataError, match="holds no text"):
        rows(tmp_path, "empty.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match="not UTF-8"):
        rows(tmp_path, "latin.txt")
    (tmp_path / "t.csv").write_text("body\nOne\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no text; it has body"):
        rows(tmp_path, "t.csv")
    with pytest.raises(DataMissing, match="offline"):
        rows(tmp_path, f"{{dataset: org/name, file: a.csv, revision: {COMMIT}}}")


def test_a_suite_without_texts_says_what_to_write() -> None:
    with pytest.raises(UsageError, match=r"texts: \{suite: \{mine: \{path: texts.txt\}\}\}"):
        load_texts(DataFolder().of("suite"))


def test_texts_for_a_suite_that_is_not_there_or_reads_none(tmp_path: Path) -> None:
    from pytest_bias.engine.planning import describe_for, plan

    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    demo = describe_for(Settings(), "demo")
    with pytest.raises(UnknownName, match=r"pytest-bias.yaml, line 1: suite .* mean .crows_pairs."):
        plan(demo, settings(tmp_path, "texts: {crows_pair: {a: a.txt}}"))
    with pytest.raises(UsageError, match="line 1: texts are named for crows_pairs, which"):
        plan(demo, settings(tmp_path, "texts: {crows_pairs: {a: a.txt}}"))
