"""Data files: the user's copy, the cache, the pinned address; never something else in silence."""

import gzip
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from pytest_bias import datasources
from pytest_bias.datasources import (
    DataFile,
    DataFolder,
    FoundFile,
    Source,
    cache_folder,
    describe_files,
)
from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted, OutputError
from pytest_bias.records import sha256

CONTENT = b"sent_more,sent_less\r\na,b\r\n"
FILE = DataFile("crows_pairs/pairs.csv", "http://127.0.0.1:9/pairs.csv", sha256(CONTENT))


class Server(ThreadingHTTPServer):
    """Answers every request with the next of `answers`; the last one serves for ever."""

    answers: list[tuple[int, bytes]]
    asked: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/pairs.csv"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        answers = self.server.answers
        status, content = answers[min(self.server.asked, len(answers) - 1)]
        self.server.asked += 1
        self.send_response(status)
        # This one promises more than it sends, as a connection that breaks off does.
        self.send_header("Content-Length", str(len(content) + 7 * (content == b"cut")))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Keep the output of tests clean."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Run an HTTP server on this machine, and let downloads through to it."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server(("127.0.0.1", 0), Handler) as running:
        running.answers = [(200, CONTENT)]
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def fetched(server: Server, folder: Path | None = None) -> FoundFile:
    return DataFolder(folder).find(replace(FILE, url=server.url))


def kept() -> Path:
    return cache_folder() / FILE.sha256[:16] / "pairs.csv"


def test_the_users_own_file_comes_first_and_is_used_as_found(tmp_path, server):
    path = tmp_path / FILE.path
    path.parent.mkdir()
    path.write_bytes(b"my own\n")
    found = fetched(server, tmp_path)
    assert found == FoundFile(FILE.path, b"my own\n", sha256(b"my own\n"), local=True)
    assert server.asked == 0


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
    assert [p.name for p in kept().parent.iterdir()] == ["pairs.csv"]
    assert fetched(server) == first
    assert server.asked == 1


def test_what_is_in_the_cache_serves_offline(server):
    fetched(server)
    assert DataFolder(offline=True).find(FILE).content == CONTENT


def test_a_damaged_cache_is_fetched_again(server):
    fetched(server)
    kept().write_bytes(CONTENT[:5])
    assert fetched(server).content == CONTENT
    assert kept().read_bytes() == CONTENT
    assert server.asked == 2


def test_bytes_that_are_not_the_pinned_ones_are_refused(server):
    server.answers = [(200, b"<html>moved</html>")]
    with pytest.raises(DataError, match="is not the file that was pinned") as caught:
        fetched(server)
    assert not isinstance(caught.value, DataMissing)
    assert f"{sha256(b'<html>moved</html>')}, not {FILE.sha256}. It was refused" in str(
        caught.value
    )
    assert not kept().exists()


def test_a_missing_page_is_named_and_not_asked_for_again(server):
    server.answers = [(404, b"not here")]
    with pytest.raises(DataMissing, match=r"could not be fetched from .*404") as caught:
        fetched(server)
    assert "HTTPS_PROXY" in caught.value.hint
    assert "--data-dir" in caught.value.hint
    assert server.asked == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(server, status):
    server.answers = [(status, b""), (200, CONTENT)]
    assert fetched(server).content == CONTENT
    assert server.asked == 2


def test_a_server_that_stays_in_trouble_is_named(server, monkeypatch):
    assert datasources.ATTEMPTS == 3
    monkeypatch.setattr(datasources, "ATTEMPTS", 1)
    server.answers = [(500, b"")]
    with pytest.raises(DataMissing, match=r"could not be fetched from .*500"):
        fetched(server)
    assert server.asked == 2


def test_an_answer_that_breaks_off_is_refused(server):
    server.answers = [(200, b"cut")]
    with pytest.raises(DataMissing, match="could not be fetched"):
        fetched(server)
    assert not kept().exists()


def test_a_refused_connection_is_named(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(datasources, "ATTEMPTS", 0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x"
    with pytest.raises(DataMissing, match="could not be fetched from http://127"):
        DataFolder().find(replace(FILE, url=url))


@pytest.mark.parametrize("how", ["option", "variable"])
def test_offline_says_where_it_looked_and_what_to_do(tmp_path, monkeypatch, how):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1" if how == "variable" else "0")
    folder = DataFolder(tmp_path, offline=how == "option")
    with pytest.raises(DataMissing) as caught:
        folder.find(FILE)
    assert str(tmp_path / FILE.path) in caught.value.message
    assert str(kept().parent) in caught.value.message
    assert "this run is offline" in caught.value.message
    assert "--data-dir" in caught.value.hint
    assert FILE.url in caught.value.hint


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
    assert server.asked == 0
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
