"""Pictures for the README, from a run on the embedded model: badges as PNG, the terminal as SVG.

    python tools/pictures.py [--out docs/images]

Needs Chromium on the path.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from pytest_bias import engine
from pytest_bias.config import read_settings
from pytest_bias.run import prepare

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 12px; background: #fff }}
img {{ display: block; margin: 0 0 8px }}
</style>{images}"""
COLUMNS = 96
WIDTH = 500


def main() -> int:
    """Run the demo and draw what it left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        job = prepare(read_settings({"model": "demo"}))
        done = job.finish(engine.run(job.session))
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            console = Console(record=True, width=COLUMNS, file=nowhere)
            console.print("$ pytest-bias run demo\n")
            done.show(console)
            console.save_svg(str(out / "terminal.svg"), title="pytest-bias")
        photograph(done.out.resolve() / "badges", out / "badges.png")
    return 0


def photograph(folder: Path, path: Path) -> None:
    """Photograph badges, one below the other."""
    found = sorted(folder.glob("*.svg"), key=lambda p: (not p.stem.startswith("social"), p.stem))
    page = folder / "badges.html"
    images = "".join(f'<img src="{p.name}" alt="">' for p in found)
    page.write_text(PAGE.format(images=images), encoding="utf-8")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("No Chromium on the path: apt-get install chromium")
    flags = "--headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=2"
    size = f"--window-size={WIDTH},{16 + 28 * len(found)}"
    profile = f"--user-data-dir={folder / 'profile'}"
    subprocess.run(
        [browser, *flags.split(), size, profile, f"--screenshot={path}", page.as_uri()],
        check=True,
        capture_output=True,
    )


if __name__ == "__main__":
    sys.exit(main())
