"""Many models on a cluster; whole commands, and whatever can be lost."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import forward_counter
from commands import Command, Ran, finish, read, start

SUITES = ("--suite", "gendered_pair_entropy[en]", "--suite", "seat[en]")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[int], Any]]:
    """Return a function that starts a cluster of one core a node, whose forwards are counted."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    started = []

    def begin(nodes: int) -> Any:
        # Else other tests beside this one would have all the time of the cores.
        own = {"RAY_worker_niceness": "0"}
        for name, value in (own | forward_counter.environment(tmp_path / "count")).items():
            monkeypatch.setenv(name, value)
        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        started.append(found)
        found.others = [found.add_node(num_cpus=1) for _ in range(nodes - 1)]
        return found

    yield begin
    for found in started:
        found.shutdown()


def run(cluster: Any, folder: Path, *words: object) -> Any:
    """Start the command on a cluster."""
    own = ("--engine", "ray", "--ray-address", cluster.address, "--out", "out")
    return start("run", "--models", folder / "models.txt", *SUITES, *own, *words, folder=folder)


def plain(folder: Path, models: list[object]) -> tuple[dict[str, str], int]:
    """Measure each model alone; returns the digests of the reports and the number of forwards."""
    env = forward_counter.environment(folder / "count-plain")
    found = {}
    for number, model in enumerate(models):
        out = f"plain-{number}"
        finish(start("run", model, *SUITES, "--out", out, folder=folder, env=env), folder)
        report = read(folder / out / "report.json")
        found[report["model"]["reference"]] = report["digest"]
    return found, forward_counter.forwards(env)


def digests(folder: Path) -> dict[str, str]:
    found = [read(path) for path in (folder / "out").glob("*/report.json")]
    return {report["model"]["reference"]: report["digest"] for report in found}


def listed(folder: Path, models: list[object]) -> None:
    (folder / "models.txt").write_text("".join(f"{m}\n" for m in models), encoding="utf-8")


def counted(folder: Path) -> int:
    return forward_counter.forwards(forward_counter.environment(folder / "count"))


def wait_until(holds: Callable[[], bool], process: Any) -> None:
    until = time.monotonic() + 200
    while not holds() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert process.poll() is None, "it was to be stopped before it has ended"


def structures(folder: Path) -> int:
    """Return the forwards of the structural checks, which are made after every load."""
    reports = [read(path) for path in (folder / "out").glob("*/report.json")]
    return sum(r["run"]["cost"]["suites"]["structure[all]"]["forwards"] for r in reports)


@pytest.mark.door
@pytest.mark.all_draws
def test_a_list_on_ray_gives_the_reports_of_a_list_without(bias: Command, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    listed(tmp_path, ["demo"])
    words = ("run", "--models", "models.txt", "--suite", "seat[en]", "--out")
    bias(*words, "local").done()
    ran = finish(start(*words, "out", "--engine", "ray", folder=tmp_path, cold=True), tmp_path)
    assert "1 of 1 models measured" in ran.done().out
    (report,) = (read(path) for path in (tmp_path / "local").glob("*/report.json"))
    assert digests(tmp_path) == {"demo": report["digest"]}


@pytest.mark.cluster
def test_parts_of_models_on_two_nodes(
    cluster: Callable[[int], Any], bias: Command, tmp_path: Path
) -> None:
    expected, _ = plain(tmp_path, ["demo", "demo-neutral"])
    listed(tmp_path, ["demo", "org/gone", "demo-neutral"])
    # Parts so short that there are several, and processes that share them.
    (tmp_path / "pytest-bias.yaml").write_text("fleet: {part: 0.2s}\n")
    ran: Ran = finish(run(cluster(2), tmp_path), tmp_path).done(3)
    assert "Ray: 2 machines, 2 cores" in ran.out
    assert "org/gone is not in the cache" in ran.said
    assert digests(tmp_path) == expected
    for report in [read(p) for p in (tmp_path / "out").glob("*/report.json")]:
        parts = report["run"]["parts"]
        assert parts > 1
        assert f"in {parts} parts" in ran.out
    # One that is done with a model goes on with the next; on a busy machine that may be the first.
    n_processes = forward_counter.processes(forward_counter.environment(tmp_path / "count"))
    assert 1 <= n_processes <= 2
    assert not (tmp_path / "out" / "unfinished").exists()


@pytest.mark.cluster
@pytest.mark.parametrize("lost", ["node", "command"])
def test_what_is_lost_is_measured_once(
    lost: str, cluster: Callable[[int], Any], tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    models = ["demo", "demo-neutral", tiny("gpt2"), tiny("bert"), tiny("llama")]
    expected, forwards = plain(tmp_path, models)
    listed(tmp_path, models)
    there = cluster(2)
    process = run(there, tmp_path)
    wait_until(lambda: counted(tmp_path) > forwards // 3, process)
    if lost == "node":
        there.remove_node(there.others[0], allow_graceful=False)
    else:
        process.send_signal(signal.SIGKILL)
        with process:
            process.communicate()
        process = run(there, tmp_path)
    finish(process, tmp_path).done()
    assert digests(tmp_path) == expected
    # What was under way is done again: up to two seconds of each process, and the structure.
    more = counted(tmp_path) - forwards
    assert 0 <= more <= 2 * structures(tmp_path) + forwards // 4, more


@pytest.mark.cluster
def test_a_process_that_is_killed(
    cluster: Callable[[int], Any], tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    models = ["demo", tiny("gpt2"), tiny("bert")]
    expected, _ = plain(tmp_path, models)
    listed(tmp_path, models)
    process = run(cluster(1), tmp_path)
    counts = tmp_path / "count" / "counts"
    wait_until(lambda: any(counts.iterdir()), process)
    (first,) = counts.iterdir()
    os.kill(int(first.name), signal.SIGKILL)
    finish(process, tmp_path).done()
    assert digests(tmp_path) == expected
    # It is started again, and goes; both that are left have one process.
    assert forward_counter.processes(forward_counter.environment(tmp_path / "count")) == 3


@pytest.mark.cluster
def test_interrupted(
    cluster: Callable[[int], Any], tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    listed(tmp_path, ["demo", tiny("gpt2"), tiny("bert")])
    there = cluster(1)
    process = run(there, tmp_path)
    wait_until(lambda: len(digests(tmp_path)) >= 1, process)
    process.send_signal(signal.SIGINT)
    ran = finish(process, tmp_path).done(130)
    assert "The same command goes on where it was" in ran.out
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "interrupted before it was measured" in page
    before = digests(tmp_path)
    ran = finish(run(there, tmp_path), tmp_path).done()
    assert ran.out.count("its report was there") == len(before)
    assert set(before) < set(digests(tmp_path))


@pytest.mark.cluster
def test_machines_that_do_not_share_the_folder(
    cluster: Callable[[int], Any], tmp_path: Path
) -> None:
    listed(tmp_path, ["demo"])
    process = run(cluster(1), tmp_path)
    # As if the machine saw another folder: its own is not that of the command.
    wait_until((tmp_path / "out" / "fleet.json").is_file, process)
    (tmp_path / "out" / "fleet.json").write_text('{"fleet": "of somebody else"}\n')
    ran = finish(process, tmp_path).done(3)
    assert "is not the same place on every machine" in ran.said
    assert "s3://" in ran.said
