"""What is written when a report is published, in which order, and what is told before."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias import publishing
from pytest_bias.claims import BADGES, BIAS, CURRENT, README
from pytest_bias.errors import OutputError
from pytest_bias.folder import REPORT
from pytest_bias.publishing import Change, Prepared, write
from unit.made import report

EVIDENCE = f"{BIAS}/0123456789ab/{REPORT}"
BADGE = f"{BADGES}/seat-en.svg"
PATHS = (README, CURRENT, BADGE, EVIDENCE)


def prepared(*changes: Change) -> Prepared:
    return Prepared(report(), changes, ())


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files, in the order in which they are written."""
    found: list[str] = []
    put = publishing._put

    def noted(path: Path, content: bytes | None) -> None:
        found.append(path.name)
        put(path, content)

    monkeypatch.setattr(publishing, "_put", noted)
    return found


def test_evidence_comes_first_and_what_shows_it_last(tmp_path, written):
    write(prepared(*(Change(path, None, b"new") for path in PATHS)), tmp_path)
    assert written == [REPORT, "seat-en.svg", "current.json", "README.md"]
    assert all((tmp_path / path).read_bytes() == b"new" for path in PATHS)


def test_what_fails_half_way_leaves_no_trace(tmp_path, written):
    (tmp_path / README).mkdir()
    with pytest.raises(OutputError, match="It is as it was"):
        write(prepared(*(Change(path, None, b"new") for path in PATHS)), tmp_path)
    assert written[-3:] == ["current.json", "seat-en.svg", REPORT]
    # Also the folders that were made for the files.
    assert [path.name for path in tmp_path.rglob("*") if path.name != BIAS] == [README]


def test_an_emptied_folder_goes_with_its_last_file(tmp_path):
    made = Change(BADGE, None, b"new")
    write(prepared(made), tmp_path)
    write(prepared(replace(made, before=b"new", after=None)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_home_folder_in_the_report_is_told(tmp_path, monkeypatch):
    (tmp_path / REPORT).write_text('{"model": "/home/somebody/model"}', encoding="utf-8")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/somebody"))
    (told,) = publishing._notices(tmp_path)
    expected = f"{tmp_path / REPORT} mentions /home/somebody, the path of your home folder."
    assert told == expected
    monkeypatch.setattr(Path, "home", lambda: Path("/home/nobody"))
    assert list(publishing._notices(tmp_path)) == []
