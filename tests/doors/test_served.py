"""Models behind a server through the whole command, and every way in which a server can fail."""

import csv
import itertools
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Ran, headline, read, statuses, suite
from openai_server import Brain, Fault, OpenAIServer, serving
from pytest_bias.errors import UsageError
from pytest_bias.models import describe, load
from pytest_bias.models.interface import Capability
from pytest_bias.models.served.settings import RequestSettings

END = "<|end|>"
KEY = "sk-a-key-that-nobody-may-see"
N_PAIRS = 12


@pytest.fixture(scope="module")
def brain(tiny: Callable[[str], Path]) -> Brain:
    return Brain(tiny("gpt2"))


@pytest.fixture
def server(brain: Brain) -> Iterator[OpenAIServer]:
    with serving(brain) as found:
        yield found


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Path:
    """Return a folder with the first pairs of CrowS-Pairs."""
    source = data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
    own = tmp_path_factory.mktemp("data") / "crows_pairs" / source.name
    own.parent.mkdir()
    lines = source.read_text(encoding="utf-8").splitlines(True)
    own.write_text("".join(lines[: N_PAIRS + 1]), encoding="utf-8")
    with own.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            SENTENCES.update((row["sent_more"], row["sent_less"]))
    return own.parent.parent


@pytest.fixture
def measure(bias: Command, pairs: Path, tmp_path: Path) -> Callable[..., Ran]:
    """Return a function that measures the pairs on a model, with a table `served`."""

    def run(model: object, *words: object, **asking: object) -> Ran:
        asking = {"prefix": END, "timeout": 20, "retries": 2, **asking}
        (tmp_path / "pytest-bias.yaml").write_text(json.dumps({"served": asking}))
        return bias(
            *("run", model, "--suite", "crows_pairs[en]", "--data-dir", pairs, "--out", "out"),
            *words,
        )

    return run


