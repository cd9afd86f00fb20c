"""Files are written whole or not at all, and read by the schema and the types that they state."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_bias.errors import ReportError
from pytest_bias.records.documents import read_document, to_document, write_whole
from pytest_bias.records.validation import built


@dataclass(frozen=True)
class Part:
    name: str
    ends: tuple[float | None, float | None] | None = None


@dataclass(frozen=True)
class Whole:
    level: Literal["one", "two"]
    part: Part
    parts: tuple[Part, ...] = ()
    by: Mapping[str, Part] = field(default_factory=dict)
    other: Part | None = None
    anything: Any = None


WHOLE = Whole("one", Part("a"), (Part("b", (0, None)),), {"c": Part("c")}, Part("d"), [1, [2]])


# Writing


@pytest.mark.parametrize("content", ["é\r\n\n", "é\r\n\n".encode()])
def test_the_content_is_there_to_the_byte_and_nothing_else(content, tmp_path: Path):
    path = tmp_path / "file"
    for before in (None, b"before"):
        if before:
            path.write_bytes(before)
        write_whole(path, content)
        assert path.read_bytes() == b"\xc3\xa9\r\n\n"
        assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_private_file_is_for_its_owner_alone(tmp_path: Path):
    (tmp_path / "secret").write_text("before", encoding="utf-8")
    for name in ("secret", "open"):
        write_whole(tmp_path / name, "x", private=name == "secret")
    modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
    umask = os.umask(0)
    os.umask(umask)
    assert modes == {"secret": 0o600, "open": 0o666 & ~umask}


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path):
    (tmp_path / "folder" / "below").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "folder", "x")
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no" / "file", "x")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "file", "\ud800")
    assert [p.name for p in tmp_path.rglob("*")] == ["folder", "below"]


# Reading


def test_a_document_is_read_as_it_was_written():
    text = to_document({"schema": "s/1", **asdict(WHOLE)})
    assert text.endswith("\n}\n")
    assert read_document(text, "s/1", Whole) == WHOLE
    assert read_document(text.replace('"level"', '"later": 1, "level"'), "s/1", Whole) == WHOLE


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{", "", "not a whole: "),
        ("s/1", "s/2", "it has the schema 's/2': this version of pytest-bias reads 's/1'"),
        ('"a"', "NaN", "not a whole: NaN is not a number"),
        ('"level": "one"', '"level": "three"', "not a whole whole: TypeError"),
        ('"level": "one",', "", "not a whole whole: TypeError"),
        ('"part": {\n  "name": "a",\n  "ends": null\n }', '"part": "a"', "not a whole whole"),
        ('"name": "c"', '"name": 3', "not a whole whole: TypeError"),
        ("[\n    0,\n    null\n   ]", "[0]", "not a whole whole: TypeError"),
        ("[\n    0,\n    null\n   ]", '"01"', "not a whole whole: TypeError"),
    ],
)
def test_what_is_no_document_is_refused(old: str, new: str, words: str):
    text = to_document({"schema": "s/1", **asdict(WHOLE)})
    assert old in text
    with pytest.raises(ReportError, match=re.escape(words)):
        read_document(text.replace(old, new, 1), "s/1", Whole)


def test_keys_of_a_later_version_are_an_error_where_that_is_asked_for():
    plain = json.loads(to_document(asdict(WHOLE)))
    assert built(Whole, plain, strict=True) == WHOLE
    for changed in ({**plain, "more": 1}, {**plain, "other": {"name": "d", "more": 1}}):
        assert built(Whole, changed) == WHOLE
        with pytest.raises(TypeError, match="more"):
            built(Whole, changed, strict=True)


def test_no_document_holds_what_is_no_number():
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_document({"value": float("nan")})
