"""Requests against real servers: where the token goes, what breaks off, what is tried again."""

import datetime
import gzip
import ssl
from collections.abc import Iterator
from email.utils import format_datetime
from ipaddress import ip_address
from pathlib import Path

import pytest

from file_server import Answer, FileServer, serving
from pytest_bias.http.failures import Failed
from pytest_bias.http.patience import Patience
from pytest_bias.http.session import Session, pieces, plain, refused

TOKEN = "secret-token"
TIMEOUT_S = (5.0, 5.0)
CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with serving() as running:
        running.files["data"] = CONTENT
        yield running


@pytest.fixture
def other(server: FileServer) -> Iterator[FileServer]:
    """Serve at another port, which makes it another origin."""
    with serving() as running:
        running.files["data"] = b"of the other"
        yield running


def get(session: Session, address: str, method: str = "GET") -> bytes:
    with session.ask(method, address) as answer:
        if not answer.ok:
            raise refused(answer)
        return b"".join(pieces(answer))


def failed(session: Session, address: str, method: str = "GET") -> Failed:
    with pytest.raises(Failed) as caught:
        get(session, address, method)
    error = caught.value
    assert TOKEN not in f"{error!r} {error.words()} {error.answer('it')} {error.hint()} {session!r}"
    return error


def leads(address: str, status: int = 302) -> Answer:
    return Answer(status, b"", {"Location": address})


# What is tried again


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_passes_is_asked_again(server: FileServer, status: int) -> None:
    server.answers = [Answer(status), Answer(status)]
    told: list[Failed] = []
    session = Session(TIMEOUT_S)
    found = Patience(backoff_s=0).ask(lambda: get(session, server.url("data")), told.append)
    assert found == CONTENT
    assert [f.kind for f in told] == [status, status]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 501])
def test_what_does_not_pass_is_asked_once(server: FileServer, status: int) -> None:
    server.answers = [Answer(status)]
    session = Session(TIMEOUT_S)
    with pytest.raises(Failed) as caught:
        Patience(backoff_s=0).ask(lambda: get(session, server.url("data")))
    assert (caught.value.kind, caught.value.attempts, len(server.asked)) == (status, 1, 1)


