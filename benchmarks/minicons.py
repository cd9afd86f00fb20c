"""Pseudo-log-likelihoods on BERT-base on the CPU: minicons against ours.

    python benchmarks/minicons.py [--sentences 20] [--threads 2] [--batches 1 2 4 10 20]

The weights are random. minicons needs transformers 4, so it runs in an environment of its own,
which is made below .venv-bench/ when it is not there. Every way of asking is a process of its own;
the time of the call is taken after loading and a warm-up. Scores that differ fail.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from crows import DATA, sentences
from processes import TORCH, about, compare, environment, load_average, score, write_model

TOLERANCE_NATS = 1e-3
REQUIREMENTS = ([TORCH], ["minicons==0.3.39", "transformers<5"])


def main() -> int:
    """Score with both and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=20, help="how many, spread over the data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 2, 4, 10, 20])
    parser.add_argument("--repeats", type=int, default=3, help="the fastest counts")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    theirs = environment("minicons", *REQUIREMENTS)
    texts = sentences(options.data, options.sentences)[::2]
    job = {"threads": options.threads, "repeats": options.repeats, "device": "cpu"}
    busy = load_average()
    with tempfile.TemporaryDirectory() as folder:
        model = write_model("bert-base", Path(folder), options.data)
        ours = score("pytest-bias", Path(sys.executable), "pytest-bias", model, texts, **job)
        others = [
            score(f"minicons, batch {size}", theirs, "minicons", model, texts, batch=size, **job)
            for size in options.batches
        ]
    print(f"BERT-base, random weights, float32, {len(texts)} sentences, {options.threads} threads")
    print(about(ours, others[0]))
    print(f"fastest of {options.repeats}; {busy} at the start\n")
    return compare(ours, others, TOLERANCE_NATS)


if __name__ == "__main__":
    sys.exit(main())
