"""Applications behind HTTP: what is sent, what is read, and every answer that is none."""

import json
import re
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from answer_server import Answers, AnswerServer, answering
from openai_server import Fault
from pytest_bias.errors import ModelError, ModelStopped, UsageError
from pytest_bias.models import ModelRef, describe, load
from pytest_bias.models.applications.mapping import at_path, filled, path_of
from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.served.questions import seed_of
from pytest_bias.models.served.settings import RequestSettings
from pytest_bias.settings.settings import Settings, from_json, read_settings, to_json
from writers import reasons, texts

ECHO = """
body: {question: "{prompt}"}
answer: text
"""


@pytest.fixture
def serve() -> Iterator[Callable[[Answers], AnswerServer]]:
    """Return a function that starts a server; it ends with the test."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda answers: stack.enter_context(answering(answers))


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from pytest_bias.models.served import client

    # Nothing is asked of other machines here, only described.
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(client, "PATIENCE", replace(client.PATIENCE, backoff_s=0.01, jitter_s=0.0))


def settings(mapping: str, folder: Path) -> Settings:
    """Return the settings of a file with this table ``application``."""
    lines = "".join(f"  {line}\n" for line in mapping.strip().splitlines())
    (folder / "pytest-bias.yaml").write_text(f"application:\n{lines}", encoding="utf-8")
    return read_settings({}, environment={}, folder=folder)


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Model]:
    """Return a function that loads an application by its address and mapping."""

    def model(server: AnswerServer, mapping: str = ECHO, **asking: Any) -> Model:
        found = settings(mapping, tmp_path).application
        asked = RequestSettings(**{"concurrency": 1, "retries": 1, **asking})
        return load(describe(server.url, asking=asked, mapping=found))

    return model


# Addresses


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://my-product.example/answer", "https://my-product.example/answer"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/"),
        ("HTTP://Host.Example:80/a/b", "http://host.example:80/a/b"),
        ("http://[::1]:8000/x%20y", "http://[::1]:8000/x%20y"),
    ],
)
def test_an_address_is_read_and_written(text: str, name: str) -> None:
    ref = ModelRef.parse(text)
    assert (ref.source, ref.name, ref.asked) == ("application", name, "an application")
    assert str(ref) == ref.argument == name
    assert ModelRef.parse(name) == ref


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("https://huggingface.co/org/name/tree/main", "goes by its name alone: org/name"),
        ("https://", "names no server"),
        ("http://host:port/", "is invalid"),
        ("http://host/a b", "has a character that no address can have"),
        ("https://me:hunter2@host/", "Authorization"),
        ("https://host/answer?key=hunter2", "application: {query: {name: value}}"),
        ("https://host/answer#hunter2", "which may be a secret"),
        ("ftp://host/answer", "is an address, not a model"),
    ],
)
def test_other_addresses_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        ModelRef.parse(text)
    assert words in str(error.value)
    assert "hunter2" not in str(error.value)


# The mapping


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ('body: {q: "{promt}"}', "line 2: application.body.q: has {promt}, which is not known. "
         "Did you mean {prompt}?"),
        ('body: {q: "{prompt}", x: "{question}"}', "Known: {prompt}, {system}, {seed}."),
        ('body: {q: hello}', "has no {prompt} in body or query"),
        ('answer: text', "has no {prompt} in body or query"),
        ('body: {q: {prompt}}', 'in YAML the placeholder needs quotes: "{prompt}"'),
        ('body: "{prompt}"', "must be a table or a list"),
        ('bdy: {q: "{prompt}"}', "Did you mean 'body'?"),
        ('method: FETCH\nbody: {q: "{prompt}"}', "'FETCH' is not known. Did you mean 'PATCH'?"),
        ('method: GET\nbody: {q: "{prompt}"}', "a request by GET has no body"),
        ('body: {q: "{prompt}"}\nanswer: a..b', "must be a path in the answer"),
        ('body: {q: "{prompt}"}\nanswer: "[x]"', "must be a path in the answer"),
        ('body: {q: "{prompt}"}\nheaders: {Authorization: Bearer hunter2}', "${MY_TOKEN}"),
        ('body: {q: "{prompt}"}\nheaders: {X-Api-Key: hunter2}', "belongs into the environment"),
        ('body: {q: "{prompt}"}\nheaders: {X-Auth-Token: hunter2}', "belongs into the environ"),
        ('body: {q: "{prompt}"}\nheaders: {"X y": a}', "is no name of a header"),
        ('body: {q: "{prompt}"}\nheaders: {X-Who: "{prompt}"}', "nothing is filled in here"),
        ('body: {q: "{prompt}"}\ntokens: {inptu: a}', "Did you mean 'input'?"),
    ],
)  # fmt: skip
def test_a_wrong_mapping_is_one_message(mapping: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        settings(mapping, tmp_path)
    assert words in str(error.value)
    assert "hunter2" not in str(error.value)


def test_without_a_mapping_it_is_said_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        describe("https://my-product.example/answer")
    assert error.value.hint
    _, _, said = error.value.hint.partition(": ")
    (tmp_path / "pytest-bias.yaml").write_text(said, encoding="utf-8")
    found = read_settings({}, environment={}, folder=tmp_path).application
    assert describe("https://my-product.example/answer", mapping=found)


def test_a_mapping_survives_the_way_to_another_process(tmp_path: Path) -> None:
    mapping = """
