"""A web server on this machine: files with ETag and ranges, and every way in which one can fail."""

import hashlib
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """One answer that is not the file: a status, headers, a body that may break off or come late.

    Parameters
    ----------
    status, content, headers
        What is sent; `content` of null is the file that was asked for, or the part of it.
    cut : int, optional
        Break the connection off after so many bytes of the body.
    late, drip : float
        Seconds before anything is sent, and between the bytes of the body.
    """

    status: int = 200
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    late: float = 0.0
    drip: float = 0.0


class FileServer(ThreadingHTTPServer):
    """Serves `files`; `answers` are given first, one a request, and the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.answers: list[Answer] = []
        self.for_ever = False
        self.etags = True
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []
        """Path and range of every request."""
        self.sent: list[tuple[str, dict[str, str]]] = []
        """Method and headers of every request."""

    @property
    def address(self) -> str:
        """Where the files are."""
        return f"http://127.0.0.1:{self.server_port}"

    def url(self, path: str) -> str:
        """Return the address of a file."""
        return f"{self.address}/{path}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        # A proxy is asked for the whole address.
        path = re.sub(r"^http://[^/]+", "", self.path).lstrip("/")
        self.server.asked.append((path, wanted))
        self.server.sent.append((self.command, dict(self.headers)))
        answers = self.server.answers
        answer = Answer()
        if answers:
            answer = answers[0] if self.server.for_ever and len(answers) == 1 else answers.pop(0)
        file = self.server.files.get(path)
        if answer.content is None and answer.status == 200 and file is None:
            answer = Answer(404, b"not here")
        time.sleep(answer.late)
        if answer.content is not None or answer.status != 200:
            self._send(answer, answer.status, answer.content or b"", answer.headers)
        else:
            self._file(answer, file or b"", wanted)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _file(self, answer: Answer, file: bytes, wanted: str | None) -> None:
        etag = {"ETag": f'"{hashlib.sha1(file).hexdigest()}"'} if self.server.etags else {}
        headers = {**etag, **answer.headers}
        start = re.fullmatch(r"bytes=(\d+)-", wanted or "")
        if start is None or not self.server.ranges:
            return self._send(answer, 200, file, headers)
        first = int(start[1])
        if first >= len(file):
            return self._send(answer, 416, b"", {"Content-Range": f"bytes */{len(file)}"})
        place = {"Content-Range": f"bytes {first}-{len(file) - 1}/{len(file)}"}
        return self._send(answer, 206, file[first:], {**place, **headers})

    def _send(self, answer: Answer, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        body = body if answer.cut is None else body[: answer.cut]
        step = 1 if answer.drip else max(len(body), 1)
        with suppress(ConnectionError):
            for begin in range(0, len(body), step):
                time.sleep(answer.drip)
                self.wfile.write(body[begin : begin + step])

    def log_message(self, *args: object) -> None:
        """Keep the output of tests clean."""


@contextmanager
def serving() -> Iterator[FileServer]:
    """Answer on a free port until the block ends."""
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
