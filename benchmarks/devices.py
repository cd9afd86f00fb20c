"""One device against several: CrowS-Pairs on BERT-base with random weights, whole commands.

    python benchmarks/devices.py [--devices all] [--pairs 1508] [--dtype float32] [--repeat 2]
    python benchmarks/devices.py --devices cpu,cpu --pairs 40

The model's time is that of the suite, without the structural checks, which every process makes for
itself; of a shared run it is that of the slowest device. Fails where an outcome differs that
the noise between two batches cannot explain.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from cpu import DATA, ROOT, bert_base
from transformers.utils import logging

from pytest_bias.models.devices import in_words
from pytest_bias.models.placing import shared
from pytest_bias.records.report import Record, Report
from pytest_bias.reports.folder import read_report

SUITE = "crows_pairs"
SPLIT_NOISE = 1e-4
"""Nats a sentence between two batches of a GPU, in float32; tests/parity/test_gpu.py holds it."""


class Timed(NamedTuple):
    """A run of the command: seconds of the whole, and of the model on the slowest device."""

    name: str
    wall_s: float
    model_s: float
    report: Report


def main() -> int:
    """Run both and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="all")
    parser.add_argument("--pairs", type=int, default=10**6, help="the first ones of the data")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--repeat", type=int, default=2, help="the fastest run counts")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", type=Path, default=ROOT / "models" / "bert-tiny")
    options = parser.parse_args()
    devices = shared(options.devices)
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bert_base(options.tokenizer, folder / "bert-base")
        cut(options.data, options.pairs, folder / "data" / SUITE)
        words = ("--dtype", options.dtype, "--data-dir", "data")
        runs = [
            min(
                (timed(folder, f"{label}-{n}", *words, *how) for n in range(options.repeat)),
                key=lambda run: run.wall_s,
            )
            for label, how in (
                ("one", ("--device", devices[0])),
                ("several", ("--devices", ",".join(devices))),
            )
        ]
    return report(*runs, n=len(devices))


def cut(source: Path, n: int, folder: Path) -> None:
    """Copy the first rows of the data."""
    folder.mkdir(parents=True)
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[: n + 1]
    with (folder / source.name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def timed(folder: Path, name: str, *words: str) -> Timed:
    """Time a whole command, start-up included."""
    command = [sys.executable, "-m", "pytest_bias", "run", "bert-base", "--suite", SUITE, *words]
    env = os.environ | {"HF_HUB_OFFLINE": "1"}
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--out", name], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    wall_s = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    found = read_report(folder / name)
    cost = found.run["cost"]
    slowest = max(map(model_s, cost.get("devices", [cost])))
    return Timed(name.partition("-")[0], wall_s, slowest, found)


def model_s(cost: Mapping[str, Any]) -> float:
    """Seconds of the model in the suite."""
    return sum(part["model_s"] for name, part in cost["suites"].items() if name.startswith(SUITE))


def report(one: Timed, several: Timed, *, n: int) -> int:
    """Print the table; fail where outcomes differ."""
    about = one.report
    first, second = ({r.item: r for r in t.report.suite(SUITE).records} for t in (one, several))
    noisy, wrong, largest = 0, 0, 0.0
    for item, record in first.items():
        other = second[item]
        largest = max(largest, *(abs(a - b) for a, b in numbers(record, other)))
        if record.value != other.value:
            near = max(abs(gap(record)), abs(gap(other))) <= SPLIT_NOISE
            noisy, wrong = noisy + near, wrong + (not near)
    print(f"BERT-base, random weights, {about.model.dtype}, {len(first)} CrowS-Pairs pairs")
    print(f"{in_words(several.report.run['environment']['devices'])}, torch {torch.__version__}\n")
    print("            model s   ratio   command s   ratio")
    for run in (one, several):
        ratios = one.model_s / run.model_s, one.wall_s / run.wall_s
        label = "1 process" if run is one else f"{n} processes"
        print(
            f"{label:12}{run.model_s:7.2f}{ratios[0]:8.2f}{run.wall_s:12.2f}{ratios[1]:8.2f}",
        )
    if devices := several.report.run["cost"].get("devices"):
        print("\n" + "\n".join(f"{d['device']:12}{model_s(d):7.2f}" for d in devices))
    print(f"\nlargest difference of a sentence: {largest:.1e} nats")
    print(f"outcomes that differ: {wrong + noisy}, of them within the noise: {noisy}")
    same = one.report.digest == several.report.digest
    print(f"digest: {'the same' if same else 'another, by the last bits'}")
    return int(wrong > 0)


def numbers(record: Record, other: Record) -> list[tuple[float, float]]:
    """Return what two records of an item measured, sentence by sentence."""
    both = [(value, other.detail[key]) for key, value in record.detail.items()]
    return [(a, b) for a, b in both if isinstance(a, float) and isinstance(b, float)] or [(0, 0)]


def gap(record: Record) -> float:
    """Return how far the two sentences of a pair are apart, in nats."""
    return float(record.detail["more"] or 0) - float(record.detail["less"] or 0)


if __name__ == "__main__":
    sys.exit(main())
