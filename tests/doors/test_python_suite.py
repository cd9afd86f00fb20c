"""The example of a suite in Python: installed as a package, found, listed and run."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Command, headline, suite

PACKAGE = Path(__file__).parents[2] / "examples" / "python-suite"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example below a folder of its own, and return it."""
    target = tmp_path_factory.mktemp("site")
    words = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", *words, "--target", target, PACKAGE],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return target


def test_the_example_is_listed_and_measured(
    installed: Path, command: Command, tiny: Callable[[str], Path]
) -> None:
    env = {"PYTHONPATH": str(installed)}
    listed = command("suites", "handedness", env=env).done()
    assert "16 items of 8 attributes" in listed.said
    ran = command("run", tiny("gpt2"), "--suite", "handedness", "--out", "out", env=env).done()
    found = suite(ran.report, "handedness")
    assert (found["status"], found["validity"]) == ("scored", "contested")
    score = headline(ran.report, "handedness")
    assert (score["metric"], score["n"], score["n_clusters"]) == ("difference", 16, 8)
    assert score["interval"] is not None
    groups = {tuple(s["by"].values()) for s in found["scores"]}
    assert groups == {(), ("praise",), ("blame",)}
    assert (ran.at / "badges" / "handedness-en.svg").is_file()
    assert command("verify", "out", env=env).done().code == 0
    # Without the package its scores cannot be computed again, which is said.
    without = command("verify", "out").done(3)
    assert "suite 'handedness' is not known" in without.said
