"""Applications as models: names, imports, calls, and every answer that is none."""

import hashlib
import itertools
import json
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.engine.planning import _needs
from pytest_bias.errors import BiasError, ModelError, ModelStopped, UsageError
from pytest_bias.models import ModelRef, describe, load
from pytest_bias.models.applications.model import MOST_FAILED, MOST_TEXT
from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.served.questions import seed_of
from pytest_bias.models.served.settings import RequestSettings, settings_for
from writers import reasons, texts

Written = Callable[..., str]
Loaded = Callable[..., Model]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """Return a function that writes a module to the current folder and names its function."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    numbers = itertools.count()
    before = set(sys.modules)

    def write(source: str, function: str = "answer") -> str:
        name = f"own_app_{next(numbers)}"
        (folder / f"{name}.py").write_text(textwrap.dedent(source).strip() + "\n", encoding="utf-8")
        return f"app:{name}:{function}"

    yield write
    for name in set(sys.modules) - before:
        if name.startswith("own_"):
            del sys.modules[name]


@pytest.fixture
def loaded(written: Written) -> Loaded:
    """Return a function that loads an application from its source, with settings of calls."""

    def model(source: str, **asking: Any) -> Model:
        return load(describe(written(source), asking=settings_for(asking, calls_code=True)))

    return model


# Names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("app:mine:answer", "mine:answer"),
        ("app:my_pkg.chat:Bot.reply", "my_pkg.chat:Bot.reply"),
        ("demo-chat", "demo-chat"),
    ],
)
def test_a_name_is_read_and_written(text: str, name: str) -> None:
    ref = ModelRef.parse(text)
    assert (ref.source, ref.name) == ("application", name)
    assert str(ref) == ref.argument == text
    assert ModelRef.parse(str(ref)) == ref


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("app:", "is not an application"),
        ("app:mine", "names no function of the module mine"),
        ("app:mine:", "names no function of the module mine"),
        ("app:./src/mine.py:answer", "app:src.mine:answer"),
        ("app:mine.py:answer", "app:mine:answer"),
        ("app:mine:answer@v1", "is not an application"),
        ("app:mine:answer+org/adapter", "is not an application"),
        ("app:mine:answer()", "is not an application"),
        ("app:1:2", "is not an application"),
    ],
)
def test_other_names_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        ModelRef.parse(text)
    assert words in str(error.value)


# Imports


@pytest.mark.parametrize(
    ("source", "function", "kind", "words"),
    [
        ("def answer(prompt): ...", "answr", UsageError, "has no 'answr'. Did you mean 'answer'?"),
        ("answer = 'text'", "answer", UsageError, "is a str, not a function"),
        ("class Bot:\n    def __init__(self, x): ...", "Bot", UsageError, "is a class, not a"),
        ("def answer(): ...", "answer", UsageError, "cannot be called with a prompt: too many"),
        ("def answer(a, b): ...", "answer", UsageError, "missing a required argument: 'b'"),
        ("def answer(*, prompt): ...", "answer", UsageError, "cannot be called with a prompt"),
        ("x = 1\n\n1 / 0", "answer", ModelError, "raises ZeroDivisionError: division by zero"),
        ("x = 1\n\n1 / 0", "answer", ModelError, ".py, line 3)"),
        ("raise SystemExit(2)", "answer", ModelError, "raises SystemExit: 2"),
        ("def answer(prompt) ...", "answer", ModelError, "raises SyntaxError"),
        ("import nothing_of_that_name", "answer", ModelError, "imports nothing_of_that_name,"),
        ("def __getattr__(n): raise OSError('no\\nno')", "answer", ModelError, "OSError: no"),
    ],
)
def test_what_cannot_be_imported_is_one_message(
    written: Written, source: str, function: str, kind: type[BiasError], words: str
) -> None:
    with pytest.raises(kind) as error:
        describe(written(source, function))
    assert words in str(error.value)
    assert error.value.__cause__ is None


def test_a_module_that_is_not_there_has_the_nearest_one(written: Written) -> None:
    written("def answer(prompt): ...")
    with pytest.raises(UsageError, match=r"no module 'own_ap_0'. Did you mean 'own_app_0'"):
        describe("app:own_ap_0:answer")
    with pytest.raises(UsageError, match=r"no module 'json.decodr'. Did you mean 'json.decoder'"):
        describe("app:json.decodr:answer")
    with pytest.raises(UsageError, match="no module 'nothing_like_it'"):
        describe("app:nothing_like_it.chat:answer")


def test_the_identity_states_function_and_source(written: Written) -> None:
    source = "def answer(prompt, *, seed=None):\n    return prompt"
    name = written(source)
    about = describe(name).identity
    assert (about.reference, about.kind, about.dtype) == (name, "application", "unknown")
    assert about.code_sha256 == hashlib.sha256(f"{source}\n".encode()).hexdigest()
    assert about.application
    assert about.application.function == "answer"
    assert (about.application.seeded, about.application.distribution) == (True, None)
    assert (about.asked, about.weights_sha256) == ("an application", None)
    of_package = describe("app:textwrap:dedent").identity.application
    assert of_package
    assert of_package.distribution is None
    of_package = describe("app:packaging.utils:canonicalize_name").identity.application
    assert of_package
    assert of_package.distribution == f"packaging {version('packaging')}"


def test_another_source_is_another_model(written: Written) -> None:
    one, two = (
        describe(written(f"def answer(prompt):\n    return {text!r}")) for text in ("a", "b")
    )
    assert one.weights_digest() != two.weights_digest()


# What is passed


@pytest.mark.parametrize(
    ("parameters", "passed"),
    [
        ("prompt", {}),
        ("prompt, *, seed=0", {"seed": 5}),
        ("prompt, system=''", {"system": "Be brief."}),
        ("p, /, *, system, seed", {"system": "Be brief.", "seed": 5}),
        ("prompt, **more", {"system": "Be brief.", "seed": 5}),
    ],
)
def test_only_accepted_keywords_are_passed(
    loaded: Loaded, parameters: str, passed: dict[str, Any]
) -> None:
    model = loaded(
        f"""
        import json
        def answer({parameters}):
            found = dict(locals())
            found.pop("prompt", found.pop("p", None))
            return json.dumps(found.get("more", found))
        """
    )
    if "system" in passed:
        model.system = "Be brief."
    (found,) = texts(model, "Hello", sample=True, seed=1)
    if "seed" in passed:
        passed = {**passed, "seed": seed_of(1, "Hello", 0)}
    assert json.loads(found) == passed


def test_a_system_text_needs_a_parameter(loaded: Loaded) -> None:
    model = loaded("def answer(prompt, *, seed=None):\n    return prompt")
    model.system = "Be brief."
    with pytest.raises(ModelError, match="takes none") as error:
        texts(model, "Hello")
    assert "system: str | None = None" in str(error.value.hint)


SEEDED = "def answer(prompt, *, seed=None):\n    return f'{prompt} {seed}'"


def test_seeds_depend_on_run_prompt_and_number_only(loaded: Loaded) -> None:
    model = loaded(SEEDED, concurrency=3)
    found = texts(model, "a", "b", "a", sample=True, n=2, seed=7)
    a, b = ([f"{p} {seed_of(7, p, k)}" for k in range(2)] for p in "ab")
    assert found == [*a, *b, *a]
    assert texts(model, "b", sample=True, n=2, seed=7) == b
    assert texts(model, "b", sample=True, n=2, seed=8) != b
    assert texts(model, "a") == ["a None"]


def test_equal_prompts_are_asked_once(loaded: Loaded) -> None:
    model = loaded("n = []\ndef answer(prompt):\n    n.append(1)\n    return str(len(n))")
    assert texts(model, "a", "a") == ["1", "1"]
    assert model.meter.forwards == 1
    # Samples of a function without a seed are separate calls.
    assert sorted(texts(model, "b", sample=True, n=3)) == ["2", "3", "4"]


def test_stop_strings_cut_the_text(loaded: Loaded) -> None:
    model = loaded("def answer(prompt):\n    return 'One. Two\\nThree'")
    (found,) = model.generate(["x"], max_new_tokens=1, stop=["\n", ". "])
    assert (found.text, found.finished) == ("One", "stop")


@pytest.mark.parametrize(
    "how", [{"n": 2}, {"max_new_tokens": 0}, {"stop": [""]}, {"chat": False}, {"n": 0}]
)
def test_contradictions_are_refused(loaded: Loaded, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(how)).replace("_", ".")):
        loaded(SEEDED).generate(["a"], **{"max_new_tokens": 8, **how})


# What an application cannot do


def test_what_it_lacks_has_a_reason(written: Written) -> None:
    about = describe(written(SEEDED))
    assert about.kind is ModelKind.APPLICATION
    assert about.capabilities == {Capability.GENERATE, Capability.OPEN_VOCABULARY}
    told = _needs("x", about, frozenset({Capability.LOG_LIKELIHOOD}))
    assert told == "needs x; an application returns text, no probabilities"
    told = _needs("vectors", about, frozenset({Capability.EMBED}))
    assert told == "needs vectors, which an application does not do"
    model = load(about)
    assert model.chat
    for ask in (
        lambda: model.log_likelihood(["a"]),
        lambda: model.embed(["a"]),
        lambda: model.generate(["a"], max_new_tokens=1, branch=True, n=2),
    ):
        with pytest.raises(TypeError, match=r"an? application model has no"):
            ask()


def test_settings_that_cannot_apply_are_refused(written: Written) -> None:
    about = describe(written(SEEDED))
    with pytest.raises(UsageError, match="--chat off with app:own_app_0:answer"):
        about.chats("off")
    assert about.chats("auto") is about.chats("on") is True
    with pytest.raises(UsageError, match="--device cuda:0 and --dtype float16 with an application"):
        about.precision("cuda:0", "float16", None)


def test_notices_state_what_is_not_known(written: Written) -> None:
    told = " ".join(describe(written("def answer(prompt):\n    return ''")).notices)
    assert "takes no seed" in told
    assert "takes no seed" not in " ".join(describe(written(SEEDED)).notices)
    assert "no limit of tokens" in describe(written(SEEDED)).about_writing


# Answers that are none

BAD = {
    "raise ValueError('not\\nnow')": "the application raises ValueError: not",
    "raise TimeoutError": "the application raises TimeoutError",
    "raise SystemExit(3)": "the application raises SystemExit: 3",
    "raise KeyboardInterrupt": "the application raises KeyboardInterrupt",
    "return None": "the application returns None, not a text",
    "return b'bytes'": "the application returns a bytes, not a text (str)",
    "return 1": "the application returns an int, not a text (str)",
    "yield 1": "the application returns a generator, not a text (str)",
    f"return 'x' * {10 * MOST_TEXT}": "the text has 10,000,000 characters, more than 1,000,000",
    "while True: time.sleep(0.05)": "no answer within 0.2 s",
    "return prompt.nothing": "the application raises AttributeError: 'str' object has no attribute",
}


@pytest.mark.parametrize(
    ("line", "prefix"),
    [(line, "") for line in BAD]
    + [(line, "async ") for line in BAD if "yield" not in line and "sleep" not in line],
)
def test_an_answer_that_is_none_has_its_reason(loaded: Loaded, line: str, prefix: str) -> None:
    model = loaded(
        f"""
        import time
        {prefix}def bad(prompt):
            {line}
        def answer(prompt):
            return bad(prompt) if prompt == "bad" else "fine"
        """,
        timeout=0.2 if "sleep" in line else 20,
    )
    first, reason, last = reasons(model, "a", "bad", "b")
    assert (first, last) == (None, None)
    assert reason
    assert reason.startswith(BAD[line])


def test_half_characters_and_empty_texts_are_answers(loaded: Loaded) -> None:
    model = loaded("def answer(prompt):\n    return '\\ud83d' if prompt else ''")
    assert texts(model, "x", "") == ["?", ""]


def test_failures_in_a_row_end_the_run(loaded: Loaded, tmp_path: Path) -> None:
    model = loaded(
        """
        calls = []
        def answer(prompt):
            calls.append(prompt)
            if prompt.isdigit():
                raise RuntimeError("quota")
            return prompt
        """
    )
    model.keep(tmp_path / "kept")
    alternating = [str(n) if n % 2 else f"p{n}" for n in range(4 * MOST_FAILED)]
    assert sum(r is not None for r in reasons(model, *alternating)) == 2 * MOST_FAILED
    with pytest.raises(ModelStopped) as error:
        reasons(model, "last", *map(str, range(100, 200)))
    told = str(error.value)
    assert f"is broken: {MOST_FAILED} calls in a row failed" in told
    assert "RuntimeError: quota; 21 answers are kept, and the same command goes on" in told
    calls = sys.modules["own_app_0"].calls
    assert len(calls) == 4 * MOST_FAILED + 1 + MOST_FAILED
    with pytest.raises(ModelStopped):
        texts(model, "another")
    assert len(calls) == 4 * MOST_FAILED + 1 + MOST_FAILED


@pytest.mark.parametrize("prefix", ["", "async "])
def test_calls_that_hang_end_the_run(loaded: Loaded, prefix: str) -> None:
    wait = "await asyncio.sleep(60)" if prefix else "time.sleep(60)"
    model = loaded(
        f"import asyncio, time\n{prefix}def answer(prompt):\n    {wait}", timeout=0.1, retries=0
    )
    start = time.monotonic()
    with pytest.raises(ModelStopped, match="3 calls in a row had no answer within") as error:
        texts(model, *"abcdefgh")
    assert time.monotonic() - start < 10
    assert "served: {timeout: SECONDS}" in str(error.value)


def test_a_blocked_loop_does_not_block_the_next_call(loaded: Loaded) -> None:
    model = loaded(
        """
        import time
        async def answer(prompt):
            if prompt == "block":
                time.sleep(4)
            return prompt
        """,
        timeout=0.5,
    )
    assert reasons(model, "block", "a") == ["no answer within 0.5 s", None]


# Threads and coroutines


WHERE = """
import threading, time
now, most, lock = [0], [0], threading.Lock()
threads = set()
def answer(prompt):
    with lock:
        now[0] += 1
        most[0] = max(most[0], now[0])
    threads.add(threading.get_ident())
    time.sleep(0.02)
    now[0] -= 1
    return prompt
