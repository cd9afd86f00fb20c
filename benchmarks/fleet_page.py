"""The page of a fleet of simulated models: its bytes, and the time it takes a browser.

python benchmarks/fleet_page.py [--models 500] [--entries 30] [--runs 5] [--out DIR]
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from devtools import Page, tab
from pytest_bias.fleet.page import tables
from pytest_bias.fleet.page.page import About
from simulated_fleet import simulated

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ACTIONS = {
    "sort by a suite": "document.querySelectorAll('thead button')[5].click()",
    "sort the other way": "document.querySelectorAll('thead button')[5].click()",
    "sort by name": "document.querySelectorAll('thead button')[0].click()",
    "switch to changes": "document.querySelector('#show-changes').click()",
    "switch to values": "document.querySelector('#show-values').click()",
    "filter by name": (
        "const e = document.querySelector('#named'); e.value = 'bert';"
        "e.dispatchEvent(new Event('input'))"
    ),
    "filter by kind": "document.querySelector('[name=kind]').click()",
    "take both back": (
        "const e = document.querySelector('#named'); e.value = '';"
        "e.dispatchEvent(new Event('input')); document.querySelector('[name=kind]').click()"
    ),
}
"""What is timed in the page, one after the other, each until it is drawn."""


def main() -> int:
    """Render, open and use the page, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--entries", type=int, default=30)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, help="keep the files here")
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print(f"no browser: none of {', '.join(BROWSERS)} is installed")
        return 3
    rows = simulated(options.models, options.entries)
    start = time.perf_counter()
    files = tables.render(rows, About("Simulated models"))
    taken = time.perf_counter() - start
    print(f"{options.models} models, {options.entries} suite entries, rendered in {taken:.2f} s")
    for name, content in files.items():
        print(f"  {name:16}{len(content):12,} bytes")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        times: dict[str, list[float]] = {}
        for i in range(options.runs):
            with tab(program, Path(temporary) / f"profile{i}") as page:
                for name, seconds in use(page, folder / tables.PAGE).items():
                    times.setdefault(name, []).append(seconds)
    print(f"{'ms, of ' + str(options.runs) + ' runs':24}{'median':>8}{'lowest':>9}{'highest':>9}")
    for name, found in times.items():
        three = (statistics.median(found), min(found), max(found))
        low = "".join(f"{1000 * t:9.0f}" for t in three[1:])
        print(f"  {name:22}{1000 * three[0]:8.0f}{low}")
    return 0


def use(page: Page, path: Path) -> dict[str, float]:
    """Return the seconds that opening and each action took."""
    page.size(1400, 900)
    found = {"open": page.open(path)}
    for name, action in ACTIONS.items():
        found[name] = page.timed(action)
    return found


if __name__ == "__main__":
    sys.exit(main())
