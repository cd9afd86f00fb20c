"""Whole BBQ by letters, every order of the options, on a LLaMA-shaped model with random weights.

    python benchmarks/choices.py --tokenizer DIR --data-dir DIR [--rows N] [--dtype float32]

Prints times and tokens per second, with the common beginning of the orders computed once and not,
and how far the numbers of the two are from each other.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from bias_suites.social import bbq
from pytest_bias.data import DataFolder
from pytest_bias.models import load
from pytest_bias.records import Record
from pytest_bias.suites.measures import measure_items

SHAPE = {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
}
"""1.1 billion parameters, as TinyLlama."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10**9)
    parser.add_argument("--dtype", default="bfloat16")
    options = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(options.tokenizer)
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), bos_token_id=None, **SHAPE)
    with TemporaryDirectory() as folder:
        network = LlamaForCausalLM(config).to(getattr(torch, options.dtype))
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        model = load(folder, device="cuda:0", dtype=options.dtype)
    start = time.perf_counter()
    data = DataFolder(options.data_dir, offline=True)
    items = bbq.SUITE.configuration("en-options").load(data).items
    print(f"rows          {len(items):>9,}   read in {time.perf_counter() - start:.1f} s")
    items = items[: options.rows]
    letters = bbq.SUITE.measures_of("en-options")[0]
    found = {}
    for shares in (True, False):
        model.shares = shares
        # The first batches choose kernels.
        measure_items(letters, model, items[:200])
        model.meter.tokens, model.meter.seconds = 0, 0.0
        start = time.perf_counter()
        found[shares] = measure_items(letters, model, items)
        wall = time.perf_counter() - start
        tokens, seconds = model.meter.tokens, model.meter.seconds
        n = len(letters_of(found[shares]))
        print(
            f"{'shared' if shares else 'apart':6} {n:,} questions, {tokens:,} tokens, in the model "
            f"{seconds:.1f} s ({tokens / seconds:,.0f} tokens/s), in all {wall:.1f} s"
        )
    one, other = (letters_of(found[shares]) for shares in (True, False))
    print(f"largest difference {np.abs(one - other).max():.2g} nats")
    print(f"other letter {(one.argmax(1) != other.argmax(1)).mean():.2%} of questions")
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    print(f"{name}, torch {torch.__version__}, {options.dtype}")


def letters_of(records: Sequence[Record]) -> NDArray[np.float64]:
    """Return the log-probabilities of the letters of every question, shape (n_questions, 3)."""
    rows = [
        [r.detail[f"nats_{order}_{option}"] for option in range(3)]
        for r in records
        if r.status == "scored"
        for order in range(3)
    ]
    return np.array(rows, dtype=np.float64)


if __name__ == "__main__":
    main()