"""


def test_one_call_at_a_time_in_one_thread_unless_stated(loaded: Loaded) -> None:
    model = loaded(WHERE)
    for _ in range(2):
        texts(model, *(f"{time.monotonic_ns()}{k}" for k in range(4)))
    own = sys.modules["own_app_0"]
    assert (own.most, len(own.threads)) == ([1], 1)
    assert threading.get_ident() not in own.threads
    texts(loaded(WHERE, concurrency=4), *map(str, range(12)))
    own = sys.modules["own_app_1"]
    assert own.most[0] > 1
    assert len(own.threads) <= 4


def test_settings_of_an_application_are_those_of_servers_but_one() -> None:
    assert settings_for({"timeout": 3}, calls_code=True) == RequestSettings(1, 3)
    assert settings_for({"concurrency": 5}, calls_code=True).concurrency == 5
    assert settings_for({}) == RequestSettings()


def test_coroutines_share_one_loop(loaded: Loaded) -> None:
    model = loaded(
        """
        import asyncio
        loops, now, most = set(), [0], [0]
        async def answer(prompt, *, seed=None):
            loops.add(id(asyncio.get_running_loop()))
            now[0] += 1
            most[0] = max(most[0], now[0])
            await asyncio.sleep(0.02)
            now[0] -= 1
            return f"{prompt} {seed}"
        """,
        concurrency=3,
    )
    assert texts(model, "a", "b", "c") == ["a None", "b None", "c None"]
    assert texts(model, "d") == ["d None"]
    own = sys.modules["own_app_0"]
    assert len(own.loops) == 1
    assert own.most[0] > 1


def test_objects_and_partials_are_called(written: Written) -> None:
    source = """
    import functools
    class Bot:
        async def reply(self, prompt):
            return prompt.upper()
        def __call__(self, prompt):
            return prompt[::-1]
    bot = Bot()
    part = functools.partial(lambda prefix, prompt: prefix + prompt, "> ")
    """
    names = [written(source, function) for function in ("bot.reply", "bot", "part")]
    found = [texts(load(describe(name)), "ab") for name in names]
    assert found == [["AB"], ["ba"], ["> ab"]]


def test_calls_are_spaced(loaded: Loaded) -> None:
    model = loaded(SEEDED, requests_per_minute=1200)
    start = time.monotonic()
    texts(model, *"abcde")
    assert time.monotonic() - start >= 0.2


def test_prints_go_to_standard_error(loaded: Loaded, capsys: pytest.CaptureFixture[str]) -> None:
    model = loaded(
        """
        import sys
        print("at import")
        def answer(prompt):
            print("in a call")
            sys.stdout.write("written")
            return prompt
        """
    )
    before = sys.stdout
    model.meter.on_progress = lambda done, total: sys.stdout.write("ours\n")
    assert texts(model, "a") == ["a"]
    assert sys.stdout is before
    said = capsys.readouterr()
    assert said.out == "ours\n"
    assert [w in said.err for w in ("at import", "in a call", "written")] == [True] * 3


# Answers that are kept


COUNTED = """
calls = []
fail = []
def answer(prompt, *, system=None, seed=None):
    if prompt in fail:
        raise RuntimeError("gone")
    calls.append((prompt, system, seed))
    return f"{prompt}!"
