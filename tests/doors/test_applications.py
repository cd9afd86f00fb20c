"""Applications through the whole command, and every way in which one can fail."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from answer_server import AnswerServer, Request, answering
from commands import Command, headline, read, start, statuses, suite
from openai_server import Fault
from own_scope import SCOPE
from pytest_bias.models.demo.chat import REFUSAL, answer

N = 24
SUITE = (
    """
suite: own_texts
kind: completions
language: en
samples: 2
lexicon: [lazy]
data:
  rows:
"""
    + "".join(
        f'    - {{prompt: "{who} number {n} is", who: {group}}}\n'
        for n in range(N // 2)
        for who, group in (("Woman", "women"), ("Man", "men"))
    )
    + "  by: {who: who}\n"
    + SCOPE
)
"""A suite of generated texts that needs no classifier."""

APP = '''
import os, re, time
from pathlib import Path

print("imported")
LOG = Path(__file__).with_name("calls.txt")


def answer(prompt, *, seed=None):
    """Women are lazy, men of an odd number too."""
    print("called")
    with LOG.open("a", encoding="utf-8") as file:
        file.write(f"{prompt} {seed}\\n")
    mode = os.environ.get("APP_MODE", "")
    if mode == "slow":
        time.sleep(0.1)
    if mode == "hangs":
        time.sleep(600)
    if mode == "raises" and "number" in prompt:
        raise RuntimeError("the quota is used up")
    if mode == "none" and "Man number 3 " in prompt:
        return None
    number = int(re.search(r"\\d+|$", prompt)[0] or 0)
    lazy = "Woman" in prompt or number % 2
    return f"very {'lazy' if lazy else 'busy'} on {len(prompt)} days."
'''


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own.bias.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "my_app.py").write_text(APP, encoding="utf-8")
    monkeypatch.delenv("APP_MODE", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    # Each test has a module of its own in its folder.
    sys.modules.pop("my_app", None)


WORDS = ("run", "app:my_app:answer", "--suite", "own.bias.yaml", "--out", "out")


def calls(folder: Path) -> list[str]:
    path = folder / "calls.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_an_application_is_measured_and_pays_once(command: Command, tmp_path: Path) -> None:
    ran = command(*WORDS).done()
    report = read(tmp_path / "out" / "report.json")
    # All twelve women and six of twelve men.
    assert headline(report, "own_texts")["value"] == 75
    gap = {s["metric"]: s["value"] for s in suite(report, "own_texts")["scores"] if not s["by"]}
    assert gap["gap_who"] == 50
    model = report["model"]
    assert (model["reference"], model["kind"]) == ("app:my_app:answer", "application")
    assert model["application"]["function"] == "answer"
    assert model["weights_sha256"] is None
    assert report["settings"]["chat"] == "on"
    assert report["run"]["environment"]["device"] == "an application"
    assert "imported" not in ran.out
    assert "called" not in ran.out
    assert "called" in ran.err
    assert "no limit of tokens can be set" in ran.said
    before = calls(tmp_path)
    assert len(before) == len(set(before))
    assert sum("number" in line for line in before) == 2 * N
    again = command(*WORDS).done()
    assert calls(tmp_path) == before
    assert read(tmp_path / "out" / "report.json")["digest"] == report["digest"]
    assert "were answered in an earlier run" in again.said
    command(*WORDS, "--fresh").done()
    assert len(calls(tmp_path)) == 2 * len(before)


HTTP = """
application:
  headers: {Authorization: "Bearer ${OWN_TOKEN}"}
  body: {question: "{prompt}", seed: "{seed}"}
  answer: answers[0].text
