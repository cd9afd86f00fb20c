"""A server of OpenAI's protocol on this machine, in front of a real model, and how one can fail.

In the place of a model it can have a function that answers chats (`talker`), as an application has.

`shape` is how an echoed text comes back: as from vLLM, or as from llama-cpp-python, whose
log-probabilities stand at the wrong tokens unless the text begins with the first token's text.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


@dataclass(frozen=True)
class Fault:
    """One answer that is none.

    Parameters
    ----------
    status, content, headers
        What is sent.
    late : float
        Seconds before anything is sent.
    drip : float
        Seconds between the bytes of the body.
    cut : bool
        Whether the connection breaks off in the middle of the body.
    """

    status: int = 200
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    late: float = 0.0
    drip: float = 0.0
    cut: bool = False


Asked = tuple[str, dict[str, Any], dict[str, str]]


class Brain:
    """A causal model as a server has it: tokens in, log-probabilities out."""

    def __init__(self, folder: Path) -> None:
        where = {"gguf_file": folder.name} if folder.suffix == ".gguf" else {}
        root = folder.parent if where else folder
        self.tokenizer = AutoTokenizer.from_pretrained(root, **where)
        self.network = AutoModelForCausalLM.from_pretrained(root, dtype=torch.float32, **where)
        self.network.eval()
        self.lock = threading.Lock()
        first = self.tokenizer.bos_token_id
        self.bos = self.tokenizer.eos_token_id if first is None else first

    def ids(self, text: str) -> list[int]:
        """Return the tokens of a text, with what the tokenizer puts in front."""
        ids = self.tokenizer(text)["input_ids"]
        ends = ids and ids[-1] == self.tokenizer.eos_token_id and len(ids) > 1
        return ids[:-1] if ends and not text.endswith(self.tokenizer.eos_token) else ids

    def word(self, token: int) -> str:
        """Return a token as if it were alone."""
        return str(self.tokenizer.decode([token]))

    def rows(self, ids: list[int]) -> torch.Tensor:
        """Return log-probabilities behind every token, shape (n_tokens, vocabulary)."""
        with self.lock, torch.inference_mode():
            return self.network(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(-1)

    def write(self, ids: list[int], n: int, seed: int | None) -> tuple[list[int], list[float], str]:
        """Return new tokens with their numbers, and why they end."""
        dice = torch.Generator().manual_seed(seed) if seed is not None else None
        new: list[int] = []
        numbers: list[float] = []
        for _ in range(n):
            row = self.rows([*ids, *new])[-1]
            token = (
                int(torch.multinomial(row.exp(), 1, generator=dice)) if dice else int(row.argmax())
            )
            if token == self.tokenizer.eos_token_id:
                return new, numbers, "stop"
            new.append(token)
            numbers.append(float(row[token]))
        return new, numbers, "length"

    def behind(self, ids: list[int], new: list[int]) -> str:
        """Return the text of new tokens behind others."""
        before, whole = self.tokenizer.decode(ids), self.tokenizer.decode([*ids, *new])
        return str(whole[len(before) :])


class OpenAIServer(ThreadingHTTPServer):
    """Answers for one model; `fault` may take the place of an answer."""

    request_queue_size = 64

    def __init__(
        self,
        brain: Brain | None,
        shape: str = "vllm",
        port: int = 0,
        talker: Callable[..., str] | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.shape, self.talker = shape, talker
        self._brain = brain
        self.models = ["tiny"]
        self.key: str | None = None
        self.chat = talker is not None
        self.completions = brain is not None
        self.logprobs = True
        self.top = 0
        """Likeliest tokens that it gives at most; 0 for a server without them."""
        self.seed_matters = True
        self.cut: int | None = None
        self.most = 10**6
        """Tokens of the longest text that is not refused."""
        self.window = 10**6
        """Last tokens of a chat that are read, as by servers that drop the beginning."""
        self.refuses: tuple[str, ...] = ()
        """Settings that are not known here."""
        self.fault: Callable[[int, str, dict[str, Any]], Fault | None] = lambda n, path, body: None
        self.asked: list[Asked] = []
        self.lock = threading.Lock()
        self._open: set[socket.socket] = set()

    @property
    def brain(self) -> Brain:
        """The model; a server that only talks has none."""
        assert self._brain, "this server has no model"
        return self._brain

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, which `hang_up` ends."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Close every connection that clients keep open: a thread must not outlive its test."""
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    @property
    def address(self) -> str:
        """Address as a user writes it."""
        return f"openai:http://127.0.0.1:{self.server_port}/v1"

    def texts(self) -> list[str]:
        """Return every text that was sent."""
        return [json.dumps(body) for _, body, _ in self.asked]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have hung up."""


class _Handler(BaseHTTPRequestHandler):
    server: OpenAIServer
    protocol_version = "HTTP/1.1"
    # Head and body go out apart, and the client need not confirm the one before the other.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self._answer(json.loads(self.rfile.read(length)))

    def _answer(self, body: dict[str, Any]) -> None:
        server = self.server
        with server.lock:
            number = len(server.asked)
            server.asked.append((self.path, body, dict(self.headers)))
        if fault := server.fault(number, self.path, body):
            return self._fail(fault)
        if server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
            sent = self.headers.get("Authorization")
            return self._send(401, {"error": {"message": f"Incorrect API key provided: {sent}"}})
        status, found = self._found(body)
        return self._send(status, found)

    def _fail(self, fault: Fault) -> None:
        time.sleep(fault.late)
        self.send_response(fault.status)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(fault.content)))
        self.end_headers()
        if fault.cut:
            self.wfile.write(fault.content[: len(fault.content) // 2])
            self.wfile.flush()
            self.close_connection = True
        elif fault.drip:
            for byte in fault.content:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(fault.drip)
        else:
            self.wfile.write(fault.content)

    def _send(self, status: int, found: Mapping[str, Any]) -> None:
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _found(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        server = self.server
        if self.path == "/v1/models":
            listed = [{"id": m, "object": "model", "owned_by": "test"} for m in server.models]
            return 200, {"object": "list", "data": listed}
        if self.path == "/v1/completions" and server.completions:
            answer = self._completion
        elif self.path == "/v1/chat/completions" and server.chat:
            answer = self._chat
        else:
            return 404, {"error": {"message": f"no {self.path} here"}}
        if body.get("model") not in server.models:
            return 404, {"error": {"message": f"The model {body.get('model')!r} does not exist."}}
        if unknown := [n for n in server.refuses if n in body]:
            return 400, {"error": {"message": f"Unrecognized request argument: {unknown[0]}"}}
        return answer(body)

    def _chat(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        *before, message = body["messages"]
        top: list[dict[str, object]] = []
        if talker := self.server.talker:
            system = before[0]["content"] if before else None
            text = talker(message["content"], system=system, seed=body.get("seed"))
            ids, new, reason = message["content"].split(), text.split(), "stop"
        else:
            if (wanted := body.get("top_logprobs", 0)) > self.server.top:
                return self._too_many(wanted)
            ids = self.server.brain.ids(f"{turns(body['messages'])}\n")[-self.server.window :]
            new, _, reason = self._new(ids, body)
            text = self.server.brain.behind(ids, new)
            top = [
                {"token": t, "logprob": p} for t, p in self._top(ids, body.get("top_logprobs", 0))
            ]
        return 200, {
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": reason,
                    "logprobs": {"content": [{"top_logprobs": top}]} if top else None,
                }
            ],
            "usage": {"prompt_tokens": len(ids), "completion_tokens": len(new)},
        }

    def _top(self, ids: list[int], k: int) -> list[tuple[str, float]]:
        values, tokens = self.server.brain.rows(ids)[-1].topk(k)
        return [
            (self.server.brain.word(int(t)), float(p)) for t, p in zip(tokens, values, strict=True)
        ]

    def _too_many(self, wanted: int) -> tuple[int, dict[str, Any]]:
        told = f"at most {self.server.top} likeliest tokens are given, not {wanted}"
        return 400, {"error": {"message": told}}

    def _new(self, ids: list[int], body: dict[str, Any]) -> tuple[list[int], list[float], str]:
        samples = body["temperature"] > 0
        seed = body.get("seed", 0) if self.server.seed_matters else len(self.server.asked)
        return self.server.brain.write(ids, body["max_tokens"], seed if samples else None)

    def _completion(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        server, brain = self.server, self.server.brain
        ids = brain.ids(body["prompt"])
        if len(ids) + body["max_tokens"] > server.most:
            told = f"This model's maximum context length is {server.most} tokens."
            return 400, {"error": {"message": told}}
        ids = ids[: server.cut]
        if server.top and body.get("logprobs") not in (None, 1) and body["logprobs"] > server.top:
            return self._too_many(body["logprobs"])
        new, numbers, reason = self._new(ids, body)
        choice: dict[str, Any] = {"index": 0, "finish_reason": reason}
        choice["text"] = (body["prompt"] if body.get("echo") else "") + brain.behind(ids, new)
        choice["logprobs"] = None
        if body.get("logprobs") is not None and server.logprobs:
            tokens, values = [brain.word(t) for t in new], list(numbers)
            if body.get("echo"):
                tokens, values = self._echoed(ids, new, numbers)
            choice["logprobs"] = {"tokens": tokens, "token_logprobs": values, "text_offset": []}
            if server.top:
                choice["logprobs"]["top_logprobs"] = [dict(self._top(ids, body["logprobs"]))]
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(new)}
        return 200, {"choices": [choice], "usage": usage}

    def _echoed(
        self, ids: list[int], new: list[int], numbers: list[float]
    ) -> tuple[list[str], list[float | None]]:
        brain, rows = self.server.brain, self.server.brain.rows(ids)
        values: list[float | None] = []
        if self.server.shape == "vllm":
            values = [None, *(float(rows[i, t]) for i, t in enumerate(ids[1:]))]
            return [brain.word(t) for t in (*ids, *new)], [*values, *numbers]
        # As llama-cpp-python: the first token goes if it is the one that begins texts, and what is
        # left is held against the rows in their order, whether or not one went.
        every = [*(ids[1:] if ids[0] == brain.bos else ids), *new][: len(ids)]
        values = [float(rows[i, t]) for i, t in enumerate(every)]
        return [brain.word(t) for t in every], [None, *values[1:]]


def turns(messages: list[dict[str, str]]) -> str:
    """Return the text of messages, as the template of this server has it."""
    return "\n".join(message["content"] for message in messages)


@contextmanager
def serving(
    brain: Brain | None,
    shape: str = "vllm",
    port: int = 0,
    talker: Callable[..., str] | None = None,
) -> Iterator[OpenAIServer]:
    """Run a server for the time of a block."""
    server = OpenAIServer(brain, shape, port, talker)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.hang_up()
        server.server_close()
        thread.join()