"""


def test_a_second_run_repeats_no_call(written: Written, tmp_path: Path) -> None:
    name = written(COUNTED)
    for run in range(2):
        model = load(describe(name))
        model.keep(tmp_path / "kept")
        own = sys.modules[name.split(":")[1]]
        assert texts(model, "a", "b", sample=True, n=2, seed=3) == ["a!", "a!", "b!", "b!"]
        assert texts(model, "a") == ["a!"]
        assert len(own.calls) == 5
        assert model.meter.resumed == 5 * run
    model.system = "Other."
    assert texts(model, "a") == ["a!"]
    assert own.calls[5:] == [("a", "Other.", None)]


def test_only_failures_are_asked_again(written: Written, tmp_path: Path) -> None:
    name = written(COUNTED)
    model = load(describe(name))
    own = sys.modules[name.split(":")[1]]
    own.fail.append("b")
    model.keep(tmp_path / "kept")
    assert reasons(model, "a", "b") == [None, "the application raises RuntimeError: gone"]
    own.fail.clear()
    again = load(describe(name))
    again.keep(tmp_path / "kept")
    assert texts(again, "a", "b") == ["a!", "b!"]
    assert [prompt for prompt, *_ in own.calls] == ["a", "b"]


def test_answers_of_another_source_are_not_used(written: Written, tmp_path: Path) -> None:
    for _ in range(2):
        name = written(COUNTED)
        model = load(describe(name))
        model.keep(tmp_path / "kept")
        texts(model, "a")
        assert len(sys.modules[name.split(":")[1]].calls) == 1


def test_a_forecast_calls_nothing(loaded: Loaded) -> None:
    model = loaded(COUNTED)
    with model.counting() as work:
        texts(model, "a", "b", "a", sample=True, n=2)
    assert (work.positions, sys.modules["own_app_0"].calls) == (4, [])
    with pytest.raises(BiasError, match="not known before the first"):
        model.pace()
    texts(model, "a")
    assert model.pace().position_s == pytest.approx(model.meter.seconds)


def test_an_application_keeps_its_answers_after_a_run(written: Written) -> None:
    assert describe(written(SEEDED)).keeps_answers
    assert not describe("demo").keeps_answers