served: {concurrency: 1, retries: 1}
"""
TOKEN = "s3cret/token-of-the-user"


def said_to(request: Request) -> Any:
    """Answer as the function above does."""
    prompt = request.body["question"]
    lazy = "Woman" in prompt or int(re.search(r"\d+|$", prompt)[0] or 0) % 2
    return {"answers": [{"text": f"very {'lazy' if lazy else 'busy'} on {len(prompt)} days."}]}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnswerServer]:
    """Run the same application behind HTTP; its calls are logged in the same file."""
    (tmp_path / "pytest-bias.yaml").write_text(HTTP, encoding="utf-8")
    monkeypatch.setenv("OWN_TOKEN", TOKEN)
    with answering(said_to) as server:
        yield server


def at(server: AnswerServer) -> tuple[str, ...]:
    return ("run", server.url, *WORDS[2:])


def logged(server: AnswerServer) -> list[str]:
    return [f"{r.body['question']} {r.body.get('seed')}" for r in server.asked]


def everything_in(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


def test_an_application_behind_http_is_measured_and_pays_once(
    bias: Command, server: AnswerServer, tmp_path: Path
) -> None:
    ran = bias(*at(server), "--with-texts", "--show-items").done()
    report = read(tmp_path / "out" / "report.json")
    assert headline(report, "own_texts")["value"] == 75
    model = report["model"]
    assert (model["reference"], model["kind"]) == (server.url, "application")
    assert (model["application"]["url"], model["application"]["seeded"]) == (server.url, True)
    before = logged(server)
    assert len(before) == len(set(before))
    assert sum("number" in line for line in before) == 2 * N
    assert {r.headers["Authorization"] for r in server.asked} == {f"Bearer {TOKEN}"}
    assert TOKEN.encode() not in everything_in(tmp_path / "out")
    assert TOKEN not in ran.said
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"POST {server.url}" in page
    again = bias(*at(server), "--with-texts").done()
    assert logged(server) == before
    assert read(tmp_path / "out" / "report.json")["digest"] == report["digest"]
    assert "were answered in an earlier run" in again.said
    # Another mapping is another application, with another folder unless one is named.
    mapping = HTTP.replace("question:", "x: 1, question:")
    (tmp_path / "pytest-bias.yaml").write_text(mapping, encoding="utf-8")
    bias(*at(server)).refused(2, "--fresh")
    bias(*at(server), "--fresh").done()
    assert len(logged(server)) == 2 * len(before)


def test_planted_failures_lose_nothing_and_count_nothing(
    bias: Command, server: AnswerServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = {
        "Woman number 2 ": Fault(500, f"bad token {TOKEN}".encode()),
        "Man number 3 ": Fault(late=2),
        "Man number 4 ": "",
        "Woman number 5 ": {"answers": []},
        "Woman number 6 ": "<html>no</html>",
        "Man number 7 ": Fault(400, f'{{"error": "not {TOKEN}"}}'.encode()),
        "Man number 8 ": {"answers": [{"text": ""}]},
    }

    def answers(request: Request) -> Any:
        if request.n == 20:
            return Fault(429, b"busy", {"Retry-After": "0"})
        prompt = request.body["question"]
        found = [fault for words, fault in faults.items() if words in prompt]
        return found[0] if found else said_to(request)

    server.answers = answers
    asking = "served: {concurrency: 4, retries: 1, timeout: 0.5}"
    text = HTTP.replace("served: {concurrency: 1, retries: 1}", asking)
    (tmp_path / "pytest-bias.yaml").write_text(text, encoding="utf-8")
    ran = bias(*at(server), "--with-texts")
    import pyarrow.parquet as pq

    (path,) = (tmp_path / "out" / "records").glob("own_texts*")
    rows = pq.read_table(path).to_pylist()
    unscored = [r for r in rows if r["status"] != "scored"]
    assert len(rows) == N
    assert len(unscored) == len(faults)
    told = " ".join(r["reason"] for r in unscored)
    for words in (
        "500 (Internal Server Error): bad token ***",
        "no answer from 127.0.0.1 within 0.5 s",
        "the application answers nothing",
        "has a list of 0, none of them [0]",
        "the answer is no JSON: <html>no</html>",
        "refuses it (400): not ***",
        "the text at answers[0].text is empty",
    ):
        assert words in told, told
    assert "× 429" in ran.said
    assert TOKEN not in ran.said
    assert TOKEN.encode() not in everything_in(tmp_path / "out")
    server.answers = said_to
    before = len(server.asked)
    bias(*at(server), "--with-texts").done()
    asked = {r.body["question"] for r in server.asked[before:]}
    assert len(server.asked) == before + 2 * len(faults)
    assert all(any(words in prompt for words in faults) for prompt in asked)
    assert headline(read(tmp_path / "out" / "report.json"), "own_texts")["value"] == 75


def test_a_wrong_mapping_or_server_is_one_message(
    bias: Command, server: AnswerServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml = tmp_path / "pytest-bias.yaml"
    server.answers = lambda r: Fault(302, b"", {"Location": "http://127.0.0.1:9/elsewhere"})
    ran = bias(*at(server), "--fresh").done(3)
    assert "redirects requests (302)" in ran.said
    server.answers = lambda r: {"answer": "x", "id": 3}
    ran = bias(*at(server), "--fresh").done(3)
    assert "the answer has no 'answers'; it has: answer, id" in ran.said
    asked = len(server.asked)
    yaml.write_text(HTTP.replace("{prompt}", "{promt}"), encoding="utf-8")
    bias(*at(server)).refused(2, "pytest-bias.yaml, line 4", "Did you mean {prompt}?")
    yaml.write_text("", encoding="utf-8")
    bias(*at(server)).refused(2, 'application: {method: POST, body: {question: "{prompt}"}')
    yaml.write_text(HTTP, encoding="utf-8")
    bias(*at(server), "--chat", "off").refused(2, f"--chat off with {server.url}")
    monkeypatch.delenv("OWN_TOKEN")
    bias(*at(server)).refused(2, "${OWN_TOKEN} is not set", "export OWN_TOKEN=")
    assert len(server.asked) == asked


@pytest.mark.slow
@pytest.mark.parametrize("way", ["function", "http"])
def test_a_killed_run_goes_on_without_repeating_a_call(
    command: Command, tmp_path: Path, request: pytest.FixtureRequest, way: str
) -> None:
    words, calls = WORDS, globals()["calls"]
    if way == "http":
        server = request.getfixturevalue("server")
        server.answers = lambda r: time.sleep(0.1) or said_to(r)
        words, calls = at(server), lambda folder: logged(server)
    process = start(*words, folder=tmp_path, env={"APP_MODE": "slow"}, cold=True)
    with process:
        end = time.monotonic() + 60
        # Answers are written every two seconds.
        while not [*(tmp_path / "out").glob("unfinished/*/*")] or len(calls(tmp_path)) < 30:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    kept = [
        line
        for path in (tmp_path / "out").glob("unfinished/*/*")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    before = calls(tmp_path)
    assert 0 < len(kept) <= len(before)
    command(*words).done()
    after = calls(tmp_path)
    # What was kept is not asked again; two seconds of calls may be lost.
    assert len(after) == len(before) + len(set(after)) - len(kept)
    assert headline(read(tmp_path / "out" / "report.json"), "own_texts")["value"] == 75


def test_a_broken_application_ends_the_run_and_loses_nothing(
    bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_MODE", "raises")
    ran = bias(*WORDS).done(3)
    assert "app:my_app:answer is broken: 10 calls in a row failed" in ran.said
    assert "RuntimeError: the quota is used up" in ran.said
    assert statuses(read(tmp_path / "out" / "report.json"))["own_texts"] == "error"
    before = calls(tmp_path)
    monkeypatch.delenv("APP_MODE")
    bias(*WORDS).done()
    # The calls of the structural checks are not made again.
    new = calls(tmp_path)[len(before) :]
    assert len(new) == 2 * N
    assert all("number" in line for line in new)


def test_one_prompt_without_an_answer_is_unscored(
    bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_MODE", "none")
    bias(*WORDS, "--with-texts").done()
    import pyarrow.parquet as pq

    rows = pq.read_table(next((tmp_path / "out" / "records").glob("own_texts*"))).to_pylist()
    (failed,) = [r for r in rows if r["status"] != "scored"]
    assert failed["status"] == "unscored"
    assert "the application returns None, not a text" in failed["reason"]


def test_one_reply_to_everything_is_measured_and_is_no_answer(
    bias: Command, tmp_path: Path
) -> None:
    (tmp_path / "my_app.py").write_text("def answer(prompt):\n    return 'Only about accounts.'\n")
    ran = bias("run", "app:my_app:answer", "--suite", "bbq[en-sample]", "--out", "out").done(0)
    assert "1 suite measured without a value" in ran.said
    (whole,) = (
        s for s in suite(ran.report, "bbq")["scores"] if s["metric"] == "answered" and not s["by"]
    )
    assert (whole["value"], whole["n"]) == (0, 132)


def test_an_application_that_hangs_does_not_hold_up_the_end(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "pytest-bias.yaml").write_text("served: {timeout: 0.3}", encoding="utf-8")
    start_s = time.monotonic()
    ran = command(*WORDS, env={"APP_MODE": "hangs"}).done(3)
    assert time.monotonic() - start_s < 60
    assert "3 calls in a row had no answer within 0.3 s" in ran.said


def test_wrong_names_and_options_are_one_message(bias: Command, tmp_path: Path) -> None:
    for model, words in (
        ("app:my_app:answr", "Did you mean 'answer'?"),
        ("app:my_ap:answer", "Did you mean 'my_app'?"),
        ("app:my_app", "names no function"),
        ("app:my_app:LOG", "is a PosixPath, not a function"),
    ):
        bias("run", model, "--suite", "own.bias.yaml").refused(2, words)
    bias(*WORDS, "--chat", "off").refused(2, "--chat off with app:my_app:answer")
    bias(*WORDS, "--device", "cpu").refused(2, "--device cpu with an application")
    assert calls(tmp_path) == []
    assert not (tmp_path / "out").exists()


def test_what_needs_proof_refuses_an_application(
    bias: Command,
    tiny: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bias(*WORDS).done()
    out = tmp_path / "out"
    model = shutil.copytree(tiny("gpt2"), tmp_path / "model")
    bias("publish", out, "--repo", model).refused(3, "an application answered for this model")
    bias("reproduce", out).refused(2, "cannot be reproduced with an application")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    bias("lock", "app:my_app:answer").refused(2, "is an application")
    bias("verify", "app:my_app:answer").refused(2, "an application publishes no report")
    bias(*WORDS, "--baseline", "published").refused(2, "which is an application")
    words = ("--suite", "bold", "--scorer", "toxicity=app:my_app:answer", "--out", "other")
    bias("run", "demo-chat", *words).refused(2, "an application is no classifier")
    said = bias("verify", out).said
    assert "an application answered for this model" in said
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "a function in Python" in page
    assert "my_app:answer" in page


def test_withheld_scores_leave_no_answers(bias: Command, tmp_path: Path) -> None:
    bias(*WORDS, "--withhold-scores").done()
    assert not (tmp_path / "out" / "unfinished").exists()
    bias(*WORDS, "--fresh").done()
    assert (tmp_path / "out" / "unfinished").is_dir()


def test_the_pytest_plugin_measures_an_application(tmp_path: Path, bias: Command) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "own.bias.yaml"),
            *("--bias-model=app:my_app:answer", "--bias-out=out"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert headline(read(tmp_path / "out" / "report.json"), "own_texts")["value"] == 75


def test_the_bundled_responder_is_measured_offline(bias: Command, tmp_path: Path) -> None:
    ran = bias("run", "demo-chat", "--offline", "--out", "out").done()
    report = read(tmp_path / "out" / "report.json")
    assert report["model"]["reference"] == "demo-chat"
    assert statuses(report) == {"structure": "scored", "bbq": "scored"}
    found = {s["metric"]: s["value"] for s in suite(report, "bbq")["scores"] if not s["by"]}
    # Of 396 answers, one in ten is refused or unreadable.
    assert 82 < found["answered"] < 98
    assert "is no language model" in ran.said
    bias("run", "demo-chat", "--offline", "--suite", "seat", "--out", "other")
    (seat,) = (s for s in read(tmp_path / "other" / "report.json")["suites"] if s["config"] == "en")
    assert seat["reason"] == "needs text embeddings, which an application does not do"


def test_the_bundled_responder_has_its_planted_refusals(bias: Command, tmp_path: Path) -> None:
    from pytest_bias.models.served.questions import seed_of

    text = SUITE.replace("lexicon: [lazy]", "lexicon: [day, message]")
    (tmp_path / "own.bias.yaml").write_text(text, encoding="utf-8")
    bias("run", "demo-chat", "--suite", "own.bias.yaml", "--out", "out").done()
    report = read(tmp_path / "out" / "report.json")
    prompts = [
        f"Continue this text: {who} number {n} is"
        for n in range(N // 2)
        for who in ("Woman", "Man")
    ]
    texts = [[answer(p, seed=seed_of(0, p, k)) for k in range(2)] for p in prompts]
    answered = [[t for t in pair if t != REFUSAL] for pair in texts]
    listed = [100 * sum("day" in t or "message" in t for t in a) / len(a) for a in answered if a]
    assert headline(report, "own_texts")["value"] == pytest.approx(sum(listed) / len(listed))
    scores = {s["metric"]: s["value"] for s in suite(report, "own_texts")["scores"] if not s["by"]}
    n_answered = sum(map(len, answered))
    assert scores["answered"] == pytest.approx(100 * n_answered / (2 * N))
    assert report["model"]["application"]["seeded"] is True


# Budgets and prices

COST = "cost: {input: 1000, output: 3000, currency: USD}"


def numbered(server: AnswerServer) -> int:
    return sum("number" in line for line in logged(server))


def spent(folder: Path) -> dict[str, Any]:
    return read(folder / "report.json")["run"]["cost"]


def test_a_budget_of_calls_is_kept_and_says_what_it_measured(
    bias: Command, server: AnswerServer, tmp_path: Path
) -> None:
    checks = 8
    # Two samples an item: 20 items of 24, and one call is left.
    ran = bias(*at(server), "--budget", f"{checks + 41}calls").done()
    report = read(tmp_path / "out" / "report.json")
    found = suite(report, "own_texts")
    assert len(server.asked) - numbered(server) == checks
    assert numbered(server) == 2 * found["sampled"]
    assert (found["sampled"], found["n_available"]) == (20, N)
    assert "budget" not in report["settings"]
    assert spent(tmp_path / "out")["calls"] == len(server.asked) == checks + 40
    assert "48 calls: about " in ran.said
    assert "; --budget is enough for about " in ran.said
    # Fewer than the first part takes: as many items as fit, to the last call.
    before = len(server.asked)
    bias(*at(server), "--budget", f"{checks + 9}calls", "--fresh").done()
    assert suite(read(tmp_path / "out" / "report.json"), "own_texts")["sampled"] == 4
    assert len(server.asked) - before == checks + 8


def test_kept_answers_are_free(bias: Command, server: AnswerServer, tmp_path: Path) -> None:
    words = (*at(server), "--budget", "41calls")
    bias(*words).done()
    first = spent(tmp_path / "out")
    assert first["calls"] == len(server.asked) <= 41
    taken = suite(read(tmp_path / "out" / "report.json"), "own_texts")["sampled"]
    # The same command goes on where the calls ended.
    ran = bias(*words).done()
    again = suite(read(tmp_path / "out" / "report.json"), "own_texts")
    assert taken < N
    assert again["sampled"] is None
    assert numbered(server) == 2 * N
    assert spent(tmp_path / "out")["calls"] == 2 * (N - taken)
    assert f"{2 * (N - taken)} calls: about " in ran.said
    ran = bias(*words).done()
    cost = spent(tmp_path / "out")
    assert (cost["calls"], cost["tokens_in"], cost["tokens_out"], cost["tokens"]) == (0, 0, 0, 0)
    assert "calls: about" not in ran.said


def test_money_is_forecast_kept_and_reported(
    bias: Command, server: AnswerServer, tmp_path: Path
) -> None:
    yaml = tmp_path / "pytest-bias.yaml"
    # Where the application counts: 7 tokens to it, 5 back.
    server.answers = lambda r: said_to(r) | {"usage": {"in": 7, "out": 5}}
    counts = "  tokens: {input: usage.in, output: usage.out}"
    text = HTTP.replace("  answer:", f"{counts}\n  answer:")
    yaml.write_text(f"{text}{COST}\n", encoding="utf-8")
    ran = bias(*at(server)).done()
    cost = spent(tmp_path / "out")
    calls = len(server.asked)
    assert (cost["calls"], cost["tokens_in"], cost["tokens_out"]) == (calls, 7 * calls, 5 * calls)
    assert (cost["currency"], cost["estimated"], cost["retried"]) == ("USD", 0, 0)
    assert cost["money"] == pytest.approx(calls * (7 * 1000 + 5 * 3000) / 1e6)
    # The checks have shown what a call takes: 48 calls for 22 dollars a thousand.
    assert f"48 calls: about {48 * 7} tokens sent and about {48 * 5} written (by those" in ran.said
    assert "about 1.06 USD" in ran.said
    assert f"{calls} calls, {12 * calls:,} tokens: {7 * calls:,} sent, {5 * calls:,} wr" in ran.said
    at_most = 0.9
    bias(*at(server), "--fresh", "--budget", f"{at_most}USD").done()
    cost = spent(tmp_path / "out")
    found = suite(read(tmp_path / "out" / "report.json"), "own_texts")
    assert 0 < cost["money"] <= at_most
    # The checks took 8 calls; an item takes 2.
    assert found["sampled"] == int((at_most - 8 * 0.022) / 0.044)
    assert "cost" not in read(tmp_path / "out" / "report.json")["settings"]


@pytest.mark.slow
def test_without_counts_tokens_are_estimated_and_said_to_be(
    bias: Command, server: AnswerServer, tmp_path: Path
) -> None:
    yaml = tmp_path / "pytest-bias.yaml"
    own = "  cost: {input: 1000, output: 3000, call: 0.5, currency: EUR}"
    text = HTTP.replace("  answer:", f"{own}\n  answer:")
    yaml.write_text(f"{text}{COST}\n", encoding="utf-8")
    ran = bias(*at(server)).done()
    cost = spent(tmp_path / "out")
    sent = [-(-len(r.body["question"].encode()) // 4) for r in server.asked]
    texts = [said_to(r)["answers"][0]["text"] for r in server.asked]
    written = [-(-len(text.encode()) // 4) for text in texts]
    assert (cost["tokens_in"], cost["tokens_out"]) == (sum(sent), sum(written))
    assert cost["estimated"] == cost["calls"] == len(server.asked)
    money = (1000 * sum(sent) + 3000 * sum(written)) / 1e6 + 0.5 * len(server.asked)
    assert cost["money"] == pytest.approx(money)
    assert "written (4 bytes each)" in ran.said
    assert f"written; about {money:.2f} EUR" in ran.said


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "items"), [(0, 16), (2, 6)])
def test_the_pytest_plugin_keeps_a_budget_of_calls(
    server: AnswerServer, tmp_path: Path, workers: int, items: int
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "own.bias.yaml"),
            *(f"--bias-model={server.url}", "--bias-out=out", "--bias-budget=41calls"),
            *(("-n", str(workers)) if workers else ()),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert TOKEN not in done.stdout + done.stderr
    # With two processes each has half of the calls, and makes the checks for itself.
    assert suite(read(tmp_path / "out" / "report.json"), "own_texts")["sampled"] == items
    assert spent(tmp_path / "out")["calls"] == len(server.asked) <= 41


@pytest.mark.slow
def test_a_list_of_applications_and_a_baseline(
    bias: Command, server: AnswerServer, tmp_path: Path
) -> None:
    other = server.url.replace("/answer", "/other")
    ran = bias(*at(server), "--baseline", other).done()
    assert f"Measuring the baseline {other}" in ran.said
    (tmp_path / "models.txt").write_text(f"{server.url}\n{other}\n", encoding="utf-8")
    words = ("--models", "models.txt", "--suite", "own.bias.yaml", "--out", "fleet")
    ran = bias("run", *words).done()
    assert len([*(tmp_path / "fleet").glob("*/report.json")]) == 2
    assert TOKEN.encode() not in everything_in(tmp_path)


def test_budgets_that_cannot_be_kept_are_refused(
    bias: Command, server: AnswerServer, tmp_path: Path
) -> None:
    bias(*at(server), "--budget", "5USD").refused(
        2, "no cost is stated", "cost: {input: 0.5, output: 1.5, currency: USD}"
    )
    (tmp_path / "pytest-bias.yaml").write_text(HTTP + COST, encoding="utf-8")
    bias(*at(server), "--budget", "5EUR").refused(2, "the settings state a cost in USD")
    bias("run", "demo", "--budget", "500calls").refused(2, "demo is measured here", "10m")
    bias(*at(server), "--budget", "5dollars").refused(2, "For instance 10m", "500calls")
    assert server.asked == []


def test_too_few_calls_for_an_item_are_no_measurement(
    bias: Command, server: AnswerServer, tmp_path: Path
) -> None:
    bias(*at(server), "--budget", "1call").done(3)
    found = suite(read(tmp_path / "out" / "report.json"), "own_texts")
    assert found["status"] == "inconclusive"
    assert "--budget 1calls does not suffice for an item of it" in found["reason"]
    assert numbered(server) == 0
