"""A list of 24 small models on a cluster of two nodes, against plain runs one after the other.

    python benchmarks/fleet.py FOLDER [--suite NAME]... [--models N] [--tiny] [--only STEP]...

Steps: ``plain`` (a process a model), ``one`` (a cluster of one core), ``two`` (two nodes of one
core each), ``node`` (one of two nodes is killed in the middle) and ``driver`` (the command is
killed, and started again). Every step but the first says how long it took beside ``plain``, what
the command says of the models, how many reports have the digest of the plain run, and how many
forwards were made beside those of the plain runs: they are counted in every process, killed ones
too. All processes have one thread.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from forward_counter import environment, forwards  # noqa: E402
from tiny_architectures import build  # noqa: E402

ARCHITECTURES = ("bert", "roberta", "distilbert", "albert", "gpt2", "gpt_neox", "llama", "opt")
COMMAND = str(Path(sys.executable).parent / "pytest-bias")


def models(folder: Path, n: int, *, tiny: bool) -> list[str]:
    """Build the tiny models that are not there yet, and return the names of all."""
    gguf = next((ROOT / "models" / "smollm2").glob("*.gguf"))
    found = [] if tiny else ["demo", str(ROOT / "models" / "bert-tiny"), str(gguf)][:n]
    for i in range(n - len(found)):
        kind = ARCHITECTURES[i % len(ARCHITECTURES)]
        path = folder / "models" / f"{kind}-{i // len(ARCHITECTURES)}"
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            build(kind, path, seed=i)
        found.append(str(path))
    return found


def surroundings(folder: Path, step: str) -> dict[str, str]:
    """Return the environment of a step, in which every forward is counted anew."""
    shutil.rmtree(folder / "count" / step, ignore_errors=True)
    own = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    return {**os.environ, **own, **environment(folder / "count" / step)}


def digests(out: Path) -> dict[str, str]:
    """Return the digest of every report below a folder, by the folder's own name."""
    found = {}
    for path in out.glob("*/report.json"):
        found[path.parent.name] = json.loads(path.read_text())["digest"]
    return found


def plain(folder: Path, names: list[str], suites: list[str]) -> tuple[float, int]:
    """Run one model after the other, a process each; returns seconds and forwards."""
    env = surroundings(folder, "plain")
    start = time.perf_counter()
    for name in names:
        subprocess.run(
            [COMMAND, "run", name, *suites],
            cwd=folder,
            env=env,
            stdout=subprocess.DEVNULL,
            check=False,
        )
    return time.perf_counter() - start, forwards(env)


@contextmanager
def cluster(nodes: int, env: dict[str, str]) -> Iterator[Any]:
    """Start a cluster with one core a node."""
    os.environ.update(env)
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.others = [found.add_node(num_cpus=1) for _ in range(nodes - 1)]
    try:
        yield found
    finally:
        found.shutdown()


def fleet(
    folder: Path, step: str, listed: Path, suites: list[str], nodes: int
) -> tuple[float, float, int, str]:
    """Run the list on a cluster.

    Returns seconds, those before something was killed, forwards and what the command says last.
    """
    env = surroundings(folder, step)
    words = [COMMAND, "run", "--models", str(listed), "--engine", "ray", "--out", f"out-{step}"]
    killed = 0.0
    with cluster(nodes, env) as there:
        words += ["--ray-address", there.address, *suites]
        start = time.perf_counter()
        with (folder / f"{step}.log").open("w") as log:
            process = subprocess.Popen(words, cwd=folder, env=env, stdout=log, stderr=log)
            if step in ("node", "driver"):
                _wait_for(folder / f"out-{step}", process, 0.4 * listed.read_text().count("\n"))
                killed = time.perf_counter() - start
                if step == "node":
                    there.remove_node(there.others[0], allow_graceful=False)
                else:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    process = subprocess.Popen(words, cwd=folder, env=env, stdout=log, stderr=log)
            process.wait()
        seconds = time.perf_counter() - start
    said = re.findall(r"\d+ of \d+ models measured", (folder / f"{step}.log").read_text())
    return seconds, killed, forwards(env), said[-1] if said else "not ended"


def _wait_for(out: Path, process: "subprocess.Popen[bytes]", reports: float) -> None:
    while process.poll() is None and len(list(out.glob("*/report.json"))) < reports:
        time.sleep(0.5)


def main() -> None:
    """Run the steps and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--models", type=int, default=24)
    parser.add_argument("--tiny", action="store_true", help="tiny random models alone")
    parser.add_argument("--only", action="append", default=[])
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    suites = [word for name in asked.suite for word in ("--suite", name)]
    names = models(folder, asked.models, tiny=asked.tiny)
    listed = folder / "models.txt"
    listed.write_text("".join(f"{name}\n" for name in names))
    steps = asked.only or ["plain", "one", "two", "node", "driver"]
    kept = folder / "plain.json"
    if "plain" in steps:
        kept.write_text(json.dumps(plain(folder, names, suites)))
    before, rows = json.loads(kept.read_text())
    expected = digests(folder / "bias-report")
    print(
        f"{len(names)} models, {len(expected)} reports, plain runs: {before:.0f} s, {rows} forwards"
    )
    for step in (s for s in steps if s != "plain"):
        seconds, killed, made, said = fleet(folder, step, listed, suites, 1 if step == "one" else 2)
        found = digests(folder / f"out-{step}")
        same = sum(expected[name] == digest for name, digest in found.items())
        more = made - rows
        when = f", killed after {killed:.0f} s" if killed else ""
        print(
            f"{step:<7} {seconds:6.0f} s ({seconds / before:.2f} of plain{when}); {said}, "
            f"{same} of {len(expected)} digests equal; {more:+d} forwards"
        )


if __name__ == "__main__":
    main()
