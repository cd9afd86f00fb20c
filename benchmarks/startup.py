"""What the plugin adds to every pytest run of a project: ``pytest --help`` with and without it.

python benchmarks/startup.py [--runs 9]
"""

import argparse
import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

HEAVY = ("torch", "transformers", "numpy", "scipy", "pyarrow", "rich", "requests", "yaml", "jinja2")
WITHOUT = ("-p", "no:bias")


def main() -> int:
    """Time both and print a table; fail if a heavy library was imported."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        for more in ((), WITHOUT):
            seconds(folder, more)
        timed: dict[tuple[str, ...], list[float]] = {(): [], WITHOUT: []}
        # Taken in turn, so that a machine that slows down slows both.
        for _ in range(runs):
            for more, taken in timed.items():
                taken.append(seconds(folder, more))
        imported, own = imports(folder)
    with_it, without = (statistics.median(taken) for taken in timed.values())
    names = ("pytest-bias", "pytest")
    print(f"pytest --help, median of {runs} runs, Python {platform.python_version()}")
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in names))
    print()
    print(f"{'':28}{'ms':>8}{'lowest':>9}{'highest':>9}")
    for name, taken in zip(
        ("with the plugin", "without (-p no:bias)"), timed.values(), strict=True
    ):
        low, middle, high = (1000 * f for f in (min(taken), statistics.median(taken), max(taken)))
        print(f"{name:28}{middle:8.0f}{low:9.0f}{high:9.0f}")
    print(f"{'difference of medians':28}{1000 * (with_it - without):8.0f}")
    print(f"{'importing the plugin':28}{own / 1000:8.1f}")
    heavy = sorted(imported & set(HEAVY))
    print(f"heavy libraries imported: {', '.join(heavy) or 'none'} (of {', '.join(HEAVY)})")
    return int(bool(heavy))


def seconds(folder: str, more: Sequence[str]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "--help", *more],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        env=environment(),
    )
    return time.perf_counter() - start


def imports(folder: str) -> tuple[set[str], int]:
    """Return the top-level modules of one run, and the microseconds of the plugin's own."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pytest", "--help"],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    found, own = set(), 0
    for line in run.stderr.splitlines():
        _, _, fields = line.partition("import time:")
        alone, _, rest = fields.partition("|")
        _, _, name = rest.partition("|")
        if not alone.strip().isdigit():
            continue
        found.add(name.strip().partition(".")[0])
        if name.strip().startswith("pytest_bias"):
            own += int(alone)
    return found, own


def environment() -> dict[str, str]:
    """Return the environment, without options that would change what is measured."""
    return {k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}


if __name__ == "__main__":
    sys.exit(main())
