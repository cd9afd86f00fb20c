"""What is written when a report is published, in which order, and what is told before."""

from dataclasses import replace
from pathlib import Path

import pytest

from made import report
from publications import source_of
from pytest_bias.emit.card.readme import results_of
from pytest_bias.errors import OutputError
from pytest_bias.evidence import publishing
from pytest_bias.evidence.publishing import Change, Prepared, prepare, write
from pytest_bias.reports.folder import REPORT
from pytest_bias.reports.publication_layout import BADGES, BIAS, CURRENT, README
from pytest_bias.settings.settings import Settings

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


@pytest.mark.parametrize("keeps", [False, True])
def test_what_is_measured_no_longer_is_withdrawn_or_kept_with_its_report(
    repository, made, tmp_path, keeps
):
    """And `verify` looks at every result of ours, of whichever report it is."""
    alone = [s for s in made.suites if s.kind == "structure"]
    now = replace(made, suites=tuple(alone), settings={**made.settings, "requested": ["structure"]})
    source = source_of(now, tmp_path / "now")
    publication = repository.publication()
    write(prepare(source, publication, Settings(), repository.trust, keeps=keeps), repository.root)
    card = repository.root / README
    results = results_of(card.read_bytes())
    assert repository.failing() == {}
    if not keeps:
        assert results == []
        return
    (result,) = results
    assert result["dataset"]["args"]["report"] == made.digest
    assert result["dataset"]["args"]["date"] == made.run["created"][:10]
    told = next(c.detail for c in repository.verify().checks if c.what == "model card")
    assert "1 results are of earlier reports" in told
    # A value that this report did not give is found, and so is one of a report that is not there.
    value = f"value: {result['metrics'][0]['value']}"
    for before, after in ((value, "value: 0.0"), (made.digest, f"sha256:{'0' * 64}")):
        text = card.read_text(encoding="utf-8")
        assert before in text
        card.write_text(text.replace(before, after), encoding="utf-8")
        assert "other scores of 'template_association-en'" in str(repository.failing())
        card.write_text(text, encoding="utf-8")
