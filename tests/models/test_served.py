"""Parts of served models: addresses, settings, echoes, answers that are kept, requests."""

import math
import threading
import time
from collections import Counter
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.forms.yaml_with_lines import Marked, as_texts
from pytest_bias.models import ModelRef
from pytest_bias.models.served import client as clients
from pytest_bias.models.served.address import is_loopback, shown_name
from pytest_bias.models.served.client import Client, Refused, Unanswered, again_in_words, read_key
from pytest_bias.models.served.echoes import Unreadable, joined, listed, read_echo
from pytest_bias.models.served.kept import Kept
from pytest_bias.models.served.model import _labels
from pytest_bias.models.served.parallel import in_parallel
from pytest_bias.models.served.questions import How, Likelihood, Writing, seed_of
from pytest_bias.models.served.settings import ASKING, RequestSettings

# Labels of options


def test_a_word_is_read_in_any_case_and_a_letter_as_it_is() -> None:
    p = {"Yes": 0.3, " yes": 0.2, "YES": 0.1, "\nno": 0.25, "a": 0.1, " A": 0.05, "Yesterday": 0.01}
    top = {"top": [[token, math.log(value)] for token, value in p.items()]}
    yes, no = _labels(top, ("yes", "no")).log_probabilities
    assert (math.exp(yes), math.exp(no)) == pytest.approx((0.6, 0.25))
    a, b = _labels(top, ("A", "B")).log_probabilities
    assert math.exp(a) == pytest.approx(0.05)
    assert b == -math.inf


# Addresses


@pytest.mark.parametrize(
    ("text", "server", "name"),
    [
        ("openai:http://127.0.0.1:8000/v1#org/name", "http://127.0.0.1:8000/v1", "org/name"),
        ("openai:https://Host.example/v1/", "https://host.example/v1", ""),
        ("openai:http://[::1]:80/v1#a:8b", "http://[::1]:80/v1", "a:8b"),
        ("openai:http://localhost#C+ R", "http://localhost", "C+ R"),
    ],
)
def test_an_address_is_read_and_written(text: str, server: str, name: str) -> None:
    ref = ModelRef.parse(text)
    assert (ref.source, ref.server, ref.name) == ("served", server, name)
    assert ModelRef.parse(str(ref)) == ref
    assert ModelRef.parse(ref.argument) == ref


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("openai:http://user:pass@host/v1", "a user name or a password"),
        ("openai:http://token@host/v1", "a user name or a password"),
        ("openai:http://host/v1?key=pass", "has a query"),
        ("openai:ftp://host/v1", "names no server"),
        ("openai:host:80/v1", "names no server"),
        ("openai:http://host:99999/v1", "is invalid"),
        ("openai:http://host/v1 #x", "a space or an invisible character"),
        ("openai:http://host/v1#x@main", "has no revision"),
        ("openai:http://host/v1#x+org/adapter", "no adapter"),
    ],
)
def test_other_addresses_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        ModelRef.parse(text)
    assert "pass" not in str(error.value).replace("password", "")


def test_this_machine_is_known_by_its_address() -> None:
    near = ["http://localhost:1/v1", "http://127.0.0.2/v1", "http://[::1]:8/v1"]
    far = ["http://localhost.example.org/v1", "http://10.0.0.1/v1", "https://127.0.0.1.nip.io"]
    assert [is_loopback(a) for a in (*near, *far)] == [True] * 3 + [False] * 3


def test_folders_of_the_server_are_not_shown() -> None:
    names = ["/home/me/m.gguf", "C:\\models\\m.gguf", "org/name", "llama3:8b"]
    assert list(map(shown_name, names)) == ["m.gguf", "m.gguf", "org/name", "llama3:8b"]


# Settings


def test_the_table_has_every_setting_within_its_limits() -> None:
    with pytest.raises(UsageError, match=f"Known: {', '.join(RequestSettings.__slots__)}"):
        ASKING(Marked(), (), {"x": "1"})
    given = {"concurrency": 3, "timeout": 1.5, "retries": 0, "requests_per_minute": None}
    found = ASKING(Marked(), (), as_texts({**given, "prefix": "<s>"}))
    assert RequestSettings(**found) == RequestSettings(3, 1.5, 0, None, "<s>")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"timeuot": 1}, "Did you mean 'timeout'"),
        ({"concurrency": 0}, "whole number from 1 to 256"),
        ({"concurrency": 1.5}, "whole number"),
        ({"retries": True}, "whole number from 0"),
        ({"prefix": ""}, "a text of 1 to 200 characters"),
        ({"requests_per_minute": "many"}, "a number from 0.1 to 1,000,000, not 'many'"),
    ],
)
def test_a_wrong_setting_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ASKING(Marked(), (), as_texts(given))


