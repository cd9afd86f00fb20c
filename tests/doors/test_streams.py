"""Every command prints to its end on a stream that lacks letters, and where nobody reads on."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from commands import Ran, environment
from pytest_bias.emit.streams import fitted

RUN = ("run", "demo", "--suite", "gendered_pair_entropy[en]", "--profile", "quick", "--out", "out")
COMMANDS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "run": (0, RUN),
    "run with a baseline": (0, (*RUN, "--baseline", "{demo}")),
    "run that is refused": (3, ("run", "no/such")),
    "suites": (0, ("suites",)),
    "suites of a name": (0, ("suites", "seat")),
    "compare": (0, ("compare", "{demo}", "{demo}")),
    "render": (0, ("render", "{demo}", "--to", "html", "--out", "page")),
    "verify": (0, ("verify", "{demo}")),
    "merge": (0, ("merge", "{demo}")),
    "data check": (3, ("data", "check", "--suite", "crows_pairs")),
    "publish": (3, ("publish", "{demo}", "--repo", "model", "--dry-run")),
    "init": (0, ("init", "--yes", "--model", "demo")),
    "lock": (3, ("lock", "no/such")),
    "help": (0, ("run", "--help")),
    "version": (0, ("--version",)),
}


def ended(words: tuple[str, ...], demo: Ran, folder: Path, env: dict[str, str], out: int):
    """Run a command whose standard output is a file descriptor, or captured."""
    process = subprocess.run(
        [sys.executable, "-m", "pytest_bias", *(w.format(demo=demo.at) for w in words)],
        cwd=folder,
        env=environment(env),
        stdout=out,
        stderr=subprocess.PIPE,
        check=False,
        timeout=240,
    )
    said = process.stderr.decode("ascii", "backslashreplace")
    for wrong in ("Traceback", "unexpected", "Errno", "UnicodeEncode", "BrokenPipe"):
        assert wrong not in said, said
    return process


@pytest.mark.by_day("run-cp1252", "suites-cp1252", "verify-cp1252", "lock-cp1252", "help-cp1252")
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize(("code", "words"), COMMANDS.values(), ids=COMMANDS)
def test_a_stream_that_lacks_letters(demo, tmp_path, code, words, encoding):
    process = ended(words, demo, tmp_path, {"PYTHONIOENCODING": encoding}, subprocess.PIPE)
    assert process.returncode == code, process.stderr
    printed = process.stdout.decode(encoding)
    if words[0] == "run" and code == 0 and "--help" not in words:
        assert "Gendered pairs en" in printed
        assert "##" in printed
        # What is written is the same wherever it is printed.
        page = (tmp_path / "out" / "summary.md").read_bytes().decode("utf-8")
        assert "–" in page


@pytest.mark.by_day("run", "verify")
@pytest.mark.parametrize(
    ("name", "unbuffered"),
    [*((name, "") for name in COMMANDS), ("run", "1")],
    ids=[*COMMANDS, "run unbuffered"],
)
def test_a_reader_that_has_gone(demo, tmp_path, name, unbuffered):
    code, words = COMMANDS[name]
    read, write = os.pipe()
    os.close(read)
    try:
        process = ended(words, demo, tmp_path, {"PYTHONUNBUFFERED": unbuffered}, write)
    finally:
        os.close(write)
    assert process.returncode == code, process.stderr
    if words[0] == "run" and code == 0 and "--help" not in words:
        assert (tmp_path / "out" / "report.json").is_file()


def test_signs_have_plain_ones_and_letters_keep_their_number():
    assert fitted("57.99 – 62.92 · ███▎ … 2 × → °", "ascii") == "57.99 - 62.92 | ###| ... 2 x -> *"
    assert fitted("57.99 – 62.92 · █ é", "cp1252") == "57.99 – 62.92 · # é"
    assert fitted("Zoë 中", "ascii") == r"Zo\xeb \u4e2d"
    assert fitted("– 中", "utf-8") == "– 中"
