"""Files that name the models of a fleet."""

from pathlib import Path

import pytest

from pytest_bias.errors import UsageError
from pytest_bias.fleet.listing import listed


def written(folder: Path, text: str) -> Path:
    path = folder / "models.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_one_a_line(tmp_path: Path) -> None:
    text = "\ufeff# ours\norg/name@v1\n\n  org/other  # of last year\nopenai:http://h:1/v1#name\r\ndemo\n"
    assert listed(written(tmp_path, text)) == (
        *("org/name@v1", "org/other", "openai:http://h:1/v1#name", "demo"),
    )


def test_folders_are_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "demo").mkdir()
    assert listed(written(tmp_path, "./checkpoint\ndemo\n./gone\n")) == (
        *(str(tmp_path / "checkpoint"), "demo", "./gone"),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# nothing\n\n", "names no model"),
        ("org/a\norg/b\norg/a\n", "org/a stands in line 1 and in line 3"),
    ],
)
def test_wrong_files(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        listed(written(tmp_path, text))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"No such file.*\n.*one model a line"):
        listed(tmp_path / "models.txt")


def test_no_text(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\x90\x00\xff")
    with pytest.raises(UsageError, match=r"Not a text file in UTF-8.*\n.*one model a line"):
        listed(tmp_path / "model.bin")