headers: {X-Api-Key: "${OWN_KEY}"}
body: {q: "{prompt}", n: 3, half: 0.5, on: true, off: "true", three: "3", none: null, l: [1]}
answer: a[0].b
"""
    found = settings(mapping, tmp_path)
    assert from_json(to_json(found)).application == found.application
    body = {"n": 3, "half": 0.5, "on": True, "off": "true", "three": "3", "none": None, "l": [1]}
    assert found.application["body"] == {"q": "{prompt}", **body}
    (tmp_path / "pytest-bias.yaml").unlink()
    toml = '[tool.pytest-bias.application]\nbody = {q = "{prompt}", n = 3, on = true, t = "3"}'
    (tmp_path / "pyproject.toml").write_text(toml, encoding="utf-8")
    of_toml = read_settings({}, environment={}, folder=tmp_path).application
    assert of_toml["body"] == {"q": "{prompt}", "n": 3, "on": True, "t": "3"}


def test_places_are_filled_in_values_only() -> None:
    template = {
        "{prompt}": "{prompt}",
        "both": "{system}|{prompt}|{seed}",
        "seed": "{seed}",
        "turns": [{"role": "system", "text": "{system}"}, {"role": "user", "text": "{prompt}"}],
    }
    whole = filled(template, {"prompt": 'a "{seed}"\n', "system": "S", "seed": 3})
    assert whole == {
        "{prompt}": 'a "{seed}"\n',
        "both": 'S|a "{seed}"\n|3',
        "seed": 3,
        "turns": [{"role": "system", "text": "S"}, {"role": "user", "text": 'a "{seed}"\n'}],
    }
    bare = filled(template, {"prompt": "P", "system": None, "seed": None})
    assert bare == {"{prompt}": "P", "both": "|P|", "turns": [{"role": "user", "text": "P"}]}
    # An entry with the prompt stays, without its system text.
    batch = filled([{"s": "{system}", "p": "{prompt}"}], {"prompt": "P", "system": None})
    assert batch == [{"p": "P"}]


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("", ()),
        ("text", ("text",)),
        ("choices[0].message.content", ("choices", 0, "message", "content")),
        ("[1][0].a-b", (1, 0, "a-b")),
        ("a.", None),
        (".a", None),
        ("a[]", None),
        ("a.[0]", None),
        ("a[-1]", None),
    ],
)
def test_paths(said: str, path: Any) -> None:
    assert path_of(said) == path


def test_what_stands_at_a_path() -> None:
    assert at_path({"a": [{"b": "x"}]}, ("a", 0, "b")) == "x"


# What is sent


def test_what_is_sent_and_read(serve: Any, loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_KEY", "s3cret-value")
    server = serve(lambda r: {"data": [{"text": f"on {r.body['q']}"}]})
    mapping = """
