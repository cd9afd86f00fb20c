"""Where the time of whole commands goes, on models of real sizes with random weights.

    python benchmarks/timeline.py [--models bert-base gpt2 llama-1b llama-7b] [--data-dir DIR]
                                  [--tokenizer DIR] [--repeats 2] [-- OPTIONS OF RUN]

Each command runs in a process of its own; the second time its files are in memory. The last line of
a model is what the command takes beside the imports of torch and transformers (of a process that
does nothing else), reading the weights, and the forward passes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from crows import ROOT, sentences
from random_models import bert_base, gpt2, llama

SHAPES = {
    "bert-tiny": {
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 512,
    },
    "bert-base": {},
    "gpt2": {},
    "llama-1b": {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
    "llama-7b": {},
}
IMPORTS = "import torch, transformers; from transformers import {}"
CLASSES = {"bert": "BertForMaskedLM", "gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM"}


def main() -> None:
    """Write each model, run the command on it, and print its phases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=["bert-base", "gpt2"])
    parser.add_argument("--data-dir", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--tokenizer", type=Path, default=ROOT / "models" / "bert-tiny")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("options", nargs="*", help="options of run, after --")
    options = parser.parse_args()
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{where}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / name
            if name.startswith("bert"):
                bert_base(options.tokenizer, made, **SHAPES[name])
            else:
                crows = options.data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
                write = gpt2 if name == "gpt2" else llama
                write(sentences(crows, 10**6), made, **SHAPES[name])
            imports = min(imported(name) for _ in range(2))
            for _ in range(options.repeats):
                show(name, made, Path(folder) / "out", imports, options)


def imported(name: str) -> float:
    """Return the seconds of a process that only imports the libraries."""
    start = time.perf_counter()
    script = IMPORTS.format(CLASSES[name.partition("-")[0]])
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    return time.perf_counter() - start


def show(name: str, model: Path, out: Path, imports: float, options: argparse.Namespace) -> None:
    """Run the command once and print what it took."""
    command = [sys.executable, "-m", "pytest_bias", "run", str(model), "--out", str(out), "--fresh"]
    command += ["--data-dir", str(options.data_dir), "--chat", "off", "--timings", *options.options]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.perf_counter() - start
    print(f"\n{name}: {wall:.1f} s, exit code {done.returncode}, {' '.join(options.options)}")
    if not (out / "report.json").is_file():
        print(done.stdout[-2000:], done.stderr[-2000:])
        return
    report = json.loads((out / "report.json").read_text())
    print(done.stdout[done.stdout.find("Where the time went") :].rstrip())
    phases = report["run"]["cost"]["phases"]
    beside = wall - imports - phases.get("load", 0) - phases.get("forward", 0)
    print(f"imports {imports:.1f} s; beside imports, loading and forward: {beside:.1f} s")
    print(f"digest {report['digest'][:20]}", flush=True)


if __name__ == "__main__":
    main()
