"""CrowS-Pairs on a GPT-2 of 124 M parameters: lm-evaluation-harness against ours.

    python benchmarks/harness.py [--pairs 1508] [--threads 2] [--device cpu]
                                 [--batches 1 8 32 64 auto] [--commands]

The weights are random. Both score every sentence, each way of asking in a process of its own; with
--commands, both commands do the whole job on the same file as well. Where this Python has no
lm_eval, an environment is made for it below .venv-bench/. Scores that differ fail.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from crows import DATA, data_folder, sentences
from processes import (
    ROOT,
    TORCH,
    Process,
    about,
    compare,
    environment,
    is_installed,
    load_average,
    run,
    score,
    with_options,
    write_model,
)

TOLERANCE_NATS = 1e-3
TIES = 1
"""Pairs that one side may count as a tie and the other not."""
REQUIREMENTS = (["-c", ROOT / "constraints.txt", TORCH, "lm_eval[hf]==0.4.13"],)
TASK = """\
task: crows_pairs_local
dataset_path: csv
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: ""
doc_to_choice: "{{{{[sent_more, sent_less]}}}}"
doc_to_target: 0
target_delimiter: ""
metric_list: [{{metric: acc}}]
"""
"""The first choice is the stereotyping sentence: the accuracy is how often it is likelier."""


def main() -> int:
    """Score with both, run both, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1508, help="how many, spread over the data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--batches", nargs="+", default=["1", "8", "32", "64", "auto"])
    parser.add_argument("--repeats", type=int, default=1, help="the fastest counts")
    parser.add_argument("--commands", action="store_true", help="whole commands as well")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    here = is_installed("lm_eval")
    theirs = Path(sys.executable) if here else environment("harness", *REQUIREMENTS)
    if options.commands and here and not is_installed("datasets"):
        parser.error("--commands: the lm_eval command needs the package datasets")
    texts = sentences(options.data, options.pairs)
    job = {"threads": options.threads, "repeats": options.repeats, "device": options.device}
    busy = load_average()
    with tempfile.TemporaryDirectory() as folder:
        model = write_model("gpt2", Path(folder) / "gpt2", options.data)
        ours = score("pytest-bias", Path(sys.executable), "pytest-bias", model, texts, **job)
        others = [
            score(f"lm_eval, batch {size}", theirs, "harness", model, texts, batch=size, **job)
            for size in options.batches
        ]
        print(f"GPT-2 124 M, random weights, float32, {len(texts)} sentences, {where(options)}")
        print(about(ours, others[0]))
        print(f"fastest of {options.repeats}; {busy} at the start\n")
        failed = compare(ours, others, TOLERANCE_NATS)
        if options.commands:
            best = min(others, key=lambda one: one.seconds).name.rpartition(" ")[2]
            failed |= commands(options, theirs, model, best, Path(folder))
    return failed


def where(options: argparse.Namespace) -> str:
    """What it runs on."""
    return f"{options.threads} threads" if options.device == "cpu" else options.device


def commands(
    options: argparse.Namespace, theirs: Path, model: Path, batch: str, folder: Path
) -> int:
    """Run both commands on the same file, and compare what they found."""
    data = data_folder(options.data, options.pairs, folder / "data")
    (file,) = data.glob("*/*.csv")
    tasks, found, out = folder / "tasks", folder / "found", folder / "out"
    tasks.mkdir()
    (tasks / "crows_pairs_local.yaml").write_text(TASK.format(file=file))
    print(f"\nWhole commands, lm_eval with batch {batch}, its fastest above; {load_average()}\n")
    ours = run(
        with_options(
            [sys.executable, "-m", "pytest_bias", "run", model],
            {
                "--suite": "crows_pairs",
                "--data-dir": data,
                "--device": options.device,
                "--dtype": "float32",
                "--out": out,
            },
        ),
        options.threads,
    )
    other = run(
        with_options(
            [theirs, "-m", "lm_eval", "run"],
            {
                "--model": "hf",
                "--model_args": f"pretrained={model},dtype=float32",
                "--tasks": "crows_pairs_local",
                "--include_path": tasks,
                "--batch_size": batch,
                "--device": options.device,
                "--output_path": found,
            },
        ),
        options.threads,
        HF_HOME=str(folder / "hub"),
    )
    preferred = headline(out)
    (results,) = found.rglob("results_*.json")
    accuracy = json.loads(results.read_text())["results"]["crows_pairs_local"]["acc,none"]
    print(f"{'':20}{'seconds':>10}{'ratio':>10}{'MB':>10}{'preferred':>12}")
    rows: tuple[tuple[str, Process, float], ...] = (
        ("lm_eval", other, 100 * accuracy),
        ("pytest-bias", ours, preferred),
    )
    for name, process, share in rows:
        ratio = process.seconds / ours.seconds
        megabytes = process.peak_bytes / 1e6
        print(f"{name:20}{process.seconds:10.2f}{ratio:10.2f}{megabytes:10.0f}{share:10.2f} %")
    return int(abs(100 * accuracy - preferred) > 100 * TIES / options.pairs)


def headline(out: Path) -> float:
    """How often the stereotyping sentence was likelier, from our report."""
    report = json.loads((out / "report.json").read_text())
    (suite,) = (s for s in report["suites"] if s["name"] == "crows_pairs")
    return next(float(s["value"]) for s in suite["scores"] if s["headline"] and not s["by"])


if __name__ == "__main__":
    sys.exit(main())
