"""Options that a server's model chooses: letters where it gives probabilities, else its text."""

import gzip
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from commands import Command, read, suite
from openai_server import Brain, Fault, OpenAIServer, serving
from pytest_bias.errors import UsageError
from pytest_bias.models import describe, load
from pytest_bias.models.interface import Capability

PROMPT = "Who was late?\nA. she\nB. he\nAnswer:"


@pytest.fixture(scope="module")
def brain(tiny: Callable[[str], Path]) -> Brain:
    return Brain(tiny("gpt2"))


@pytest.fixture
def server(brain: Brain) -> Iterator[OpenAIServer]:
    with serving(brain) as found:
        yield found


def likeliest(brain: Brain, text: str, k: int) -> dict[str, float]:
    """Return the probabilities of the likeliest tokens behind a text, as texts without spaces."""
    values, tokens = brain.rows(brain.ids(text))[-1].topk(k)
    found: dict[str, float] = {}
    for value, token in zip(values, tokens, strict=True):
        word = brain.word(int(token)).strip()
        found[word] = found.get(word, 0.0) + float(value.exp())
    return found


@pytest.mark.parametrize(("chat", "top", "asked"), [(True, 20, 20), (True, 5, 5), (False, 20, 20)])
def test_letters_are_summed_over_the_likeliest_tokens(
    server: OpenAIServer, brain: Brain, *, chat: bool, top: int, asked: int
) -> None:
    server.chat, server.top = chat, top
    described = describe(server.address)
    assert Capability.CHOOSE in described.capabilities
    model = load(described)
    assert model.chat is chat
    known = likeliest(brain, f"{PROMPT}\n" if chat else PROMPT, asked)
    labels = (*sorted(known, key=lambda w: -known[w])[:2], "☃")
    (found,) = model.choose([PROMPT], [labels])
    assert found.log_probabilities[2] == -torch.inf
    values = torch.tensor(found.log_probabilities[:2]).exp().tolist()
    assert values == pytest.approx([known[w] for w in labels[:2]], rel=1e-4)


def test_a_server_without_probabilities_says_so(server: OpenAIServer) -> None:
    server.chat, server.completions = True, False
    described = describe(server.address)
    assert Capability.CHOOSE not in described.capabilities
    assert "at most 0 likeliest tokens" in described.lacks[Capability.CHOOSE]


@pytest.mark.parametrize("chat", [True, False])
def test_a_system_text_is_sent_with_every_turn(server: OpenAIServer, *, chat: bool) -> None:
    server.chat, server.top = chat, 20
    described = describe(server.address)
    if not chat:
        with pytest.raises(UsageError, match="is not asked by chat turns"):
            load(described, system="Be brief.")
        return
    model = load(described, system="Be brief.")
    server.asked.clear()
    model.choose([PROMPT], [("A", "B")])
    model.generate([PROMPT], max_new_tokens=1)
    for _, body, _ in server.asked:
        roles = [(m["role"], m["content"]) for m in body["messages"]]
        assert roles == [("system", "Be brief."), ("user", PROMPT)]


@pytest.fixture
def few(data_dir: Path, tmp_path: Path) -> Path:
    """Return a folder with the first set of every category of BBQ."""
    own = tmp_path / "data" / "bbq" / "data"
    own.mkdir(parents=True)
    for file in sorted((data_dir / "bbq" / "data").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            (own / file.stem).write_text("".join(islice(lines, 4)), encoding="utf-8")
    return tmp_path / "data"


@pytest.fixture
def run(
    server: OpenAIServer, bias: Command, tmp_path: Path, few: Path
) -> Callable[..., dict[str, Any]]:
    """Return a function that measures the few questions by chat, and returns the report."""
    # Room for the answer within the 128 positions of the model.
    server.chat, server.top, server.completions, server.window = True, 20, False, 64
    words = ("run", server.address, "--suite", "bbq[en-options]", "--data-dir", few)

    def measured(*more: str) -> dict[str, Any]:
        bias(*words, "--system", "Answer briefly.", "--out", "out", *more).done()
        return read(tmp_path / "out" / "report.json")

    return measured


def test_a_run_reads_letters(run: Callable[..., dict[str, Any]]) -> None:
    report = run()
    assert suite(report, "bbq")["measure"].startswith("the likeliest letter of an option")
    assert report["settings"]["system"] == "Answer briefly."


@pytest.mark.nightly
def test_a_run_reads_text(run: Callable[..., dict[str, Any]]) -> None:
    report = run("--answers", "text")
    by_text = suite(report, "bbq")
    assert by_text["measure"].startswith("the option that the answer names")
    assert report["settings"]["answers"] == "text"
    metrics = {s["metric"]: s["value"] for s in by_text["scores"] if not s["by"]}
    statuses = [metrics[name] for name in ("answered", "refused", "unparsed", "cut")]
    assert sum(statuses) == pytest.approx(100)


def first_token(*top: dict[str, object]) -> bytes:
    """Return a server's answer with the likeliest first tokens."""
    choice = {"logprobs": {"content": [{"top_logprobs": list(top)}] if top else []}}
    return json.dumps({"choices": [choice]}).encode()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (first_token(), "gives no log-probabilities"),
        (b'{"choices": [{"logprobs": null}]}', "gives no log-probabilities"),
        (first_token({"token": 1, "logprob": 0}), "are invalid"),
        (first_token({"token": "A", "logprob": 3}), "are invalid"),
    ],
)
def test_an_answer_without_probabilities_is_a_reason(
    server: OpenAIServer, content: bytes, why: str
) -> None:
    server.chat, server.top = True, 20
    model = load(describe(server.address))
    server.fault = lambda n, path, body: Fault(content=content)
    (found,) = model.choose([PROMPT], [("A", "B")])
    assert why in (found.reason or "")


def test_letters_cannot_be_asked_for_where_there_are_none(
    server: OpenAIServer, bias: Command, data_dir: Path
) -> None:
    server.chat = True
    ran = bias(
        *("run", server.address, "--suite", "bbq[en-options]", "--data-dir", data_dir),
        *("--answers", "letters"),
    )
    assert ran.code == 2
    assert "--answers letters" in ran.said
    assert "--answers text, or auto" in ran.said


def test_calls_and_money_of_a_server(
    server: OpenAIServer, run: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    cost = "cost: {input: 100, output: 300, currency: USD}"
    (tmp_path / "pytest-bias.yaml").write_text(cost, encoding="utf-8")

    def posts() -> int:
        return sum(path == "/v1/chat/completions" for path, _, _ in server.asked)

    before = posts()
    report = run("--budget", "99calls")
    spent = report["run"]["cost"]
    # The probe, the structural checks and the questions; no call serves the forecast.
    assert spent["calls"] == posts() - before <= 99
    found = suite(report, "bbq")
    assert 0 < found["sampled"] < found["n_available"] == 44
    per_item = spent["suites"]["bbq[en-options]"]["calls"] / found["sampled"]
    assert per_item == 3
    assert spent["estimated"] == 0
    paid = (100 * spent["tokens_in"] + 300 * spent["tokens_out"]) / 1e6
    assert spent["money"] == pytest.approx(paid)
    assert spent["tokens"] == spent["tokens_in"] + spent["tokens_out"]
    limit = round(1.2 * paid, 6)
    found = run("--budget", f"{limit}USD", "--fresh")["run"]["cost"]
    assert 0.5 * limit < found["money"] <= limit
