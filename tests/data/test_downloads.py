"""Downloads against a real server: taken up, refused, waited for; every failure in plain words."""

import multiprocessing
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from file_server import Answer, FileServer, serving
from pytest_bias.data import downloads
from pytest_bias.data.downloads import Wanted, fetch
from pytest_bias.errors import DataError, DataMissing, NoAnswer, OutputError
from pytest_bias.http.patience import Patience
from pytest_bias.records.report import sha256

CONTENT = bytes(range(256)) * 1000
HALF = len(CONTENT) // 2
COMMAND = "pytest-bias data fetch --suite honest"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Serve one file; nobody waits between two attempts."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(downloads, "PATIENCE", Patience(backoff_s=0))
    with serving() as running:
        running.files["data.bin"] = CONTENT
        yield running


@pytest.fixture
def wanted(server: FileServer, tmp_path: Path) -> Wanted:
    target = tmp_path / "cache" / "data.bin"
    what = "honest/data.bin, which honest needs,"
    return Wanted(what, server.url("data.bin"), sha256(CONTENT), target, COMMAND)


def silent(done: int, total: int | None) -> None:
    """Tell nobody."""


def files_of(wanted: Wanted) -> set[str]:
    return {p.name for p in wanted.target.parent.iterdir()}


def refused(wanted: Wanted) -> DataMissing:
    """Return the error of a file that cannot be had; its message says what was tried."""
    with pytest.raises(DataMissing) as caught:
        fetch(wanted, silent)
    assert caught.value.message.startswith(
        f"{wanted.what} could not be fetched from {wanted.url}: "
    )
    assert caught.value.hint
    assert not wanted.target.exists()
    return caught.value


def test_a_file_is_kept_and_progress_is_told(wanted):
    told = []
    assert fetch(wanted, lambda *words: told.append(words)) == CONTENT
    assert wanted.target.read_bytes() == CONTENT
    assert told[0] == (0, len(CONTENT))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 3
    assert files_of(wanted) == {"data.bin", "data.bin.lock"}


def test_the_size_may_be_unknown(server, wanted):
    server.answers = [Answer(content=CONTENT, headers={"Content-Length": ""})]
    told = []
    fetch(wanted, lambda *words: told.append(words))
    assert {total for _, total in told} == {None}
    assert told[-1][0] == len(CONTENT)


# Taken up where it broke off


