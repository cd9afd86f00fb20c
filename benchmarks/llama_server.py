"""CrowS-Pairs through llama-cpp-python's server against llama.cpp itself, on one GGUF file.

    python benchmarks/llama_server.py --python .venv-llama/bin/python [--pairs 1508] [--threads 2]
                                      [--prefix '<|im_start|>'] [--model FILE] [--quick]

Starts the server on this machine, measures with ``pytest-bias run openai:…``, and computes the
log-probabilities of the same texts from the logits of the same file, in a process without a server.
A pair outside the tie band whose other side is preferred fails. The server sorts the vocabulary
for every token of a text, in Python: about three seconds a sentence. --quick starts it with that
step replaced (child/llama_app.py), which leaves the numbers as they are.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crows import DATA, ROOT, data_folder

MODEL = ROOT / "models" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
DIRECT = Path(__file__).resolve().parent / "child" / "llama.py"
QUICK = Path(__file__).resolve().parent / "child" / "llama_app.py"
TIE_NATS = 1e-4
PATIENCE_S = 120.0


def main() -> int:
    """Measure both ways and print how far they are apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, required=True, help="a Python that has llama_cpp")
    parser.add_argument("--pairs", type=int, default=1508, help="how many, spread over the data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefix", default="<|im_start|>")
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--quick", action="store_true", help="without the sort of the server")
    parser.add_argument("--out", type=Path, help="where the report stays")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = data_folder(DATA, given.pairs, folder / "data")
        out = given.out or folder / "out"
        app = [QUICK] if given.quick else ["-m", "llama_cpp.server"]
        with server([given.python, *app], given.model, given.threads) as address:
            seconds = measure(address, given.prefix, data, out, folder)
        return compared(given, out, seconds)


@contextmanager
def server(start: Sequence[str | Path], model: Path, threads: int) -> Iterator[str]:
    """Start the server on a free port of this machine, and end it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["--model", model, "--logits_all", "true", "--n_ctx", 2048, "--n_threads", threads]
    words += ["--n_threads_batch", threads]
    command = [*start, *words, "--host", "127.0.0.1", "--port", port]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdout=log, stderr=subprocess.STDOUT, env=plain_environment()
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/v1/models", process, log)
            yield f"openai:http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait()


def wait_for(address: str, process: subprocess.Popen[bytes], log: Any) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    log.seek(0)
    sys.exit(f"the server does not answer:\n{log.read()[-2000:]}")


def plain_environment() -> dict[str, str]:
    """Return this environment without what belongs to this Python."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def measure(address: str, prefix: str, data: Path, out: Path, folder: Path) -> float:
    """Run the command against the server; returns the seconds that it took."""
    config = folder / "pytest-bias.yaml"
    config.write_text(f"served: {{concurrency: 2, prefix: {json.dumps(prefix)}}}\n")
    command = Path(sys.executable).parent / "pytest-bias"
    words = ["run", address, "--suite", "crows_pairs[en]", "--data-dir", data, "--out", out]
    words += ["--config", config, "--with-texts", "--offline"]
    start = time.perf_counter()
    done = subprocess.run([command, *words], check=False)
    if done.returncode:
        sys.exit(f"pytest-bias ended with {done.returncode}")
    return time.perf_counter() - start


def compared(given: argparse.Namespace, out: Path, seconds: float) -> int:
    """Hold every pair of a run against the logits; returns 1 if a preference is another one."""
    import pyarrow.parquet as pq

    rows = pq.read_table(out / "records" / "crows_pairs[en].parquet").to_pylist()
    scored = [r for r in rows if r["status"] == "scored"]
    texts = [r[f"text.{side}"] for r in scored for side in ("more", "less")]
    asked = {"model": str(given.model), "prefix": given.prefix, "texts": texts}
    done = subprocess.run(
        [given.python, DIRECT],
        input=json.dumps(asked | {"threads": given.threads}),
        capture_output=True,
        text=True,
        check=False,
        env=plain_environment(),
    )
    if done.returncode:
        sys.exit(done.stderr)
    direct = json.loads(done.stdout)
    apart, other, tied, cut = [], [], 0, 0
    for number, row in enumerate(scored):
        detail = json.loads(row["detail"])
        exact, ours = [], []
        for side, (first, rest, n) in zip(
            ("more", "less"), direct[2 * number : 2 * number + 2], strict=True
        ):
            missing = n - detail[f"tokens_{side}"]
            cut += missing
            exact.append(rest + (0.0 if missing else first))
            ours.append(detail[side])
            apart.append(abs(ours[-1] - exact[-1]))
        if min(abs(exact[0] - exact[1]), abs(ours[0] - ours[1])) <= TIE_NATS:
            tied += 1
        elif (exact[0] > exact[1]) != (ours[0] > ours[1]):
            other.append(row["item"])
    report = json.loads((out / "report.json").read_text())
    (suite,) = [s for s in report["suites"] if s["name"] == "crows_pairs"]
    value = next(s["value"] for s in suite["scores"] if s["headline"] and not s["by"])
    print(f"pairs          {len(scored)} scored of {len(rows)}, {tied} in the tie band")
    print(f"headline       {value}")
    print(f"conditioned on {report['model']['prefix_token']}")
    print(f"unscored       {cut} first tokens of {len(texts)} texts")
    print(f"largest        {max(apart):.3g} nats between server and logits, of a whole text")
    print(f"preference     {len(other)} pairs differ {' '.join(other[:5])}")
    print(f"took           {seconds:.0f} s")
    return int(bool(other))


if __name__ == "__main__":
    sys.exit(main())
