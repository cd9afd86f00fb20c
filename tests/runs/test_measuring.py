"""What a notebook needs, from `import pytest_bias` alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

import pytest_bias
from pytest_bias import BiasError, compare, measure, read_report

SEAT = ["seat[en]"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_with_its_records_and_nothing_is_written(here: Path) -> None:
    report = measure("demo", suites=SEAT)
    seat = report.suite("seat")
    assert (seat.status, seat.headline.metric) == ("scored", "mean_absolute_effect")
    assert len(seat.records) == seat.data.n_items
    assert list(here.iterdir()) == []


def test_a_folder_has_what_the_command_writes_and_two_reports_are_compared(here: Path) -> None:
    report = measure("demo", suites=SEAT, out="report")
    assert {"report.json", "report.html", "badges", "records"} <= {
        path.name for path in (here / "report").iterdir()
    }
    again = read_report(here / "report")
    assert again.digest == report.digest == measure("demo", suites=SEAT).digest
    (found,) = compare(measure("demo-neutral", suites=SEAT), again).suites
    assert found.reason is None
    assert found.changes[0].change.interval is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"suites": ["saet"]}, "Did you mean 'seat'?"),
        ({"profil": "quick"}, "option 'profil' is not known. Did you mean 'profile'?"),
        ({"profile": "fast"}, "profile 'fast' is not known"),
        ({"baseline": "demo-neutral"}, "a baseline without a folder"),
        ({"models": "list.txt"}, "option 'models' is not known"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_a_mistake_is_one_message(here: Path, options: dict, words: str) -> None:
    with pytest.raises(BiasError) as caught:
        measure("demo", **options)
    assert words in str(caught.value)


def test_two_suites_of_one_name_do_not_see_one_another(here: Path) -> None:
    """Each run has the suites of its own files."""
    titles = []
    (here / "rows.csv").write_text("a,b\nhe is a nurse,she is one\n", encoding="utf-8")
    for title in ("One", "Another"):
        file = here / f"{title}.bias.yaml"
        file.write_text(f"{SUITE}title: {title}\n", encoding="utf-8")
        titles.append(measure("demo", suites=[str(file)]).suite("own").title)
    assert titles == ["One", "Another"]
    with pytest.raises(BiasError, match="suite 'own' is not known"):
        measure("demo", suites=["own"])


def test_reports_of_a_suite_file_are_compared_with_it(
    here: Path, tiny: Callable[[str], Path]
) -> None:
    (here / "rows.csv").write_text("a,b\nhe is a nurse,she is one\n", encoding="utf-8")
    (here / "own.bias.yaml").write_text(SUITE, encoding="utf-8")
    files = ["own.bias.yaml"]
    now, before = (measure(tiny(kind), suites=files) for kind in ("bert", "roberta"))
    (unknown,) = compare(now, before).suites
    assert "suite 'own' is not known" in str(unknown.reason)
    (found,) = compare(now, before, suites=files).suites
    assert found.reason is None
    (here / "pytest-bias.yaml").write_text("suites: [own.bias.yaml]", encoding="utf-8")
    assert compare(now, before).suites == (found,)


SUITE = """\
suite: own
kind: pairs
language: en
data: {path: rows.csv, columns: {more: a, less: b}}
scope:
  summary: Of two sentences that differ in a person, is one likelier?
  groups: women and men
  harm_type: representation
  data_origin: made for this test
  made_by: the authors
  licence: Apache-2.0
  known_defects: [It has few pairs and one template.]
  does_not_show: How anybody is treated.
"""


def test_all_names_are_listed() -> None:
    assert {*pytest_bias.__all__} <= {*dir(pytest_bias)}
    assert pytest_bias.__version__[0].isdigit()