# Echoes


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["He", " works", "."], "He works."),
        # Written as if each were alone.
        (["He", "works", "."], "He works."),
        # Parts of a character, as servers write them.
        (["caf", "\N{REPLACEMENT CHARACTER}", "\N{REPLACEMENT CHARACTER}", "!"], "café!"),
        (["caf", "", "", "!"], "café!"),
        ([" \N{REPLACEMENT CHARACTER}", "", "s"], " ’s"),
        (["bytes:\\xe5", "<0xA5>", "", " x"], "好 x"),
        (["a", "", ""], "a好"),
        (["<0x41> is", " text"], "<0x41> is text"),
    ],
)
def test_tokens_that_make_a_text(tokens: list[str], text: str) -> None:
    spans = joined(tokens, text)
    assert spans is not None
    assert len(spans) == len(tokens)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(a <= b for a, b in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["He", " works"], "He works."),
        ([" works", "."], "He works."),
        (["He", " works", ".", " And"], "He works."),
        # What is lost stands for no ASCII.
        (["He", "", "."], "He works."),
        (["He", ""], "He works."),
        (["He", "  ", "works"], "He works"),
    ],
)
def test_tokens_that_make_another_text(tokens: list[str], text: str) -> None:
    assert joined(tokens, text) is None


def test_what_stands_in_front_is_not_scored() -> None:
    tokens, values = ["<s>", "He", " works", " as"], [None, -1.0, -2.0, -9.0]
    echo = read_echo(tokens, values, 1, "He works")
    assert (echo.front, echo.score().total, echo.score().n_tokens) == ("<s>", -3.0, 2)
    # The prefix comes back or not, and its own numbers do not count.
    with_prefix = read_echo(["<s>", "He", " works"], [None, -1.0, -2.0], 0, "He works", "<s>")
    assert with_prefix.score() == echo.score()
    gone = read_echo(["He", " works", " as"], [None, -2.0, -9.0], 1, "He works", "<s>")
    assert (gone.score().total, gone.score().n_tokens, gone.score().n_unscored) == (-2.0, 1, 1)
    two = read_echo(["<s>", "\n", "He"], [None, -5.0, -1.0], 0, "He", "<s>\n")
    assert two.score().total == -1.0


def test_one_space_of_the_tokenizer_is_no_other_text() -> None:
    echo = read_echo([" He", " works"], [None, -2.0], 0, "He works")
    assert echo.spans == ((0, 2), (2, 8))
    assert echo.score().n_unscored == 1


def test_a_token_that_is_half_prefix_is_no_token_of_the_text() -> None:
    with pytest.raises(Unreadable, match="begins in the prefix"):
        read_echo(["<s>a", "b"], [None, -1.0], 0, "ab", "<s>")


def test_only_the_parts_of_a_passage_count() -> None:
    echo = read_echo(["ab", "cd", "ef"], [None, -2.0, -4.0], 0, "abcdef")
    assert echo.score([(3, 4)]).total == -2.0
    assert echo.score([(3, 5)]).total == -6.0
    assert echo.score([(0, 1)]).reason == "one token, and nothing to condition it on"


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        {"tokens": ["a"], "token_logprobs": []},
        {"tokens": ["a"], "token_logprobs": ["-1"]},
        {"tokens": [1], "token_logprobs": [-1.0]},
        {"tokens": [], "token_logprobs": []},
        {"tokens": ["a"], "token_logprobs": [float("nan")]},
    ],
)
def test_an_answer_without_numbers_is_none(logprobs: object) -> None:
    with pytest.raises(Unreadable):
        listed({"choices": [{"logprobs": logprobs}]})


# Questions


def test_a_question_is_known_by_all_that_decides_its_answer() -> None:
    how = How(8, sample=True, seed=1)
    keys = {
        Writing.of("m", "a", 0, how).key,
        Writing.of("m", "a", 1, how).key,
        Writing.of("n", "a", 0, how).key,
        Writing.of("m", "a", 0, How(9, sample=True, seed=1)).key,
        Writing.of("m", "a", 0, How(8, sample=True, seed=1, chat=True)).key,
        Likelihood.of("m", "a").key,
    }
    assert len(keys) == 6
    assert Writing.of("m", "a", 0, how).key in keys
    assert 0 <= seed_of(0, "a", 0) < 2**31


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"text": " x", "finish_reason": "stop"}, " x eos"),
        ({"text": "", "finish_reason": "length"}, " length"),
        ({"text": "x", "finish_reason": "content_filter"}, "another reason: 'content_filter'"),
        ({"text": 3, "finish_reason": "stop"}, "no text"),
        ({"text": "\ud800", "finish_reason": "stop"}, "? eos"),
    ],
)
def test_a_written_text_is_read(choice: dict[str, object], expected: str) -> None:
    answer = Writing.of("m", "a", 0, How(8)).read({"choices": [choice]})
    told = answer.get("reason") or f"{answer['text']} {answer['finished']}"
    assert expected in told


# Answers that are kept