def test_a_connection_that_breaks_off_is_taken_up(server, wanted):
    server.answers = [Answer(cut=HALF), Answer(cut=HALF // 2)]
    assert fetch(wanted, silent) == CONTENT
    begun = [int(place.strip("bytes=-")) for _, place in server.asked if place]
    assert len(server.asked) == 3
    assert 0 < begun[0] <= HALF < begun[1] <= HALF + HALF // 2


def broken_off(server: FileServer, wanted: Wanted) -> None:
    """Leave half of the file, as a process that was killed does."""
    server.answers = [Answer(cut=len(CONTENT) // 10)]
    server.for_ever = True
    error = refused(wanted)
    assert "the connection broke off after" in error.message
    assert wanted.part.stat().st_size > 0
    wanted.part.write_bytes(CONTENT[:HALF])
    server.answers, server.for_ever, server.asked = [], False, []


def test_the_next_run_goes_on(server, wanted):
    broken_off(server, wanted)
    told = []
    assert fetch(wanted, lambda *words: told.append(words)) == CONTENT
    assert server.asked == [("data.bin", f"bytes={HALF}-")]
    assert told[0] == (HALF, len(CONTENT))
    assert files_of(wanted) == {"data.bin", "data.bin.lock"}


@pytest.mark.parametrize(
    "mark", ['"another version"\n{size}\n', "\n{size}\n", "{etag}\n7\n"], ids=["etag", "no", "size"]
)
def test_a_part_of_another_version_is_thrown_away(server, wanted, mark):
    broken_off(server, wanted)
    etag = wanted.mark.read_text().split("\n")[0]
    wanted.mark.write_text(mark.format(size=len(CONTENT), etag=etag))
    wanted.part.write_bytes(b"x" * HALF)
    assert fetch(wanted, silent) == CONTENT
    assert [place for _, place in server.asked] == [f"bytes={HALF}-", None]


@pytest.mark.parametrize("how", ["unmarked", "no ranges", "longer", "empty"])
def test_a_part_that_cannot_be_taken_up_is_replaced(server, wanted, how):
    broken_off(server, wanted)
    if how == "unmarked":
        wanted.mark.unlink()
    elif how == "no ranges":
        server.ranges = False
    else:
        wanted.part.write_bytes(CONTENT + b"more" if how == "longer" else b"")
    assert fetch(wanted, silent) == CONTENT


def test_without_etag_the_size_decides_and_then_the_sum(server, wanted):
    server.etags = False
    broken_off(server, wanted)
    wanted.part.write_bytes(b"x" * HALF)
    # The wrong half has the right size: only the sum tells, and then all of it comes anew.
    assert fetch(wanted, silent) == CONTENT
    assert [place for _, place in server.asked] == [f"bytes={HALF}-", None]


# Only the pinned bytes


@pytest.mark.parametrize(
    ("content", "looks"),
    [(b"other bytes", ""), (b"<!DOCTYPE html><p>Log in", ", a page in HTML")],
    ids=["bytes", "page"],
)
def test_other_bytes_are_refused_with_both_sums(server, wanted, content, looks):
    server.files["data.bin"] = content
    with pytest.raises(DataError, match="is not the file that was pinned") as caught:
        fetch(wanted, silent)
    assert not isinstance(caught.value, DataMissing)
    assert f"its SHA-256 is {sha256(content)}, not {wanted.sha256}." in caught.value.message
    assert f"{len(content)} bytes came{looks}." in caught.value.message
    assert "--data-dir" in caught.value.hint
    assert files_of(wanted) == {"data.bin.lock"}
    assert len(server.asked) == 1


def test_half_a_file_in_the_cache_is_replaced(wanted):
    wanted.target.parent.mkdir()
    wanted.target.write_bytes(CONTENT[:HALF])
    assert fetch(wanted, silent) == CONTENT
    assert wanted.target.read_bytes() == CONTENT


# Refusals and failures


@pytest.mark.parametrize(
    ("status", "words", "hint"),
    [
        (401, "the server answers 401 (Unauthorized)", "a proxy or a firewall"),
        (403, "the server answers 403 (Forbidden)", "a proxy or a firewall"),
        (404, "the server answers 404 (Not Found)", "--data-dir"),
        (407, "the server answers 407 (Proxy Authentication Required)", "HTTPS_PROXY="),
        (410, "the server answers 410 (Gone)", "--data-dir"),
        (418, "the server answers 418", "--data-dir"),
    ],
)
def test_a_refusal_is_final(server, wanted, status, words, hint):
    server.answers = [Answer(status, b"no")]
    error = refused(wanted)
    assert words in error.message
    assert hint in error.hint
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_server_in_trouble_is_asked_again(server, wanted, status):
    server.answers = [Answer(status), Answer(status)]
    assert fetch(wanted, silent) == CONTENT
    assert len(server.asked) == 3


def test_a_server_that_stays_in_trouble_is_named(server, wanted):
    server.answers, server.for_ever = [Answer(503)], True
    error = refused(wanted)
    assert error.message.endswith("the server answers 503 (Service Unavailable) (asked 4 times).")
    assert COMMAND in error.hint
    assert not isinstance(error, NoAnswer)
    assert len(server.asked) == 4


def test_waits_grow_and_a_short_retry_after_is_kept(server, wanted, monkeypatch):
    waits = []
    monkeypatch.setattr(downloads, "PATIENCE", Patience(backoff_s=0.5, sleep=waits.append))
    server.answers = [Answer(500), Answer(429, headers={"Retry-After": "7"}), Answer(500)]
    assert fetch(wanted, silent) == CONTENT
    assert waits == [0.5, 7.0, 2.0]


@pytest.mark.parametrize("how", ["seconds", "date"])
def test_a_long_retry_after_is_told_and_not_waited_for(server, wanted, how):
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=3600), usegmt=True)
    value = "3600" if how == "seconds" else later
    server.answers = [Answer(429, headers={"Retry-After": value})]
    error = refused(wanted)
    assert "the server answers 429 (Too Many Requests) and asks to wait 3" in error.message
    assert "Try again in 3" in error.hint
    assert COMMAND in error.hint
    assert len(server.asked) == 1


def test_a_server_that_does_not_answer_in_time(server, wanted, monkeypatch):
    monkeypatch.setattr(downloads, "TIMEOUT_S", (1.0, 0.1))
    monkeypatch.setattr(downloads, "PATIENCE", Patience(attempts=2, backoff_s=0))
    server.answers, server.for_ever = [Answer(late=0.5)], True
    error = refused(wanted)
    assert error.message.endswith("no answer from 127.0.0.1 within 0.1 s (asked 2 times).")
    assert COMMAND in error.hint
    assert isinstance(error, NoAnswer)


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_refused_connection(wanted):
    error = refused(replace(wanted, url=f"http://127.0.0.1:{unused_port()}/x"))
    assert error.message.endswith(
        "no connection to 127.0.0.1 (Connection refused) (asked 4 times)."
    )
    assert "HTTPS_PROXY" in error.hint
    assert "--data-dir" in error.hint
    assert isinstance(error, NoAnswer)


def test_a_host_that_has_no_address(wanted, monkeypatch):
    monkeypatch.setattr(downloads, "PATIENCE", Patience(attempts=1))
    error = refused(replace(wanted, url="http://no-such-host.invalid/x"))
    assert "no connection to no-such-host.invalid (" in error.message
    assert isinstance(error, NoAnswer)


def test_a_proxy_that_is_not_there(wanted, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTP_PROXY", f"http://ann:secret@127.0.0.1:{unused_port()}")
    error = refused(replace(wanted, url="http://example.invalid/x"))
    assert "the proxy does not let it through (Connection refused)" in error.message
    assert "HTTPS_PROXY=" in error.hint
    assert "secret" not in str(error)


def test_a_proxy_that_refuses_a_tunnel(server, wanted, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTPS_PROXY", server.address)
    # The server knows no CONNECT, and says so as a proxy does.
    error = refused(replace(wanted, url="https://example.invalid/x"))
    assert "the proxy does not let it through (Tunnel connection failed: 501" in error.message


def test_a_proxy_that_wants_a_password(server, wanted, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTP_PROXY", server.address)
    server.answers = [Answer(407)]
    error = refused(replace(wanted, url="http://example.invalid/x"))
    assert "407 (Proxy Authentication Required)" in error.message


def test_a_file_through_a_proxy(server, wanted, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTP_PROXY", server.address)
    assert fetch(replace(wanted, url="http://example.invalid/data.bin"), silent) == CONTENT


def test_an_address_that_is_none(wanted):
    error = refused(replace(wanted, url="nonsense://host/x"))
    assert "No connection adapters" in error.message


def test_a_server_that_speaks_no_tls(server, wanted, monkeypatch):
    monkeypatch.setattr(downloads, "PATIENCE", Patience(attempts=1))
    error = refused(replace(wanted, url=server.url("data.bin").replace("http:", "https:")))
    assert "the certificate of 127.0.0.1 is not trusted here" in error.message
    assert "REQUESTS_CA_BUNDLE" in error.hint


def test_a_cache_that_cannot_be_written(wanted, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=r"the cache .* cannot be written") as caught:
        fetch(replace(wanted, target=tmp_path / "file" / "data.bin"), silent)
    assert "PYTEST_BIAS_CACHE" in caught.value.hint


# Several at once


def fetch_in_a_process(wanted: Wanted) -> str:
    return sha256(fetch(wanted, silent))


def test_processes_that_want_the_same_file_fetch_it_once(server, wanted):
    server.answers = [Answer(late=0.3)]
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(fetch_in_a_process, [wanted] * 3)
    assert set(found) == {wanted.sha256}
    assert len(server.asked) == 1
    assert files_of(wanted) == {"data.bin", "data.bin.lock"}


def test_who_waits_goes_on_after_one_that_failed(server, wanted):
    server.answers = [Answer(404, late=0.3)]
    failed = []

    def first() -> None:
        with pytest.raises(DataMissing):
            fetch(wanted, silent)
        failed.append(True)

    thread = threading.Thread(target=first)
    thread.start()
    while not server.asked:
        pass
    assert fetch(wanted, silent) == CONTENT
    thread.join()
    assert failed == [True]
