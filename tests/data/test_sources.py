"""Data files: the user's copy, the cache, the pinned address; never something else in silence."""

import gzip
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from file_server import FileServer, serving
from pytest_bias.data import downloads
from pytest_bias.data.sources import (
    DataFile,
    DataFolder,
    FoundFile,
    HubFile,
    Source,
    cache_folder,
    describe_files,
)
from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted, NoAnswer, OutputError
from pytest_bias.http.patience import Patience
from pytest_bias.records.report import sha256

CONTENT = b"sent_more,sent_less\r\na,b\r\n"
FILE = DataFile("crows_pairs/pairs.csv", "http://127.0.0.1:9/pairs.csv", sha256(CONTENT))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Run a web server on this machine, and let downloads through to it."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        running.files["pairs.csv"] = CONTENT
        yield running


def fetched(server: FileServer, folder: Path | None = None) -> FoundFile:
    return DataFolder(folder).find(replace(FILE, url=server.url("pairs.csv")))


def kept() -> Path:
    return cache_folder() / FILE.sha256[:16] / "pairs.csv"


def test_the_users_own_file_comes_first_and_is_used_as_found(tmp_path, server):
    path = tmp_path / FILE.path
    path.parent.mkdir()
    path.write_bytes(b"my own\n")
    found = fetched(server, tmp_path)
    assert found == FoundFile(FILE.path, b"my own\n", sha256(b"my own\n"), local=True)
    assert server.asked == []


def test_a_gzip_copy_is_decompressed(tmp_path):
    path = tmp_path / f"{FILE.path}.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(CONTENT))
    found = DataFolder(tmp_path).find(FILE)
    assert (found.content, found.sha256, found.local) == (CONTENT, FILE.sha256, True)
    assert found.path == FILE.path


def test_the_plain_file_comes_before_its_gzip_copy(tmp_path):
    (tmp_path / "crows_pairs").mkdir()
    (tmp_path / FILE.path).write_bytes(b"plain")
    (tmp_path / f"{FILE.path}.gz").write_bytes(gzip.compress(b"packed"))
    assert DataFolder(tmp_path).find(FILE).content == b"plain"


PACKED = gzip.compress(CONTENT)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"no gzip", id="no gzip"),
        pytest.param(PACKED[:-9], id="truncated"),
        pytest.param(PACKED[:-8] + bytes(8), id="wrong sum"),
        pytest.param(
            PACKED[:10] + b"\xff" + PACKED[11:],
            id="damaged",
        ),
    ],
)
def test_a_broken_gzip_copy_is_named(tmp_path, content):
    path = tmp_path / f"{FILE.path}.gz"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"pairs\.csv\.gz cannot be read"):
        DataFolder(tmp_path).find(FILE)


def test_the_same_data_in_another_shape_serves(tmp_path):
    (tmp_path / "crows_pairs").mkdir()
    (tmp_path / "crows_pairs" / "b.parquet").write_bytes(b"PAR1")
    found = DataFolder(tmp_path).find(FILE, "crows_pairs/a.parquet", "crows_pairs/b.parquet")
    assert (found.path, found.content, found.local) == ("crows_pairs/b.parquet", b"PAR1", True)


def test_a_download_is_kept_and_not_fetched_again(server, tmp_path):
    first = fetched(server, tmp_path)
    assert first == FoundFile(FILE.path, CONTENT, FILE.sha256, local=False)
    assert kept().read_bytes() == CONTENT
    assert {p.name for p in kept().parent.iterdir()} == {"pairs.csv", "pairs.csv.lock"}
    assert fetched(server) == first
    assert len(server.asked) == 1


def test_what_is_in_the_cache_serves_offline(server):
    fetched(server)
    assert DataFolder(offline=True).find(FILE).content == CONTENT


def test_a_damaged_cache_is_fetched_again(server):
    fetched(server)
    kept().write_bytes(CONTENT[:5])
    assert fetched(server).content == CONTENT
    assert kept().read_bytes() == CONTENT
    assert len(server.asked) == 2


