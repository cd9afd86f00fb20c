"""An application of no known protocol on this machine, and how one can fail."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from openai_server import Fault


class Request(NamedTuple):
    """A request as it arrived; `n` counts them from 1."""

    n: int
    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: Mapping[str, str]


Answers = Callable[[Request], Any]
"""Returns what is sent: a table or a list as JSON, a text as it is, or a fault."""


class AnswerServer(ThreadingHTTPServer):
    """Answers by a function; `asked` are the requests so far."""

    request_queue_size = 64
    daemon_threads = True
    # A thread that hangs is not waited for.
    block_on_close = False

    def __init__(self, answers: Answers) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[Request] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Address of the application."""
        return f"http://127.0.0.1:{self.server_port}/answer"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AnswerServer

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        parts = urlsplit(self.path)
        with self.server.lock:
            request = Request(
                len(self.server.asked) + 1,
                self.command,
                parts.path,
                dict(parse_qsl(parts.query)),
                json.loads(content) if content else None,
                dict(self.headers),
            )
            self.server.asked.append(request)
        found = self.server.answers(request)
        if not isinstance(found, Fault):
            text = found if isinstance(found, str) else json.dumps(found)
            found = Fault(200, text.encode())
        time.sleep(found.late)
        try:
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(found.content)))
            self.end_headers()
            self.wfile.write(found.content[: len(found.content) // 2 if found.cut else None])
            self.close_connection = found.cut
        except OSError:
            self.close_connection = True

    do_POST = do_PUT = do_PATCH = do_GET


@contextmanager
def answering(answers: Answers) -> Iterator[AnswerServer]:
    """Run a server for the time of a block."""
    server = AnswerServer(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
