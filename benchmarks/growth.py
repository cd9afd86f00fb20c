"""How time and memory of a run grow with the items, and the peak of a run of every suite.

    python benchmarks/growth.py [--model bert-tiny --model gpt2-tiny] [--sizes 100 400 1508]
                                [--device cpu] [--whole bert-base --profile quick]

Every row is a whole command in a process of its own, on a model with random weights. It fails where
time or memory grow faster than linearly, where an item's numbers depend on how many there are, or
where the run of every suite takes 3 GB or more.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from crows import DATA, data_folder
from processes import COMMAND, Process, load_average, run, with_options, write_model

MODELS = ("bert-tiny", "bert-base", "gpt2-tiny", "gpt2")
LIMIT_BYTES = 3e9
SLACK = 0.25
"""Share of the largest size's time that other programs may have added."""
SLACK_BYTES = 100e6
GPU_TOLERANCE_NATS = 1e-3
"""On a GPU the last bits depend on the batch."""


class Size(NamedTuple):
    """One run of CrowS-Pairs; `numbers` are those of every item."""

    items: int
    model_seconds: float
    process: Process
    gpu_bytes: int
    numbers: dict[str, dict[str, float]]


def main() -> int:
    """Run every size of every model and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, action="append", dest="models")
    parser.add_argument("--sizes", type=int, nargs=3, default=[100, 400, 1508])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--whole", choices=MODELS, help="run every suite on this model as well")
    parser.add_argument("--profile", choices=("quick", "standard"), default="quick")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    failed = False
    for model in options.models or ("bert-tiny", "gpt2-tiny"):
        failed |= growth(model, options)
    if options.whole:
        failed |= every_suite(options)
    return int(failed)


def growth(name: str, options: argparse.Namespace) -> bool:
    """Run the sizes on one model."""
    print(f"\n{name} on {options.device}, {options.threads} threads, {load_average()}\n")
    titles = ("items", "model s", "ms an item", "process s", "CPU s", "peak MB", "GPU MB")
    print("".join(f"{title:>12}" for title in titles))
    with tempfile.TemporaryDirectory() as folder:
        model = write_model(name, Path(folder) / name, options.data)
        sizes = [size(model, n, Path(folder), options) for n in options.sizes]
    for one in sizes:
        gpu = f"{one.gpu_bytes / 1e6:12.0f}" if one.gpu_bytes else f"{'-':>12}"
        print(
            f"{one.items:12}{one.model_seconds:12.2f}{1000 * one.model_seconds / one.items:12.2f}"
            f"{one.process.seconds:12.2f}{one.process.cpu_seconds:12.2f}"
            f"{one.process.peak_bytes / 1e6:12.0f}{gpu}"
        )
    items = [one.items for one in sizes]
    on_cpu = options.device == "cpu"
    # On a CPU the time of the processor: other programs disturb it less than the clock.
    time = [one.process.cpu_seconds if on_cpu else one.model_seconds for one in sizes]
    problems = {
        "time grows faster than linearly": excess(items, time) > SLACK * time[-1],
        "memory grows faster than linearly": max(
            excess(items, [one.process.peak_bytes for one in sizes]),
            excess(items, [one.gpu_bytes for one in sizes]),
        )
        > SLACK_BYTES,
        "an item's numbers depend on how many there are": any(
            differ(one, sizes[-1]) > (0 if on_cpu else GPU_TOLERANCE_NATS) for one in sizes
        ),
    }
    for problem in (words for words, found in problems.items() if found):
        print(f"FAILED: {problem}")
    return any(problems.values())


def size(model: Path, n: int, folder: Path, options: argparse.Namespace) -> Size:
    """Run CrowS-Pairs on some of its pairs."""
    data, out = data_folder(options.data, n, folder / f"data-{n}"), folder / f"out-{n}"
    words = {"--suite": "crows_pairs", "--data-dir": data}
    process, gpu_bytes = command(model, out, options, words)
    cost = json.loads((out / "report.json").read_text())["run"]["cost"]["suites"]
    (name,) = (suite for suite in cost if suite.startswith("crows_pairs"))
    table = pq.read_table(out / "records" / f"{name}.parquet", columns=["item", "detail"])
    numbers = {row["item"]: json.loads(row["detail"]) for row in table.to_pylist()}
    return Size(len(numbers), cost[name]["model_s"], process, gpu_bytes, numbers)


def command(
    model: Path, out: Path, options: argparse.Namespace, words: dict[str, str | Path]
) -> tuple[Process, int]:
    """Run the command; also what was allocated on the GPU at most."""
    where = {"--device": options.device, "--dtype": "float32", "--out": out}
    process = run(
        with_options([sys.executable, COMMAND, "run", model], words | where), options.threads
    )
    return process, int(process.output.rpartition("GPU bytes: ")[2])


def excess(items: Sequence[int], amounts: Sequence[float]) -> float:
    """How far the last amount lies above the line through the first two."""
    (a, b, c), (x, y, z) = items, amounts
    return z - (y + (y - x) * (c - b) / (b - a))


def differ(some: Size, all_: Size) -> float:
    """Largest difference in the numbers of the items that two sizes share."""
    shared = some.numbers.keys() & all_.numbers.keys()
    return max(
        abs(value - all_.numbers[item][key])
        for item in shared
        for key, value in some.numbers[item].items()
    )


def every_suite(options: argparse.Namespace) -> bool:
    """Run every suite that applies, and hold its peak against the limit."""
    name, data = options.whole, options.data.parent.parent
    with tempfile.TemporaryDirectory() as folder:
        model, out = write_model(name, Path(folder) / name, options.data), Path(folder) / "out"
        busy = load_average()
        words = {"--data-dir": data, "--profile": options.profile}
        process, gpu_bytes = command(model, out, options, words)
        report = json.loads((out / "report.json").read_text())
    print(f"\nEvery suite on {name}, profile {options.profile}, {options.device}, {busy}")
    for suite in report["suites"]:
        print(f"  {suite['name']}[{suite['config']}] {suite['status']}")
    print(f"{process.seconds:.0f} s, peak {process.peak_bytes / 1e6:.0f} MB", end="")
    print(f", on the GPU {gpu_bytes / 1e6:.0f} MB" if gpu_bytes else "")
    if options.device == "cpu" and process.peak_bytes >= LIMIT_BYTES:
        print(f"FAILED: the peak is not below {LIMIT_BYTES / 1e9:.0f} GB")
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