headers: {X-Api-Key: "${OWN_KEY}", X-Team: bias}
query: {v: "2"}
body: {q: "{prompt}", s: "{system}", seed: "{seed}", n: 3}
answer: data[0].text
"""
    model = loaded(server, mapping)
    model.system = "Be brief."
    hard = 'He said: "{seed}" \\ ${OWN_KEY}\n\u2028 \U0001f600'
    assert texts(model, hard) == [f"on {hard}"]
    (request,) = server.asked
    assert (request.method, request.path, request.query) == ("POST", "/answer", {"v": "2"})
    assert request.body == {"q": hard, "s": "Be brief.", "n": 3}
    assert request.headers["X-Api-Key"] == "s3cret-value"
    assert request.headers["X-Team"] == "bias"
    assert request.headers["Content-Type"] == "application/json"
    texts(model, "x", sample=True, n=2, seed=7)
    assert [r.body["seed"] for r in server.asked[1:]] == [seed_of(7, "x", k) for k in range(2)]


def test_get_sends_a_query_and_reads_a_whole_answer(serve: Any, loaded: Any) -> None:
    server = serve(lambda r: f"Said: {r.query['q']}")
    model = loaded(server, 'method: GET\nquery: {q: "{prompt}&x=1", seed: "{seed}"}')
    assert texts(model, "a b&c") == ["Said: a b&c&x=1"]
    assert server.asked[0].query == {"q": "a b&c&x=1"}
    assert server.asked[0].body is None


def test_only_texts_can_be_asked_for(serve: Any, loaded: Any) -> None:
    model = loaded(serve(lambda r: {"text": "x"}))
    assert model.identity.kind == ModelKind.APPLICATION.value
    assert {Capability.GENERATE, Capability.OPEN_VOCABULARY} == model.capabilities


def test_a_system_text_needs_its_place(serve: Any, loaded: Any) -> None:
    server = serve(lambda r: {"text": "x"})
    model = loaded(server)
    model.system = "Be brief."
    with pytest.raises(ModelError, match="takes none") as error:
        texts(model, "Hello")
    assert "{system}" in str(error.value.hint)
    assert server.asked == []


def test_requests_run_at_a_time_and_equal_prompts_are_asked_once(serve: Any, loaded: Any) -> None:
    together = threading.Barrier(4, timeout=10)

    def answer(request: Any) -> dict[str, str]:
        together.wait()
        return {"text": request.body["question"]}

    server = serve(answer)
    model = loaded(server, concurrency=4)
    assert texts(model, *"abcdabcd") == [*"abcdabcd"]
    assert len(server.asked) == model.meter.forwards == 4


def test_the_example_of_the_documentation(
    serve: Any, loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[2] / "docs" / "applications.md"
    section = page.read_text(encoding="utf-8").partition("## Behind HTTP")[2]
    (mapping,) = re.findall(r"```yaml\napplication:\n(.*?)```", section.partition("\n## ")[0], re.S)
    sent, answer = map(json.loads, re.findall(r"```json\n(.*?)```", section, re.S))
    monkeypatch.setenv("MY_TOKEN", "s3cret-value")
    monkeypatch.setattr("pytest_bias.models.applications.model.seed_of", lambda *_: 7)
    server = serve(lambda r: answer)
    model = loaded(server, textwrap.dedent(mapping))
    model.system = "Be brief."
    assert texts(model, "Who is the engineer?", sample=True) == ["It is not said."]
    (request,) = server.asked
    assert (request.method, request.query, request.body) == ("POST", {"version": "2"}, sent)
    assert request.headers["Authorization"] == "Bearer s3cret-value"


# Identity


def test_the_identity_has_no_secret_and_changes_with_the_mapping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "https://my-product.example/answer"

    def known(mapping: str) -> Any:
        about = describe(url, mapping=settings(mapping, tmp_path).application)
        assert about.identity.application
        return about.identity, about.weights_digest()

    with_key = f'headers: {{X-Api-Key: "${{OWN_KEY}}"}}\n{ECHO.strip()}'
    monkeypatch.setenv("OWN_KEY", "s3cret-value")
    identity, first = known(with_key)
    assert (identity.reference, identity.kind) == (url, "application")
    assert (identity.application.url, identity.application.method) == (url, "POST")
    assert identity.application.seeded is False
    monkeypatch.setenv("OWN_KEY", "another-value")
    assert known(with_key) == (identity, first)
    assert "another-value" not in repr(
        describe(url, mapping=settings(with_key, tmp_path).application)
    )
    # Where the numbers of tokens stand changes no answer.
    assert known(f"{with_key}\ntokens: {{input: a}}")[1] == first
    others = [
        with_key.replace("answer: text", "answer: other"),
        with_key.replace("question", "q"),
        with_key.replace("OWN_KEY", "OTHER_KEY"),
        f"{with_key}\nmethod: PUT",
    ]
    monkeypatch.setenv("OTHER_KEY", "another-value")
    assert len({first, *(known(one)[1] for one in others)}) == 5


def test_a_variable_that_is_not_set_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapping = settings(f'headers: {{X-Api-Key: "${{OWN_KEY}}"}}\n{ECHO.strip()}', tmp_path)
    monkeypatch.delenv("OWN_KEY", raising=False)
    with pytest.raises(UsageError, match=r"\$\{OWN_KEY\} is not set"):
        describe("https://host.example/", mapping=mapping.application)
    monkeypatch.setenv("OWN_KEY", "hunter2\nX: y")
    with pytest.raises(UsageError, match="OWN_KEY has a character") as error:
        describe("https://host.example/", mapping=mapping.application)
    assert "hunter2" not in str(error.value)


def test_offline_uses_this_machine_only(tmp_path: Path) -> None:
    mapping = settings(ECHO, tmp_path).application
    with pytest.raises(ModelError, match="this run is offline"):
        describe("https://my-product.example/answer", offline=True, mapping=mapping)
    assert describe("http://127.0.0.1:9/answer", offline=True, mapping=mapping)


# Answers that are none


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"txt": "x", "id": 1}, "the answer has no 'text'; it has: txt, id; did you mean 'txt'?"),
        ([1, 2], "the answer has a list, no table with 'text'"),
        ({"text": {"a": 1}}, "what the answer has at text is no text"),
        ("<html>gone</html>", "the answer is no JSON: <html>gone</html>"),
    ],
)
def test_a_path_that_is_never_there_ends_the_run_at_once(
    serve: Any, loaded: Any, answer: Any, words: str
) -> None:
    server = serve(lambda r: answer)
    with pytest.raises(ModelStopped) as error:
        texts(loaded(server), *"abcdef")
    assert words in error.value.message
    assert "application: {answer: …}" in str(error.value.hint)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"error": "filtered"}, "the answer has no 'text'; it has: error"),
        ({"text": ""}, "the text at text is empty"),
        ({"text": None}, "the text at text is empty"),
        ("", "the application answers nothing"),
        (Fault(400, b'{"error": "too long"}'), "refuses it (400): too long"),
        (Fault(500, b"oops"), "no answer after 2 attempts"),
        (Fault(200, b'{"text": "x"}', cut=True), "no answer after 2 attempts"),
        (Fault(200, b'{"text": "\xff"}'), "is no text in UTF-8"),
    ],
)
def test_one_answer_that_is_none_is_a_reason_and_not_kept(
    serve: Any, loaded: Any, tmp_path: Path, answer: Any, words: str
) -> None:
    broken = [True]

    def answers(request: Any) -> Any:
        is_it = broken[0] and request.body["question"] == "b"
        return answer if is_it else {"text": request.body["question"]}

    server = serve(answers)
    model = loaded(server)
    model.keep(tmp_path / "kept")
    found = model.generate(["a", "b", "c"], max_new_tokens=8)
    assert [c.reason is None for c in found] == [True, False, True]
    assert words in str(found[1].reason)
    model.keep(None)
    broken[0], before = False, len(server.asked)
    again = loaded(server)
    again.keep(tmp_path / "kept")
    assert texts(again, "a", "b", "c") == ["a", "b", "c"]
    assert [r.body["question"] for r in server.asked[before:]] == ["b"]


def test_a_busy_application_is_asked_again_when_it_says(serve: Any, loaded: Any) -> None:
    import time

    def answers(request: Any) -> Any:
        if request.n <= 2:
            after = {"Retry-After": "1"} if request.n == 1 else {}
            return Fault(429 if request.n == 1 else 500, b"busy", after)
        return {"text": "x"}

    server = serve(answers)
    model = loaded(server, retries=3)
    told: list[str] = []
    model.meter.on_notice = told.append
    start = time.monotonic()
    assert texts(model, "a") == ["x"]
    assert time.monotonic() - start >= 1
    model.keep(None)
    assert told == ["2 requests were tried again (1 × 429, 1 × 500)."]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(401, b"{}"), "refuses access (401): what OWN_KEY holds is not accepted"),
        (Fault(404, b'{"detail": "no route"}'), "(404): no route"),
        (Fault(402, b'{"error": "no credit"}'), "answers 402: no credit"),
        (Fault(302, b"", {"Location": "http://elsewhere.example/"}), "redirects requests (302)"),
        (Fault(429, b"busy"), "no answer after 2 attempts"),
    ],
)
def test_what_no_call_can_get_past_ends_the_run(
    serve: Any, loaded: Any, monkeypatch: pytest.MonkeyPatch, fault: Fault, words: str
) -> None:
    monkeypatch.setenv("OWN_KEY", "s3cret-value")
    server = serve(lambda r: fault)
    mapping = f'headers: {{Authorization: "Bearer ${{OWN_KEY}}"}}\n{ECHO.strip()}'
    with pytest.raises(ModelStopped) as error:
        texts(loaded(server, mapping), *"abc")
    assert words in error.value.message
    assert len(server.asked) <= 2


def test_no_server_is_one_attempt(serve: Any, loaded: Any) -> None:
    with answering(lambda r: {}) as server:
        pass
    model = loaded(server, retries=6)
    with pytest.raises(ModelStopped, match=r"no answer after one attempt: no connection"):
        texts(model, "a")


def test_one_that_hangs_is_given_up(serve: Any, loaded: Any) -> None:
    server = serve(lambda r: Fault(late=3))
    with pytest.raises(ModelStopped, match="3 calls in a row had no answer after 2 attempts"):
        texts(loaded(server, timeout=0.1, retries=1), *"abcdef")
    assert len(server.asked) == 6


def test_a_secret_is_shown_nowhere(
    serve: Any, loaded: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", "s3cret/value")
    server = serve(
        lambda r: (
            {"text": f"your key is {r.headers['X-Api-Key']}, s3cret%2Fvalue"}
            if r.body["question"] == "a"
            else Fault(400, json.dumps({"error": f"bad key {r.headers['X-Api-Key']}"}).encode())
        )
    )
    model = loaded(server, f'headers: {{X-Api-Key: "${{OWN_KEY}}"}}\n{ECHO.strip()}')
    model.keep(tmp_path / "kept")
    assert texts(model, "a") == ["your key is ***, ***"]
    (reason,) = reasons(model, "b")
    assert "bad key ***" in str(reason)
    model.keep(None)
    kept = "".join(p.read_text(encoding="utf-8") for p in (tmp_path / "kept").rglob("*.jsonl"))
    assert "your key is ***" in kept
    assert "s3cret" not in kept + repr(model)
