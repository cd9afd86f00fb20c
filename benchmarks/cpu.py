"""CrowS-Pairs on BERT-base on the CPU: the published script's loop against ours, in one run.

    python benchmarks/cpu.py [--pairs 40] [--threads 2]

The weights are random (speed does not depend on them), the tokenizer is BERT-tiny's. The loop has
the shape of the published script: one sentence and one mask a forward, the whole head, gradients
recorded. Both read the same pairs and give the same sums, or this fails.
"""

import argparse
import importlib.metadata
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from crows import DATA, ROOT, Pair, read
from random_models import bert_base
from transformers.utils import logging

from bias_suites.social.crows_pairs import SUITE
from pytest_bias.models import load
from pytest_bias.models.packed import pack
from pytest_bias.records.report import Item
from pytest_bias.suites.measures import measure_items

TOLERANCE_NATS = 1e-3
LAYER_WEIGHTS = 12 * 12 * 768**2
"""Weights of BERT-base's layers that every token is multiplied with."""


class Timed(NamedTuple):
    """One way of doing it: what it took, and the sums of every pair."""

    name: str
    seconds: float
    cpu_seconds: float
    forwards: int
    sums: list[tuple[float, float]]
    tokens: int = 0


def main() -> int:
    """Run both and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40, help="how many, spread over the data")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", type=Path, default=ROOT / "models" / "bert-tiny")
    options = parser.parse_args()
    for path in (options.data, options.tokenizer):
        if not path.exists():
            parser.error(f"{path} is not there")
    torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    pairs = read(options.data, options.pairs)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer, network = bert_base(options.tokenizer, Path(folder))
        loop = timed_loop(tokenizer, network, pairs)
        mine, suite = timed_ours(folder, pairs)
    return report(loop, mine, suite)


def timed_loop(tokenizer: Any, network: Any, pairs: Sequence[Pair]) -> Timed:
    """One mask a forward."""
    forwards = 0

    def masked(ids: list[int], position: int) -> float:
        nonlocal forwards
        forwards += 1
        inputs = torch.tensor([ids])
        inputs[0, position] = tokenizer.mask_token_id
        logits = network(inputs).logits[0]
        return logits[position].log_softmax(-1)[ids[position]].item()

    masked(tokenizer.encode("A forward to warm up."), 1)
    forwards = 0
    sums = []
    start = clocks()
    for pair in pairs:
        in_order = pair.direction == "stereo"
        texts = (pair.more, pair.less) if in_order else (pair.less, pair.more)
        first, second = (tokenizer.encode(t.lower()) for t in texts)
        blocks = SequenceMatcher(None, first, second).get_matching_blocks()
        shared = [(b.a + k, b.b + k) for b in blocks for k in range(b.size)][1:-1]
        scores = (
            sum(masked(first, i) for i, _ in shared),
            sum(masked(second, j) for _, j in shared),
        )
        sums.append(scores if in_order else scores[::-1])
    return Timed("published shape", *since(start), forwards, sums)


def timed_ours(folder: str, pairs: Sequence[Pair]) -> tuple[Timed, Timed]:
    """Time the same sums, and all that the suite reads (each sentence unmasked as well)."""
    model = load(folder, device="cpu")
    model.pair_log_likelihood([("A forward to warm up.", "A forward to cool down.")])
    ordered = [(p.more, p.less) if p.direction == "stereo" else (p.less, p.more) for p in pairs]
    before, tokens, start = model.meter.forwards, model.meter.tokens, clocks()
    scores = model.pair_log_likelihood(ordered)
    taken, forwards = since(start), model.meter.forwards - before
    tokens = model.meter.tokens - tokens
    totals = [(s.first.total, s.second.total) for s in scores]
    sums = [t if p.direction == "stereo" else t[::-1] for t, p in zip(totals, pairs, strict=True)]
    mine = Timed("pytest-bias", *taken, forwards, sums, tokens)

    items = [
        Item(
            f"{n:04d}",
            f"{n:04d}",
            {"more": p.more, "less": p.less},
            {"bias_type": p.bias_type, "direction": p.direction},
        )
        for n, p in enumerate(pairs)
    ]
    before, start = model.meter.forwards, clocks()
    records = measure_items(SUITE.measures[0], model, items)
    taken, forwards = since(start), model.meter.forwards - before
    sums = [(float(r.detail["more"] or 0), float(r.detail["less"] or 0)) for r in records]
    return mine, Timed("pytest-bias, whole suite", *taken, forwards, sums)


def clocks() -> tuple[float, float]:
    """Wall clock, and CPU time of this process, which other programs disturb less."""
    return time.perf_counter(), time.process_time()


def since(start: tuple[float, float]) -> tuple[float, float]:
    """Seconds of both clocks since `start`."""
    wall, cpu = clocks()
    return wall - start[0], cpu - start[1]


def report(loop: Timed, *others: Timed) -> int:
    """Print the table; fail where sums or outcomes differ."""
    about = {n: importlib.metadata.version(n) for n in ("pytest-bias", "torch", "transformers")}
    print(f"BERT-base, random weights, float32, {len(loop.sums)} CrowS-Pairs pairs")
    print(f"{processor()}, {torch.get_num_threads()} threads, Python {platform.python_version()}")
    print(", ".join(f"{name} {version}" for name, version in about.items()))
    print()
    titles = ("seconds", "ratio", "CPU s", "ratio", "forwards", "differ by", "flips")
    print(" " * 24 + "".join(f"{title:>10}" for title in titles))
    failed = False
    for one in (loop, *others):
        pairs = list(zip(loop.sums, one.sums, strict=True))
        largest = max(abs(a - b) for x, y in pairs for a, b in zip(x, y, strict=True))
        flips = sum(outcome(x) != outcome(y) for x, y in pairs)
        ratio, cpu_ratio = loop.seconds / one.seconds, loop.cpu_seconds / one.cpu_seconds
        print(
            f"{one.name:24}{one.seconds:10.2f}{ratio:10.2f}{one.cpu_seconds:10.2f}{cpu_ratio:10.2f}"
            f"{one.forwards:10d}{largest:10.1e}{flips:10d}"
        )
        failed |= largest > TOLERANCE_NATS or flips > 0
    mine = others[0]
    print(
        f"\npytest-bias: {2 * LAYER_WEIGHTS * mine.tokens / mine.seconds / 1e9:.0f} GFLOP/s in the "
        f"layers; a plain float32 matrix product reaches {peak():.0f}"
    )
    return int(failed)


def peak() -> float:
    """GFLOP/s of the largest product of the model, alone: the best of PyTorch's ways."""
    layer = torch.nn.Sequential(torch.nn.Linear(768, 3072))
    inputs = torch.randn(4096, 768)
    best = float("inf")
    with torch.inference_mode():
        for ready in (lambda: None, lambda: pack(layer)):
            ready()
            for _ in range(10):
                start = time.perf_counter()
                layer(inputs)
                best = min(best, time.perf_counter() - start)
    return 2 * 4096 * 768 * 3072 / best / 1e9


def outcome(sums: tuple[float, float]) -> int:
    """Which sentence is preferred, under the published script's rounding: 1, 0 for a tie, -1."""
    more, less = (round(s, 3) for s in sums)
    return (more > less) - (more < less)


def processor() -> str:
    """Name of the CPU."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    sys.exit(main())
