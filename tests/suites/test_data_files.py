"""Data files of every installed suite: pinned, complete, and those that we hold copies of."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_bias.data.sources import DataFile, DataFolder, FoundFile, Source, pinned
from pytest_bias.errors import LicenceNotAccepted
from pytest_bias.suites.catalogue import installed
from pytest_bias.suites.suite import Configuration

ENTRIES = [(s.name, c) for s in installed() for c in s.configurations if not c.own_texts]
IDS = [f"{name}[{c.name}]" for name, c in ENTRIES]
FILES = {(f.path, f): f for _, c in ENTRIES for f in c.files}
COMMIT = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
SHA256 = re.compile("[0-9a-f]{64}")
LEAST_HERE = 155
"""Files of the suites in the folder of public data."""

by_file = pytest.mark.parametrize("file", FILES.values(), ids=[path for path, _ in FILES])
by_entry = pytest.mark.parametrize(("suite", "configuration"), ENTRIES, ids=IDS)
FIRST = list(
    {name: entry for (name, _), entry in zip(ENTRIES[::-1], IDS[::-1], strict=True)}.values()
)


@dataclass(frozen=True)
class Watched(DataFolder):
    """A folder that writes down what it is asked for."""

    consents: list[tuple[str, Source]] = field(default_factory=list)
    files: list[DataFile] = field(default_factory=list)

    def consent(self, suite: str, source: Source) -> None:
        """Write down which licence the user has to accept."""
        if source.consent:
            self.consents.append((suite, source))
        super().consent(suite, source)

    def find(self, file: DataFile, *alternatives: str) -> FoundFile:
        """Write down which file is read."""
        self.files.append(file)
        return super().find(file, *alternatives)


@by_file
def test_a_file_is_pinned(file: DataFile) -> None:
    assert file.url is None or COMMIT.search(file.url), "an address without a commit can change"
    assert file.url is None or SHA256.fullmatch(str(file.sha256))
    assert file.sha256 is None or SHA256.fullmatch(file.sha256)
    assert not Path(file.path).is_absolute()
    assert ".." not in Path(file.path).parts


def test_files_are_those_in_the_folder_of_public_data(data_dir: Path) -> None:
    folder = DataFolder(data_dir)
    states = {path: folder.state(file) for path, file in FILES}
    here = {path: s for path, s in states.items() if s in ("own", "own changed", "own unreadable")}
    wrong = [path for path, state in here.items() if state != "own"]
    assert not wrong, "their SHA-256 is not that of our copy"
    assert len(here) >= LEAST_HERE


def test_one_path_is_one_file() -> None:
    by_path: dict[str, set[DataFile]] = {}
    for path, file in FILES:
        by_path.setdefault(path, set()).add(file)
    assert {path: files for path, files in by_path.items() if len(files) > 1} == {}


def is_here(configuration: Configuration, data_dir: Path) -> bool:
    folder = DataFolder(data_dir)
    return all(folder.state(f) == "own" for f in configuration.files)


@pytest.mark.by_day(*FIRST)
@by_entry
def test_files_and_consents_are_those_that_are_read(
    suite: str, configuration: Configuration, data_dir: Path
) -> None:
    if configuration.own_texts:
        pytest.skip("texts of the user's own")
    if not is_here(configuration, data_dir):
        pytest.skip("not all of its files are here")
    accepted = {suite: ", ".join(s.licence for s in configuration.consents)}
    folder = Watched(data_dir, accepted=accepted)
    loaded = configuration.load(folder)
    if configuration.files:
        # So a report tells by the digest of its data whether they are those of the suite.
        assert loaded.info.sha256 == pinned(configuration.files, loaded.info.source)
    # By path: a suite may ask for the user's copy alone, before it asks for the public file.
    read, stated = ({f.path for f in files} for files in (folder.files, configuration.files))
    assert read == stated, "Configuration.files names them all"
    asked = [(suite, source) for source in configuration.consents]
    assert set(folder.consents) == set(asked), "Configuration.consents names them all"
    # Loading takes long, so its items are looked at here as well.
    assert loaded.info.n_items == len(loaded.items) > 0
    assert len({item.id for item in loaded.items}) == len(loaded.items)
    assert all(item.cluster for item in loaded.items)
    assert all((item.status is None) == (item.reason is None) for item in loaded.items)


@by_entry
def test_without_consent_nothing_is_loaded(
    suite: str, configuration: Configuration, data_dir: Path
) -> None:
    if not configuration.consents:
        return
    if not is_here(configuration, data_dir):
        pytest.skip("not all of its files are here")
    with pytest.raises(LicenceNotAccepted) as caught:
        configuration.load(DataFolder(data_dir))
    assert f"accept_licences: {{{suite}: " in str(caught.value)
