"""What ``data fetch`` and ``data check`` print on a terminal."""

from io import StringIO

import pytest
from rich.console import Console

from pytest_bias.cli.screens import data_files
from pytest_bias.engine.preparation import EntryData, FileOutcome, Outcome, exit_code
from pytest_bias.errors import DataMissing, LicenceNotAccepted
from pytest_bias.suites.suite import Configuration, Entry, Suite


def entry(*, named: bool = False) -> Entry:
    configuration = Configuration("en", "en", lambda data: pytest.fail("nothing is loaded"))
    return Entry(Suite("honest", "1", "HONEST", "intrinsic", (), (), {}), configuration, named)


def made(*outcomes: Outcome, named: bool = False, licence: bool = False) -> EntryData:
    files = (FileOutcome(f"honest/{n}.tsv", outcome) for n, outcome in enumerate(outcomes))
    why = LicenceNotAccepted("it is under CC-BY-NC-4.0", "accept it") if licence else None
    return EntryData(entry(named=named), tuple(files), why)


def shown(*found: EntryData) -> str:
    stream = StringIO()
    console = Console(file=stream, width=100)
    data_files.show(found, console)
    data_files.show_troubles(found, console)
    return stream.getvalue()


def test_a_table_says_which_files_are_where():
    lines = [line.split() for line in shown(made(*["cached"] * 5, "damaged")).splitlines()]
    assert lines[0] == ["Suite", "Where", "Files"]
    assert lines[1] == [
        *("honest[en]", "in", "the", "cache", "5", "files,"),
        *("honest/0.tsv", "to", "honest/4.tsv"),
    ]
    assert lines[2] == ["damaged", "in", "the", "cache", "honest/5.tsv"]
    assert lines[3] == ["pytest-bias", "data", "fetch", "downloads", "what", "is", "missing."]


def test_of_many_errors_the_first_is_told():
    errors = [DataMissing(f"{n}.tsv could not be fetched.", f"hint {n}") for n in range(3)]
    files = [FileOutcome(f"{n}.tsv", "refused", e) for n, e in enumerate(errors)]
    lines = shown(EntryData(entry(), tuple(files))).splitlines()
    assert lines[-3:] == [
        "0.tsv could not be fetched.",
        "  hint 0",
        "  honest[en]: 2 more files did not come.",
    ]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (made(), 0),
        (made("own", "own changed", "cached", "fetched"), 0),
        (made("cached", "missing"), 3),
        (made("damaged"), 3),
        (made("own unreadable"), 3),
        (made("refused"), 3),
        (made("own copy only"), 0),
        (made("own copy only", named=True), 3),
        (made("missing", licence=True), 0),
        (made("missing", licence=True, named=True), 3),
        (made("own", licence=True, named=True), 3),
    ],
    ids=lambda value: "" if isinstance(value, int) else data_files.line(value),
)
def test_the_exit_code_says_whether_all_is_there(data, code):
    assert exit_code([made("own"), data]) == code