@pytest.mark.parametrize("how", ["seconds", "date"])
def test_a_server_says_how_long_to_wait(server: FileServer, how: str) -> None:
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=20)
    value = "20" if how == "seconds" else format_datetime(soon, usegmt=True)
    server.answers = [Answer(429, headers={"Retry-After": value})]
    waits: list[float] = []
    session = Session(TIMEOUT_S)
    found = Patience(sleep=waits.append).ask(lambda: get(session, server.url("data")))
    assert found == CONTENT
    assert waits == [pytest.approx(20, abs=3)]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_cut_short_is_no_answer(server: FileServer, chunked: bool) -> None:
    cut = Answer(cut=len(CONTENT) // 2)
    if chunked:
        # A chunk of a million bytes begins, and breaks off.
        headers = {"Content-Length": "", "Transfer-Encoding": "chunked"}
        cut = Answer(content=b"f4240\r\n" + CONTENT, headers=headers)
    server.answers = [cut, cut]
    session = Session(TIMEOUT_S)
    assert failed(session, server.url("data")).kind == "broken off"
    assert Patience(backoff_s=0).ask(lambda: get(session, server.url("data"))) == CONTENT


def test_a_server_that_hangs(server: FileServer) -> None:
    server.answers = [Answer(late=1)]
    error = failed(Session((1, 0.1)), server.url("data"))
    assert (error.kind, error.again) == ("timeout", True)
    assert error.words() == "no answer from 127.0.0.1 within 0.1 s"


def test_a_server_that_sends_a_byte_now_and_then(server: FileServer) -> None:
    server.answers = [Answer(content=b"x" * 100, drip=0.05)]
    with (
        pytest.raises(Failed, match="timeout") as caught,
        Session((1, 1)).ask("GET", server.url("data")) as answer,
    ):
        list(pieces(answer, within=0.3))
    assert caught.value.words() == "no answer from 127.0.0.1 within 0.3 s"


def test_more_than_is_taken(server: FileServer) -> None:
    with (
        pytest.raises(Failed, match="size") as caught,
        Session(TIMEOUT_S).ask("GET", server.url("data")) as answer,
    ):
        list(pieces(answer, most=200_000))
    assert caught.value.words() == "it is larger than 0.2 MB"
    assert not caught.value.again


def test_a_server_that_compresses_unasked(server: FileServer) -> None:
    packed = gzip.compress(CONTENT)
    server.answers = [Answer(content=packed, headers={"Content-Encoding": "gzip"})]
    assert get(Session(TIMEOUT_S), server.url("data")) == CONTENT
    assert server.sent[0][1]["Accept-Encoding"] == "identity"


def test_nobody_listens() -> None:
    error = failed(Session(TIMEOUT_S), "http://127.0.0.1:9/x?signature=secret-token")
    assert (error.kind, error.again) == ("connection", True)
    assert error.words() == "no connection to 127.0.0.1 (Connection refused)"


@pytest.mark.parametrize("address", ["http://[", "http://127.0.0.1:99999/x", "nonsense://x", "x"])
def test_an_address_that_is_none(address: str) -> None:
    error = failed(Session(TIMEOUT_S), address)
    assert (error.kind, error.again) == ("address", False)
    assert error.words()


# The token, and redirects


def test_the_token_goes_to_its_own_server_alone(server: FileServer, other: FileServer) -> None:
    session = Session(TIMEOUT_S, server.address, TOKEN, {"X-Version": "1"})
    server.answers = [leads(other.url("data"))]
    assert get(session, server.url("data")) == b"of the other"
    assert get(session, other.url("data")) == b"of the other"
    ((_, ours),) = server.sent
    assert (ours["Authorization"], ours["X-Version"]) == (f"Bearer {TOKEN}", "1")
    assert ours["User-Agent"].startswith("pytest-bias/")
    assert len(other.sent) == 2
    for _, theirs in other.sent:
        assert not {"Authorization", "X-Version"} & theirs.keys()


def test_the_token_goes_along_a_redirect_within_its_server(server: FileServer) -> None:
    session = Session(TIMEOUT_S, server.address, TOKEN)
    for status in (301, 302, 303, 307, 308):
        server.answers = [leads(server.url("data"), status)]
        assert get(session, server.url("old"), "POST") == CONTENT
    assert {method for method, _ in server.sent} == {"POST"}
    assert {h["Authorization"] for _, h in server.sent} == {f"Bearer {TOKEN}"}


def test_a_change_is_not_sent_on_to_elsewhere(server: FileServer, other: FileServer) -> None:
    server.answers = [leads(f"{other.url('data')}?{TOKEN}", 307)]
    error = failed(Session(TIMEOUT_S, server.address, TOKEN), server.url("data"), "POST")
    assert error.words() == f"it leads to {other.url('data')}: not followed"
    assert (other.asked, error.again) == ([], False)


@pytest.mark.parametrize("to", ["ftp://x/y", "file:///etc/passwd", "http://["])
def test_a_redirect_to_nowhere(server: FileServer, to: str) -> None:
    server.answers = [leads(to)]
    assert failed(Session(TIMEOUT_S), server.url("data")).kind in ("redirect", "address")
    assert len(server.asked) == 1


def test_too_many_redirects(server: FileServer) -> None:
    server.answers, server.for_ever = [leads("/data")], True
    error = failed(Session(TIMEOUT_S), server.url("data"))
    assert error.words() == "it leads from address to address"
    assert len(server.asked) == 6


def test_a_redirect_may_be_an_answer(server: FileServer, other: FileServer) -> None:
    server.answers = [leads(other.url("data"))]
    with Session(TIMEOUT_S, redirects=0).ask("GET", server.url("data")) as answer:
        assert answer.status_code == 302
    assert other.asked == []


def test_other_services_beside_ours_get_no_token() -> None:
    session = Session(TIMEOUT_S, "https://host/api/v3", TOKEN)
    assert session.is_home("https://host:443/api/v3/repositories/1/issues")
    for path in ("/_services/x", "/api/v31", "/api/v3/../x"):
        assert not session.is_home(f"https://host{path}")
    for address in ("http://host", "https://host:444", "https://host:99999", "https://["):
        assert not session.is_home(f"{address}/api/v3/x")


def test_a_password_in_netrc_is_for_servers_without_a_token(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for session in (
        Session(TIMEOUT_S),
        Session(TIMEOUT_S, server.address, TOKEN),
        Session(TIMEOUT_S, server.address),
        Session(TIMEOUT_S, "http://another", TOKEN),
    ):
        get(session, server.url("data"))
    sent = [headers.get("Authorization", "").split(" ")[0] for _, headers in server.sent]
    assert sent == ["Basic", "Bearer", "", ""]


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert plain("https://me:word@host:8/a?token=x#y") == "https://host:8/a"
    assert plain("http://[") == "an address that is none"


# What the environment says


def test_proxies_are_those_of_the_environment(
    server: FileServer, other: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTP_PROXY", other.address)
    assert get(Session(TIMEOUT_S), "http://example.invalid/data") == b"of the other"
    assert get(Session(TIMEOUT_S, direct=True), server.url("data")) == CONTENT


@pytest.fixture
def secure(tmp_path: Path, server: FileServer) -> Path:
    """Let the server speak TLS; returns the file with its certificate."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    place = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(
        name,
        name,
        key.public_key(),
        1,
        now,
        now + datetime.timedelta(1),
        [x509.Extension(place.oid, critical=False, value=place)],
    ).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    path = tmp_path / "certificate.pem"
    private = key.private_bytes(pem, form, serialization.NoEncryption())
    path.write_bytes(private + made.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return path


def test_certificates_are_those_of_the_environment(
    server: FileServer, other: FileServer, secure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.url("data").replace("http:", "https:")
    error = failed(Session(TIMEOUT_S), address)
    assert (error.kind, error.again) == ("certificate", False)
    assert "REQUESTS_CA_BUNDLE" in str(error.hint())
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(secure))
    assert get(Session(TIMEOUT_S), address) == CONTENT
    server.answers = [leads(other.url("data"))]
    error = failed(Session(TIMEOUT_S), address)
    assert error.words() == f"it leads to {other.url('data')}: not followed"
    assert other.asked == []
