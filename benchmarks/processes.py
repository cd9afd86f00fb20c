"""Whole processes, timed: ours, and other packages in environments of their own.

Nothing here imports torch: a child that is forked from a large process would begin with its size.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from crows import DATA, ROOT

ENVIRONMENTS = ROOT / ".venv-bench"
HERE = Path(__file__).resolve().parent
COMMAND = HERE / "child" / "command.py"
SCORES = HERE / "child" / "scores.py"
TORCH = "torch==2.13.0"


class Process(NamedTuple):
    """What a process took from its start to its end."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


def run(command: Sequence[str | Path], threads: int = 0, **variables: str) -> Process:
    """Run a command to its end; one that fails ends the benchmark with what it said."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1"} | variables
    if threads:
        environment |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        child = subprocess.Popen(
            [*map(str, command)], stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        # Not child.wait(): the peak of this child alone is wanted, not that of the largest so far.
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if child.returncode:
        sys.exit(f"{text}\n{' '.join(map(str, command))} ended with {child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Process(seconds, cpu_seconds, usage.ru_maxrss * unit, text)


def with_options(
    words: Sequence[str | Path], options: Mapping[str, str | Path]
) -> list[str | Path]:
    """Return a command with its options behind it."""
    return [*words, *chain.from_iterable(options.items())]


def write_model(name: str, folder: Path, data: Path = DATA) -> Path:
    """Write a model with random weights."""
    run([sys.executable, HERE / "random_models.py", name, folder, "--data", data])
    return folder


def is_installed(distribution: str) -> bool:
    """Whether this Python has a package; a benchmark's own name does not count."""
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def environment(name: str, *requirements: Sequence[str | Path]) -> Path:
    """Return the Python of an environment, made when it is not there.

    Each of the requirements is one list of what ``pip install`` takes, installed in that order.
    """
    folder = ENVIRONMENTS / name
    python, done = folder / "bin" / "python", folder / "installed.json"
    asked = [[str(word) for word in one] for one in requirements]
    if not done.exists() or json.loads(done.read_text()) != asked:
        print(f"Making {folder} …", file=sys.stderr)
        run([sys.executable, "-m", "venv", "--clear", folder])
        for one in asked:
            run([python, "-m", "pip", "install", "--quiet", *one])
        done.write_text(json.dumps(asked))
    return python


class Scored(NamedTuple):
    """Sentences scored by one library in a process of its own.

    `seconds` is of the call alone, after loading and a warm-up; `whole` of the process.
    """

    name: str
    seconds: float
    cpu_seconds: float
    whole: float
    peak_bytes: int
    scores: list[float]
    versions: Mapping[str, str]
    model_seconds: float | None = None
    gpu_bytes: int = 0


def score(
    name: str, python: Path, library: str, model: Path, texts: Sequence[str], **job: Any
) -> Scored:
    """Let a library score sentences; `job` is what child/scores.py reads besides."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "job.json", Path(folder) / "scores.json"
        given.write_text(
            json.dumps({"library": library, "model": str(model), "texts": texts, **job})
        )
        process = run([python, SCORES, given, found], job["threads"])
        return Scored(
            name,
            whole=process.seconds,
            peak_bytes=process.peak_bytes,
            **json.loads(found.read_text()),
        )


def load_average() -> str:
    """How busy the machine has been, for reading a time that was taken on it."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def compare(ours: Scored, others: Sequence[Scored], tolerance: float) -> int:
    """Print a table of times; fail where a score differs by more than the tolerance, in nats."""
    titles = ("seconds", "ratio", "CPU s", "ratio", "process s", "ratio", "MB", "GPU MB", "differ")
    print(" " * 24 + "".join(f"{title:>10}" for title in titles))
    failed = False
    for one in (*others, ours):
        differ = max(abs(a - b) for a, b in zip(one.scores, ours.scores, strict=True))
        failed |= differ > tolerance
        times = (
            (one.seconds, ours.seconds),
            (one.cpu_seconds, ours.cpu_seconds),
            (one.whole, ours.whole),
        )
        columns = "".join(f"{theirs:10.2f}{theirs / mine:10.2f}" for theirs, mine in times)
        gpu = f"{one.gpu_bytes / 1e6:.0f}" if one.gpu_bytes else "-"
        print(f"{one.name:24}{columns}{one.peak_bytes / 1e6:10.0f}{gpu:>10}{differ:10.1e}")
    print(f"\nOf the seconds of {ours.name}, its forwards took {ours.model_seconds:.2f}.")
    if failed:
        print(f"FAILED: the scores differ by more than {tolerance} nats.")
    return int(failed)


def about(ours: Scored, other: Scored) -> str:
    """Versions on both sides."""
    sides = (", ".join(f"{n} {v}" for n, v in s.versions.items()) for s in (ours, other))
    return "\n".join(sides)