@pytest.mark.parametrize("how", ["option", "variable"])
def test_offline_says_who_needs_it_where_it_looked_and_what_to_do(tmp_path, monkeypatch, how):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1" if how == "variable" else "0")
    folder = DataFolder(tmp_path, offline=how == "option")
    with pytest.raises(DataMissing) as caught:
        folder.of("crows_pairs").find(FILE)
    why = "this run is offline" if how == "option" else "HF_HUB_OFFLINE is set: offline"
    assert caught.value.message == (
        f"{FILE.path}, which crows_pairs needs, is not in {tmp_path / FILE.path} or the cache "
        f"{cache_folder()}, and {why}."
    )
    assert caught.value.hint == (
        "Where there is a network: pytest-bias data fetch --suite crows_pairs. "
        f"Or give --data-dir DIR with a copy of {FILE.url} at DIR/{FILE.path}"
    )


def test_offline_a_damaged_copy_is_not_passed_over_in_silence():
    kept().parent.mkdir(parents=True)
    kept().write_bytes(CONTENT[:5])
    with pytest.raises(DataMissing, match=f"{cache_folder()}, where a damaged copy stands, and"):
        DataFolder(offline=True).find(FILE)


def test_progress_names_the_file(server):
    told = []
    folder = DataFolder(tell=lambda *words: told.append(words))
    folder.find(replace(FILE, url=server.url("pairs.csv")))
    size = len(CONTENT)
    assert told == [(FILE.path, 0, size), (FILE.path, size, size)]


def test_a_host_that_is_silent_is_not_waited_for_again(server, monkeypatch):
    monkeypatch.setattr(downloads, "PATIENCE", Patience(backoff_s=0))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}/"
    folder = DataFolder()
    with pytest.raises(NoAnswer, match="no connection to 127"):
        folder.find(replace(FILE, url=f"{nowhere}first"))
    with pytest.raises(DataMissing) as caught:
        folder.of("crows_pairs").find(replace(FILE, url=f"{nowhere}second"))
    assert caught.value.message.endswith(
        f"from {nowhere}second: 127.0.0.1 was silent before "
        "(no connection to 127.0.0.1 (Connection refused) (asked 4 times))."
    )
    assert caught.value.hint == "Try again: pytest-bias data fetch --suite crows_pairs"
    # What is in the cache needs no host.
    kept().write_bytes(CONTENT)
    assert folder.find(FILE).content == CONTENT


def test_states(tmp_path):
    own = tmp_path / FILE.path
    folder, private = DataFolder(tmp_path), replace(FILE, url=None)
    assert (folder.state(FILE), folder.state(private)) == ("missing", "own copy only")
    kept().parent.mkdir(parents=True)
    kept().write_bytes(CONTENT[:5])
    assert (folder.state(FILE), folder.state(private)) == ("damaged", "own copy only")
    kept().write_bytes(CONTENT)
    assert (folder.state(FILE), folder.state(private)) == ("cached", "own copy only")
    own.parent.mkdir()
    own.write_bytes(b"mine")
    assert folder.state(FILE) == folder.state(private) == "own changed"
    own.write_bytes(CONTENT)
    assert folder.state(FILE) == folder.state(private) == "own"
    own.rename(f"{own}.gz")
    assert folder.state(FILE) == "own unreadable"
    assert DataFolder().state(FILE) == "cached"