def records(folder: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    return pq.read_table(folder / "records" / "crows_pairs[en].parquet").to_pylist()


def echoes(server: OpenAIServer) -> list[str]:
    """Return the sentences of the pairs whose likelihood was asked for."""
    return [body["prompt"] for _, body, _ in server.asked if is_of_pair(body)]


def is_of_pair(body: dict[str, Any]) -> bool:
    """Whether a request is about a sentence of the data, and not of the probe or the structure."""
    return bool(body.get("echo")) and body["prompt"].removeprefix(END) in SENTENCES


SENTENCES: set[str] = set()


def nth(k: Callable[[int], bool], fault: Fault) -> Callable[[int, str, Any], Fault | None]:
    """Fail on some of the requests about pairs, counted from 1."""
    seen = itertools.count(1)
    return lambda n, path, body: fault if is_of_pair(body) and k(next(seen)) else None


# What is measured


def test_values_are_those_of_the_model_loaded_here(
    server: OpenAIServer, tiny: Callable[[str], Path], measure: Callable[..., Ran], tmp_path: Path
) -> None:
    served = measure(server.address).done()
    here = measure(tiny("gpt2"), "--out", "here").done()
    one, two = (read(tmp_path / name / "report.json") for name in ("out", "here"))
    assert headline(one, "crows_pairs")["value"] == headline(two, "crows_pairs")["value"]
    ours, theirs = records(tmp_path / "out"), records(tmp_path / "here")
    assert [r["item"] for r in ours] == [r["item"] for r in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert (a["status"], a["value"], a["text_sha256"]) == (
            "scored",
            b["value"],
            b["text_sha256"],
        )
        first, second = json.loads(a["detail"]), json.loads(b["detail"])
        assert first.keys() == second.keys()
        for name, number in second.items():
            assert first[name] == pytest.approx(number, abs=1e-4), name
    model = one["model"]
    assert model["reference"] == f"{server.address}#tiny"
    assert (model["kind"], model["architecture"], model["dtype"]) == ("causal", "served", "unknown")
    unknown = ("revision", "parameters", "weights_sha256", "config_sha256", "tokenizer_sha256")
    assert [model[name] for name in unknown] == [None] * 5
    assert model["served"]["owned_by"] == "test"
    assert model["prefix_token"] == f"'{END}'"
    assert two["model"]["served"] is None
    assert "served, its weights, size and precision are not known" in served.said
    for name in ("report.html", "card.md", "summary.md"):
        assert "served" in (tmp_path / "out" / name).read_text(encoding="utf-8")
    assert here.code == 0
    assert not (tmp_path / "out" / "unfinished").exists()


@pytest.mark.slow
def test_neither_concurrency_nor_order_nor_shards_change_the_digest(
    server: OpenAIServer, measure: Callable[..., Ran], bias: Command, tmp_path: Path
) -> None:
    measure(server.address, concurrency=1).done()
    before = echoes(server)
    # The later a text was asked for, the sooner it is answered.
    server.fault = lambda n, path, body: time.sleep(0.02 * (n % 7 == 0)) or None
    measure(server.address, "--out", "wide", concurrency=16).done()
    after = echoes(server)[len(before) :]
    assert sorted(before) == sorted(after)
    one, two = (read(tmp_path / name / "report.json") for name in ("out", "wide"))
    assert one["digest"] == two["digest"]
    for number in (1, 2):
        measure(server.address, "--shard", f"{number}/2", "--out", f"part-{number}").done()
    bias("merge", "part-1", "part-2", "--out", "whole").done()
    assert read(tmp_path / "whole" / "report.json")["digest"] == one["digest"]


@pytest.mark.slow
def test_what_cannot_be_had_is_not_applicable(
    server: OpenAIServer, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    measure(server.address, "--suite", "choenni_stereotypes", "--suite", "seat[en]")
    report = read(tmp_path / "out" / "report.json")
    assert statuses(report)["choenni_stereotypes"] == statuses(report)["seat"] == "not_applicable"
    assert "as many of the likeliest next tokens" in suite(report, "choenni_stereotypes")["reason"]


def test_llama_cpp_python_s_places_are_found_wrong_without_a_prefix(
    brain: Brain, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    with serving(brain, "llama") as server:
        found = measure(server.address, prefix=None)
        report = read(tmp_path / "out" / "report.json")
        assert statuses(report)["crows_pairs"] == "not_applicable"
        reason = suite(report, "crows_pairs")["reason"]
        assert "they stand at the wrong tokens" in reason
        assert "served: {prefix: '<s>'}" in reason
        assert "There is no likelihood of texts" in found.said
        measure(server.address, "--out", "with", prefix=END).done()
        report = read(tmp_path / "with" / "report.json")
        assert report["model"]["prefix_token"] == f"'{END}', first token unscored"
        assert {r["status"] for r in records(tmp_path / "with")} == {"scored"}


@pytest.mark.slow
def test_the_plugin_measures_a_served_model(
    server: OpenAIServer, pairs: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--pyargs", "bias_suites", "-p", "no:cacheprovider", "-v")
    done = pytester.runpytest_subprocess(
        *words,
        *("--bias-model", server.address, "--bias-suite", "crows_pairs[en]"),
        *("--bias-data-dir", str(pairs), "--bias-out", "out"),
    )
    done.assert_outcomes(passed=2)
    report = read(pytester.path / "out" / "report.json")
    assert report["model"]["served"]["model"] == "tiny"
    assert headline(report, "crows_pairs")["n"] == N_PAIRS


# What is refused before anything is measured


REFUSED: dict[str, tuple[Callable[[OpenAIServer], Any], int, tuple[str, ...]]] = {
    "nobody there": (
        lambda s: "openai:http://127.0.0.1:9/v1",
        3,
        ("not a usable model server", "(Connection refused)"),
    ),
    "wrong path": (
        lambda s: s.address.removesuffix("/v1"),
        3,
        ("does not know what is asked for (404)", "ends in /v1"),
    ),
    "no such model": (
        lambda s: f"{s.address}#tinny",
        2,
        ("'tinny' is not known", "Did you mean 'tiny'?"),
    ),
    "several models": (
        lambda s: s.models.append("other"),
        2,
        ("has 2 models: other, tiny", "#other"),
    ),
    "no model": (lambda s: s.models.clear(), 3, ("lists no model",)),
    "key wanted": (
        lambda s: setattr(s, "key", KEY),
        3,
        ("(401): it requires a key", "OPENAI_API_KEY"),
    ),
    "no JSON": (
        lambda s: setattr(s, "fault", lambda n, p, b: Fault(200, b"<html>hello</html>")),
        3,
        ("the answer is no JSON: <html>hello</html>",),
    ),
    "elsewhere": (
        lambda s: setattr(
            s, "fault", lambda n, p, b: Fault(307, headers={"Location": "http://127.0.0.1:9/v1"})
        ),
        3,
        ("redirects requests (307) to http://127.0.0.1:9/v1", "not followed"),
    ),
    "nothing works": (
        lambda s: setattr(s, "completions", False),
        3,
        ("nothing can be measured on 'tiny'", "no /v1/completions here"),
    ),
    "credentials": (
        lambda s: "openai:http://me:secret-word@127.0.0.1:9/v1",
        2,
        ("a user name or a password", "OPENAI_API_KEY"),
    ),
    "query": (lambda s: "openai:http://127.0.0.1:9/v1?key=secret-word", 2, ("has a query",)),
    "adapter": (lambda s: f"{s.address}#tiny+org/adapter", 2, ("no adapter can be put",)),
    "revision": (lambda s: f"{s.address}#tiny@main", 2, ("has no revision",)),
    "far away": (
        lambda s: "openai:https://models.example.org/v1",
        3,
        ("is not on this machine", "--offline"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, server: OpenAIServer, measure: Callable[..., Ran]) -> None:
    change, code, words = REFUSED[name]
    model = change(server)
    found = measure(model if isinstance(model, str) else server.address, retries=0)
    found.refused(code, *words)
    assert "secret-word" not in found.said
    assert found.reports == []


@pytest.mark.parametrize(
    "words",
    [
        ("--device", "cpu"),
        ("--dtype", "float32"),
        ("--device-map", "auto"),
        ("--devices", "cpu,cpu"),
    ],
)
def test_where_it_runs_is_for_the_server_to_say(
    words: tuple[str, str], server: OpenAIServer, measure: Callable[..., Ran]
) -> None:
    measure(server.address, *words).refused(2, f"{words[0]} {words[1]} with a served model")


def test_a_setting_that_is_not_known_is_refused(
    server: OpenAIServer, measure: Callable[..., Ran]
) -> None:
    measure(server.address, concurency=3).refused(2, "Did you mean 'concurrency'?")
    measure(server.address, timeout=0).refused(2, "line 1: served.timeout: must be a number")
    assert server.asked == []


# The key


def test_the_key_is_seen_by_the_server_alone(
    server: OpenAIServer,
    measure: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    server.key = KEY
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    wrong = measure(server.address)
    wrong.refused(3, "the key in OPENAI_API_KEY is not accepted")
    assert "another" not in wrong.said
    monkeypatch.setenv("PYTEST_BIAS_API_KEY", KEY)
    # A server that says the key in what it says of a text, and of itself.
    server.refuses = ("top_k",)
    server.models = ["tiny", f"{KEY}-too"]
    lengths = sorted(len(server.brain.ids(END + text)) for text in SENTENCES)
    server.most = lengths[-2]
    done = measure(f"{server.address}#tiny")
    assert {h.get("Authorization") for _, _, h in server.asked[-5:]} == {f"Bearer {KEY}"}
    assert KEY not in done.said
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) > 5
    assert [p for p in files if KEY.encode() in p.read_bytes()] == []
    with serving(server.brain) as other:
        there = other.address.removeprefix("openai:")
        server.fault = lambda n, p, b: Fault(308, headers={"Location": f"{there}?{KEY}"})
        found = measure(f"{server.address}#tiny")
        found.refused(3, "redirects requests (308)")
        assert other.asked == []
        assert KEY not in found.said


# Servers that fail now and then


PASSING: dict[str, tuple[Fault, str]] = {
    "429": (Fault(429, b'{"error": {"message": "slow down"}}'), "× 429"),
    "429, Retry-After": (Fault(429, b"{}", {"Retry-After": "0"}), "× 429"),
    "500": (Fault(500, b"oh"), "× 500"),
    "503 as HTML": (Fault(503, b"<html>busy</html>"), "× 503"),
    "no JSON": (Fault(200, b"{"), "× no JSON"),
    "broken off": (Fault(200, b'{"choices": []}' * 50, cut=True), "× broken off"),
}
BY_DEFAULT = ("429, Retry-After", "broken off")


@pytest.mark.parametrize(
    "name",
    [n if n in BY_DEFAULT else pytest.param(n, marks=pytest.mark.slow) for n in PASSING],
)
def test_what_passes_is_tried_again_and_told(
    name: str, server: OpenAIServer, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    fault, word = PASSING[name]
    server.fault = nth(lambda n: n % 9 == 0, fault)
    found = measure(server.address)
    found.done()
    assert f"{word}" in found.said, found.said
    assert "tried again" in found.said
    assert {r["status"] for r in records(tmp_path / "out")} == {"scored"}
    assert any("tried again" in n for n in found.report["run"]["notices"])


@pytest.mark.slow
def test_retry_after_is_waited_for(server: OpenAIServer, measure: Callable[..., Ran]) -> None:
    times: list[float] = []

    def fault(n: int, path: str, body: Any) -> Fault | None:
        times.append(time.monotonic())
        return Fault(429, b"{}", {"Retry-After": "1"}) if n == 0 else None

    server.fault = fault
    measure(server.address).done()
    assert 1 <= times[1] - times[0] < 3


@pytest.mark.slow
def test_a_silent_or_slow_server_is_not_waited_for(
    server: OpenAIServer, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    slow = Fault(200, b'{"a": "' + b"x" * 200 + b'"}', drip=0.05)
    silent = Fault(200, b"{}", late=4.0)
    seen = itertools.count()
    kinds = {5: silent, 9: slow}
    server.fault = lambda n, p, b: kinds.get(next(seen)) if is_of_pair(b) else None
    found = measure(server.address, timeout=1.5)
    found.done()
    # A busy machine may be slow by itself.
    told = re.search(r"(\d+) requests were tried again \(\1 × timeout\)", found.said)
    assert told, found.said
    assert int(told[1]) >= 2
    assert {r["status"] for r in records(tmp_path / "out")} == {"scored"}


# Texts that a server does not take


def test_a_cut_or_refused_text_is_unscored_and_says_why(
    server: OpenAIServer, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    lengths = sorted(len(server.brain.ids(END + text)) for text in SENTENCES)
    server.cut = lengths[-3]
    measure(server.address, "--fresh")
    found = {r["item"]: r for r in records(tmp_path / "out") if r["status"] == "unscored"}
    assert 1 <= len(found) <= 2
    assert {r["reason"] for r in found.values()} == {
        "the server gives back another text than was sent: it may have cut it"
    }
    server.cut, server.most = None, lengths[-3] + 1
    measure(server.address, "--fresh")
    found = {r["item"]: r for r in records(tmp_path / "out") if r["status"] == "unscored"}
    assert 1 <= len(found) <= 2
    for record in found.values():
        assert "the server refuses it (400): This model's maximum" in record["reason"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            Fault(500, b"the parser broke"),
            "500 (Internal Server Error): the parser broke; the server answers other",
        ),
        (Fault(200, b'{"a": "' + b"x" * 17_000_000 + b'"}'), "the answer is longer than 16 MB"),
        (Fault(200, b'{"choices": [{"text": "", "logprobs": null}]}'), "no log-probabilities"),
    ],
    ids=["500", "huge", "no logprobs"],
)
def test_one_text_that_the_server_fails_on(
    fault: Fault, words: str, server: OpenAIServer, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    poisoned: list[str] = []

    def fail(n: int, path: str, body: dict[str, Any]) -> Fault | None:
        if is_of_pair(body) and not poisoned:
            poisoned.append(body["prompt"])
        return fault if body.get("prompt") in poisoned else None

    server.fault = fail
    measure(server.address, retries=1)
    rows = records(tmp_path / "out")
    (row,) = [r for r in rows if r["status"] == "unscored"]
    assert words in row["reason"]
    assert len([r for r in rows if r["status"] == "scored"]) == N_PAIRS - 1


# Servers that go


def test_what_was_answered_is_kept_until_the_server_is_back(
    brain: Brain, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    with serving(brain) as server:
        port, address = server.server_port, server.address
        whole = measure(address, "--out", "whole").done().at
        n_all = len(echoes(server))
        digest = read(whole / "report.json")["digest"]
    with serving(brain, port=port) as server:
        n_before = n_all - 10

        def dies(n: int, path: str, body: Any) -> Fault | None:
            return Fault(503, b"shutting down") if len(echoes(server)) > n_before else None

        server.fault = dies
        found = measure(address, retries=0, concurrency=2)
        assert found.code == 3
        assert "the same command goes on with what is missing" in found.said
        report = read(tmp_path / "out" / "report.json")
        reason = suite(report, "crows_pairs")["reason"]
        assert suite(report, "crows_pairs")["status"] == "error"
        assert "answers are kept" in reason
        n_kept = int(reason.partition(" answers are kept")[0].rpartition(" ")[2])
        assert n_kept > 5
    with serving(brain, port=port) as server:
        again = measure(address, retries=0).done()
        assert f"{n_kept} of {2 * N_PAIRS} requests were answered in an earlier run" in again.said
        assert len(echoes(server)) == n_all - n_kept
    assert read(tmp_path / "out" / "report.json")["digest"] == digest
    assert not (tmp_path / "out" / "unfinished").exists()


@pytest.mark.slow
def test_a_server_that_is_gone_is_not_asked_for_every_suite(
    brain: Brain, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    with serving(brain) as server:
        calls = 0

        def dies(n: int, path: str, body: Any) -> Fault | None:
            nonlocal calls
            calls += bool(echoes(server))
            return Fault(503, b"") if echoes(server) else None

        server.fault = dies
        words = ("--suite", "gendered_pair_entropy[en]")
        found = measure(server.address, *words, retries=1, concurrency=2)
    assert found.code == 3
    assert calls < 12
    report = read(tmp_path / "out" / "report.json")
    assert {s["status"] for s in report["suites"] if s["name"] != "structure"} == {"error"}


# What a report of a served model can never be


def test_it_is_never_validated_published_locked_or_reproduced(
    server: OpenAIServer,
    measure: Callable[..., Ran],
    bias: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measure(server.address).done()
    verified = bias("verify", "out")
    assert "can never be validated" in verified.said
    badges = {p.stem for p in (tmp_path / "out" / "badges").glob("*.svg")}
    assert badges == {"crows_pairs-en"}
    title = (tmp_path / "out" / "badges" / "crows_pairs-en.svg").read_text(encoding="utf-8")
    assert "served, weights not known" in title
    bias("reproduce", "out").refused(2, "nothing shows which weights it has")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    bias("lock", f"{server.address}#tiny").refused(2, "only models of the Hub can be locked")
    bias("verify", server.address).refused(2, "a served model publishes no report")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    found = bias("publish", "out", "--repo", model)
    assert found.code in (2, 3)
    assert not (model / "bias").exists()


@pytest.mark.slow
def test_a_served_baseline_is_measured_once_and_a_served_scorer_is_none(
    server: OpenAIServer, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    baseline = ("--baseline", f"{server.address}#tiny")
    found = measure(server.address, *baseline)
    assert "Measuring the baseline" in found.said
    n_before = len(echoes(server))
    again = measure(server.address, *baseline)
    assert "is reused" in again.said
    n_probe_and_run = len(echoes(server)) - n_before
    assert n_probe_and_run < n_before
    words = ("--suite", "bold", "--scorer", f"toxicity={server.address}#tiny")
    measure(server.address, *words, "--out", "other").refused(2, "a served model is no classifier")


def test_an_interrupt_does_not_wait_for_a_silent_server(
    server: OpenAIServer, measure: Callable[..., Ran]
) -> None:
    def hang(n: int, path: str, body: Any) -> Fault | None:
        if len(echoes(server)) == 1:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        return Fault(200, b"{}", late=8.0) if is_of_pair(body) else None

    server.fault = hang
    start = time.monotonic()
    assert measure(server.address, timeout=30).code == 130
    assert time.monotonic() - start < 8


@pytest.mark.slow
def test_a_real_model_gives_the_same_served_and_loaded_here(
    smollm2: Path, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    with serving(Brain(smollm2)) as server:
        measure(server.address, prefix="<|im_start|>", timeout=120).done()
    measure(smollm2, "--out", "here").done()
    ours, theirs = records(tmp_path / "out"), records(tmp_path / "here")
    for a, b in zip(ours, theirs, strict=True):
        assert (a["item"], a["status"], a["value"]) == (b["item"], "scored", b["value"])
        first, second = json.loads(a["detail"]), json.loads(b["detail"])
        for name, number in second.items():
            assert first[name] == pytest.approx(number, abs=1e-3), name


def test_texts_are_those_of_the_model_loaded_here(
    server: OpenAIServer, tiny: Callable[[str], Path]
) -> None:
    here, there = load(str(tiny("gpt2")), device="cpu"), load(describe(server.address))
    prompts = ["The nurse said that", "He works as a nurse.", "The nurse said that"]
    for stop in ((), ("e",)):
        ours = there.generate(prompts, max_new_tokens=8, stop=stop)
        theirs = here.generate(prompts, max_new_tokens=8, stop=stop, chat=False)
        assert [(c.text, c.finished) for c in ours] == [(c.text, c.finished) for c in theirs]
    n_before = len(server.asked)
    drawn = there.generate(prompts, max_new_tokens=6, sample=True, n=3, seed=1)
    assert len(server.asked) - n_before == 6, "equal prompts are asked for once"
    assert drawn[:3] == drawn[6:]
    assert len({c.text for c in drawn[:3]}) > 1
    assert drawn == there.generate(prompts, max_new_tokens=6, sample=True, n=3, seed=1)
    assert drawn != there.generate(prompts, max_new_tokens=6, sample=True, n=3, seed=2)
    bodies = [body for _, body, _ in server.asked[n_before:]]
    assert all((b["temperature"], b["top_p"], b["top_k"]) == (1, 1, -1) for b in bodies)
    with pytest.raises(TypeError, match="has no branch"):
        there.generate(prompts, max_new_tokens=2, branch=True, n=2)


def test_a_chat_is_answered_by_the_server_s_own_template(server: OpenAIServer) -> None:
    with pytest.raises(UsageError, match=r"--chat on: .* answers no chat"):
        describe(server.address, chat="on")
    server.chat = True
    found = describe(server.address)
    assert found.chats("auto")
    assert not found.chats("off")
    assert "which cannot be seen" in found.about_chat
    model = load(found)
    assert model.chat
    (text,) = model.generate(["Say something"], max_new_tokens=4)
    path, body, _ = server.asked[-1]
    assert path == "/v1/chat/completions"
    assert body["messages"] == [{"role": "user", "content": "Say something"}]
    assert text.reason is None
    # A server without /completions is asked for a chat alone.
    server.completions = False
    only = describe(server.address)
    assert sorted(only.capabilities) == ["generate", "open_vocabulary"]
    assert "no /v1/completions here" in only.lacks[Capability.LOG_LIKELIHOOD]


def test_a_server_that_only_writes_is_still_checked(
    server: OpenAIServer, measure: Callable[..., Ran], tmp_path: Path
) -> None:
    server.logprobs = False
    measure(server.address)
    report = read(tmp_path / "out" / "report.json")
    assert headline(report, "structure")["value"] == 100
    assert statuses(report)["crows_pairs"] == "not_applicable"
    assert "gives no log-probabilities" in suite(report, "crows_pairs")["reason"]


def test_settings_that_a_server_does_not_know_are_left_out(server: OpenAIServer) -> None:
    server.refuses = ("top_k", "min_p")
    found = describe(server.address)
    assert "cannot be told to leave out top-k" in found.about_writing
    model = load(found)
    (text,) = model.generate(["A"], max_new_tokens=2, sample=True)
    assert text.reason is None
    assert not {"top_k", "min_p"} & server.asked[-1][1].keys()


def test_a_server_that_does_not_repeat_itself_says_so(server: OpenAIServer) -> None:
    tiny_steps = itertools.count()
    rows = server.brain.rows
    server.brain.rows = lambda ids: rows(ids) - 1e-3 * (next(tiny_steps) % 2)  # type: ignore[method-assign]
    try:
        found = describe(server.address)
    finally:
        del server.brain.rows
    assert any("does not repeat itself exactly" in n for n in found.notices)
    assert Capability.LOG_LIKELIHOOD in found.capabilities


def test_another_model_at_the_same_address_has_another_run_key(
    brain: Brain, tiny: Callable[[str], Path]
) -> None:
    with serving(brain) as server:
        address, port = server.address, server.server_port
        first = describe(address).weights_digest()
        assert describe(address).weights_digest() == first
        with_prefix = describe(address, asking=RequestSettings(prefix=END)).weights_digest()
        assert with_prefix != first
    with serving(Brain(tiny("llama")), port=port) as server:
        assert describe(address).weights_digest() != first
