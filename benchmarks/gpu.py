"""CrowS-Pairs on BERT-base on one GPU, in every precision; random weights, all 1508 pairs.

    python benchmarks/gpu.py [--loop-pairs 20] [--suites]

Prints the model's own time, the first time and the second, the rate in the layers against that of a
plain matrix product, the largest memory, how many outcomes differ from float32, and the published
script's loop on some pairs in the same run. With --suites also what every suite of a whole run took
that has its data below --data-dir.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from cpu import LAYER_WEIGHTS, outcome, timed_loop
from crows import DATA, ROOT, Pair, read
from random_models import bert_base

from pytest_bias.models import load

PRECISIONS = ("float32", "tf32", "float16", "bfloat16")
PRODUCT = (16384, 768, 3072)


def main() -> int:
    """Run everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loop-pairs", type=int, default=20)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", type=Path, default=ROOT / "models" / "bert-tiny")
    parser.add_argument("--suites", action="store_true", help="also run every suite")
    parser.add_argument("--data-dir", type=Path, default=DATA.parent.parent)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("This PyTorch sees no GPU: nothing is measured.")
        return 0
    pairs = read(options.data, 10**6)
    ordered = [(p.more, p.less) if p.direction == "stereo" else (p.less, p.more) for p in pairs]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {len(pairs)} pairs")
    with tempfile.TemporaryDirectory() as folder:
        tokenizer, network = bert_base(options.tokenizer, Path(folder))
        some = read(options.data, options.loop_pairs)
        loop_s = loop(tokenizer, network, some) * len(pairs) / len(some)
        print(f"loop, {len(some)} pairs, extrapolated to all: {loop_s:.1f} s")
        print(
            "precision   first s  then s   ratio  TFLOP/s  product  peak GiB  outcomes that differ"
        )
        expected: list[int] = []
        for precision in PRECISIONS:
            model = load(folder, device="cuda", dtype=precision)
            torch.cuda.reset_peak_memory_stats()
            model.pair_log_likelihood(ordered)
            first, tokens = model.meter.seconds, model.meter.tokens
            scores = model.pair_log_likelihood(ordered)
            seconds, tokens = model.meter.seconds - first, model.meter.tokens - tokens
            peak = torch.cuda.max_memory_allocated() / 2**30
            outcomes = [outcome((s.first.total, s.second.total)) for s in scores]
            expected = expected or outcomes
            differ = sum(a != b for a, b in zip(outcomes, expected, strict=True))
            rate = 2 * LAYER_WEIGHTS * tokens / seconds / 1e12
            print(
                f"{precision:11}{first:8.2f}{seconds:8.2f}{loop_s / seconds:8.0f}{rate:9.1f}"
                f"{product(precision):9.1f}{peak:10.1f}{differ:6d} of {len(pairs)}",
                flush=True,
            )
            del model
            torch.cuda.empty_cache()
        if options.suites:
            whole_run(folder, options.data_dir)
    return 0


def whole_run(folder: str, data_dir: Path) -> None:
    """Run the command with every suite and print what each of them took."""
    out = Path(folder) / "out"
    command = ["run", folder, "--data-dir", data_dir, "--out", out, "--dtype", "float32"]
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest_bias", *map(str, command)], check=True, capture_output=True
    )
    cost = json.loads((out / "report.json").read_text())["run"]["cost"]
    print("suite                                  wall s  model s   tokens")
    for name, part in cost["suites"].items():
        print(f"{name:36}{part['wall_s']:9.2f}{part['model_s']:9.2f}{part['tokens']:9,}")
    print(f"{'whole command':36}{time.perf_counter() - start:9.2f}{cost['model_s']:9.2f}", end="")
    print(f"{cost['tokens']:9,}   {cost['energy_kwh']} kWh")


class OnGpu:
    """A network whose inputs come from the CPU, as the loop sends them."""

    def __init__(self, network: torch.nn.Module) -> None:
        self.network = network.to("cuda")

    def __call__(self, inputs: torch.Tensor) -> object:
        """Forward one sentence."""
        return self.network(inputs.to("cuda"))


def loop(tokenizer: object, network: torch.nn.Module, pairs: list[Pair]) -> float:
    """Return the seconds of one mask a forward."""
    return timed_loop(tokenizer, OnGpu(network), pairs).seconds


def product(precision: str) -> float:
    """TFLOP/s of a plain matrix product of the layers' size."""
    dtype = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(precision, torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    m, k, n = PRODUCT
    x, w = torch.randn(m, k, device="cuda", dtype=dtype), torch.randn(n, k, device="cuda").to(dtype)
    for _ in range(5):
        x @ w.T
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        x @ w.T
    torch.cuda.synchronize()
    return 20 * 2 * m * k * n / (time.perf_counter() - start) / 1e12


if __name__ == "__main__":
    sys.exit(main())