def test_answers_are_found_again_by_their_model_and_question(tmp_path: Path) -> None:
    one = Kept(tmp_path, {"model": 1})
    one.add("q", {"text": "好"})
    one.flush()
    assert Kept(tmp_path, {"model": 1}).known == {"q": {"text": "好"}}
    assert Kept(tmp_path, {"model": 2}).known == {}
    (file,) = one.path.iterdir()
    (one.path / "0-damaged.jsonl").write_bytes(b'{"question": "r", "answer"')
    (one.path / "1-damaged.jsonl").write_bytes(b"\xff\xfe")
    assert Kept(tmp_path, {"model": 1}).known == {"q": {"text": "好"}}
    assert file.suffix == ".jsonl"


# Requests


class _Scripted(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.times = list(answers), []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: _Scripted

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.times.append(time.monotonic())
        answers = self.server.answers
        status, headers, content = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def asked(server: _Scripted, **asking: object) -> Client:
    return Client(f"http://127.0.0.1:{server.server_port}", RequestSettings(**asking))  # type: ignore[arg-type]


def test_a_server_says_how_long_to_wait() -> None:
    server = _Scripted((429, {"Retry-After": "1"}, b""), (200, {}, b'{"a": 1}'))
    client = asked(server)
    assert client.ask("/x") == {"a": 1}
    assert server.times[1] - server.times[0] >= 1
    assert client.again == Counter({"429": 1})


def test_nobody_waits_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "PATIENCE", replace(clients.PATIENCE, longest_s=0.05))
    server = _Scripted((503, {"Retry-After": "86400"}, b""), (200, {}, b"{}"))
    start = time.monotonic()
    assert asked(server).ask("/x") == {}
    assert time.monotonic() - start < 5


def test_after_the_last_attempt_the_reason_is_told() -> None:
    server = _Scripted((500, {}, b'{"error": {"message": "the   model\\nis ill"}}'))
    client = asked(server, retries=1)
    words = r"after 2 attempts: the server answers 500 \(Internal Server Error\): the model is ill"
    with pytest.raises(Unanswered, match=words):
        client.ask("/x")
    assert len(server.times) == 2


def test_requests_keep_the_pace_that_was_set() -> None:
    server = _Scripted((200, {}, b"{}"))
    client = asked(server, requests_per_minute=600)
    list(in_parallel(range(6), lambda _: client.ask("/x"), 6))
    assert server.times[-1] - server.times[0] >= 0.45


def test_who_stops_does_not_wait() -> None:
    server = _Scripted((429, {"Retry-After": "60"}, b""))
    client = asked(server)
    threading.Timer(0.2, client.stopped.set).start()
    start = time.monotonic()
    with pytest.raises(Unanswered, match="not waited for"):
        client.ask("/x")
    assert time.monotonic() - start < 5


def test_a_refusal_is_about_one_request() -> None:
    server = _Scripted((400, {}, b'{"detail": "too long"}'))
    with pytest.raises(Refused, match=r"\(400\): too long"):
        asked(server).ask("/x")


def test_a_certificate_that_is_not_trusted_is_told_with_what_helps() -> None:
    server = _Scripted((200, {}, b"{}"))
    client = Client(f"https://127.0.0.1:{server.server_port}", RequestSettings())
    with pytest.raises(ModelError, match="the certificate of 127") as error:
        client.ask("/x")
    assert "REQUESTS_CA_BUNDLE" in str(error.value.hint)


def test_a_key_stays_out_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    server = _Scripted((418, {}, b"who has abc-def?"))
    client = Client(f"http://127.0.0.1:{server.server_port}", RequestSettings(), "abc-def")
    assert "abc-def" not in repr(client)
    with pytest.raises(ModelError, match=r"418: who has \*\*\*\?"):
        client.ask("/x")
    monkeypatch.setenv("OPENAI_API_KEY", "one two")
    with pytest.raises(UsageError, match="no key can have") as error:
        read_key()
    assert "one two" not in str(error.value)
    monkeypatch.setenv("PYTEST_BIAS_API_KEY", " first ")
    assert read_key() == "first"


def test_what_was_tried_again_is_counted_in_words() -> None:
    assert again_in_words({}) == ""
    assert again_in_words({"429": 1}) == "1 request was tried again (1 × 429)."
    told = again_in_words(Counter({"timeout": 6, "429": 31}))
    assert told == "37 requests were tried again (31 × 429, 6 × timeout)."


def test_the_first_failure_ends_parallel_work() -> None:
    begun: list[int] = []

    def work(n: int) -> int:
        begun.append(n)
        if n == 3:
            raise ValueError("three")
        time.sleep(0.01)
        return n

    with pytest.raises(ValueError, match="three"):
        list(in_parallel(range(1000), work, 4))
    assert len(begun) < 100
    assert sorted(in_parallel([5, 6], lambda n: n, 9)) == [(0, 5), (1, 6)]
