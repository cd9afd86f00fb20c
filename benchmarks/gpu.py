"""CrowS-Pairs on BERT-base on one GPU, in every precision; random weights, all 1508 pairs.

    python benchmarks/gpu.py [--loop-pairs 20]

Prints the model's own time, the rate in the layers against that of a plain matrix product, how many
outcomes differ from float32, and the published script's loop on some pairs in the same run.
"""

import argparse
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
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("this PyTorch sees no GPU")
    pairs = read(options.data, 10**6)
    ordered = [(p.more, p.less) if p.direction == "stereo" else (p.less, p.more) for p in pairs]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {len(pairs)} pairs")
    with tempfile.TemporaryDirectory() as folder:
        tokenizer, network = bert_base(options.tokenizer, Path(folder))
        some = read(options.data, options.loop_pairs)
        loop_s = loop(tokenizer, network, some) * len(pairs) / len(some)
        print(f"loop, {len(some)} pairs, extrapolated to all: {loop_s:.1f} s")
        print("precision      model s   ratio  TFLOP/s  product  outcomes that differ")
        expected: list[int] = []
        for precision in PRECISIONS:
            model = load(folder, device="cuda", dtype=precision)
            model.pair_log_likelihood(ordered[:200])
            seconds, tokens = model.meter.seconds, model.meter.tokens
            scores = model.pair_log_likelihood(ordered)
            seconds, tokens = model.meter.seconds - seconds, model.meter.tokens - tokens
            outcomes = [outcome((s.first.total, s.second.total)) for s in scores]
            expected = expected or outcomes
            differ = sum(a != b for a, b in zip(outcomes, expected, strict=True))
            rate = 2 * LAYER_WEIGHTS * tokens / seconds / 1e12
            print(
                f"{precision:12}{seconds:10.2f}{loop_s / seconds:8.0f}{rate:9.1f}"
                f"{product(precision):9.1f}{differ:6d} of {len(pairs)}"
            )
    return 0


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