def test_a_cache_that_cannot_be_written_is_named(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PYTEST_BIAS_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(OutputError, match=r"the cache .* cannot be written") as caught:
        fetched(server)
    assert "PYTEST_BIAS_CACHE" in caught.value.hint


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTEST_BIAS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("PYTEST_BIAS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "pytest-bias"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "pytest-bias"


@pytest.mark.parametrize("given", [True, False], ids=["with a folder", "without"])
def test_what_nobody_may_pass_on_is_read_from_the_user_s_copy_alone(
    server, tmp_path, monkeypatch, given
):
    own = replace(FILE, url=None)
    kept().parent.mkdir(parents=True)
    kept().write_bytes(CONTENT)
    with pytest.raises(DataMissing) as caught:
        DataFolder(tmp_path if given else None).find(own)
    place = str(tmp_path) if given else "a folder of your own"
    assert caught.value.message.startswith(
        f"{FILE.path} is not in {place}, and it is never fetched"
    )
    assert caught.value.hint == "Put your own copy below a folder and give --data-dir."
    assert server.asked == []
    path = tmp_path / FILE.path
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert DataFolder(tmp_path).find(own).local


CLOSED = Source("org/data", "abc", "CC-BY-NC-4.0", consent=True)


@pytest.mark.parametrize(
    "accepted", [{}, {"seat": "CC-BY-4.0"}, {"honest": "CC-BY-NC-4.0"}, {"seat": ""}], ids=str
)
def test_data_with_conditions_need_consent_for_this_suite_and_licence(accepted):
    with pytest.raises(LicenceNotAccepted) as caught:
        DataFolder(accepted=accepted).consent("seat", CLOSED)
    assert caught.value.message == ("org/data is under CC-BY-NC-4.0, which you have not accepted.")
    other = accepted.get("seat")
    wanted = f'"{other}, CC-BY-NC-4.0"' if other else "CC-BY-NC-4.0"
    assert caught.value.hint == f"In pytest-bias.yaml: accept_licences: {{seat: {wanted}}}"


def test_two_licences_of_one_suite_are_accepted_with_a_comma():
    one, other = (Source("a/b", "main", licence, consent=True) for licence in ("X", "no licence"))
    with pytest.raises(LicenceNotAccepted) as caught:
        DataFolder(accepted={"seat": "X"}).consent("seat", other)
    assert caught.value.hint == 'In pytest-bias.yaml: accept_licences: {seat: "X, no licence"}'
    both = DataFolder(
        accepted=yaml.safe_load(caught.value.hint.partition(": ")[2])["accept_licences"]
    )
    both.consent("seat", one)
    both.consent("seat", other)


def test_consent_is_taken_and_open_data_need_none():
    DataFolder(accepted={"seat": "CC-BY-NC-4.0"}).consent("seat", CLOSED)
    DataFolder().consent("seat", replace(CLOSED, consent=False))
    with pytest.raises(LicenceNotAccepted):
        DataFolder().consent("seat", CLOSED)


def test_a_source_names_its_files_below_their_address():
    (file,) = CLOSED.files("http://host/base", {"sent_bias/tests/a.jsonl": "0" * 64})
    assert file == DataFile("sent_bias/tests/a.jsonl", "http://host/base/tests/a.jsonl", "0" * 64)


def test_several_files_are_described_by_one_digest_and_the_revision():
    first = FoundFile("a", b"1", sha256(b"1"), local=False)
    second = FoundFile("b", b"2", sha256(b"2"), local=False)
    info = describe_files(CLOSED, [first, second], 7)
    lines = sorted(f"{f.sha256}  {f.path}\n" for f in (first, second))
    assert info.sha256 == sha256("".join(lines))
    assert describe_files(CLOSED, [second, first], 7) == info
    assert (info.source, info.licence, info.revision) == ("org/data", "CC-BY-NC-4.0", "abc")
    assert (info.n_items, info.local) == (7, False)
    assert describe_files(CLOSED, [first], 7).sha256 == first.sha256


def test_local_files_claim_no_revision():
    mine = FoundFile("a", b"1", sha256(b"1"), local=True)
    info = describe_files(CLOSED, [mine], 1)
    assert (info.local, info.revision) == (True, None)


COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.mark.parametrize("revision", ["main", COMMIT[:7], COMMIT.upper(), f"{COMMIT}0", ""])
def test_a_file_of_the_hub_is_pinned_by_a_whole_commit(revision):
    with pytest.raises(ValueError, match="is no whole hash of a commit"):
        HubFile("org/data", revision, "data.jsonl")


def test_a_file_has_one_place_and_what_pins_it():
    hub = HubFile("org/data", COMMIT, "data.jsonl")
    assert DataFile("data/data.jsonl", None, None, hub).hub == hub
    assert DataFile("data/data.jsonl", None, "0" * 64).hub is None
    with pytest.raises(ValueError, match="not both"):
        DataFile("data/data.jsonl", "http://host/data.jsonl", "0" * 64, hub)
    with pytest.raises(ValueError, match="pinned by its SHA-256 alone"):
        DataFile("data/data.jsonl", "http://host/data.jsonl", None)
    assert hub.command == (
        f"hf download org/data data.jsonl --repo-type dataset --revision {COMMIT}"
    )
