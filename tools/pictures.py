"""Pictures for the README, from runs of the embedded model: badges, page, card, and terminal.

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

from markdown_it import MarkdownIt
from rich.console import Console

from pytest_bias.engine import session
from pytest_bias.runs.finishing import finish_job, with_baseline
from pytest_bias.runs.job import prepare
from pytest_bias.settings.settings import read_settings

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 12px; background: #fff }}
img {{ display: block; margin: 0 0 8px }}
</style>{images}"""
CARD = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 20px; font: 15px sans-serif; background: #fff }}
table {{ border-collapse: collapse; font-size: 14px }}
td, th {{ border: 1px solid #ddd; padding: 5px 9px; vertical-align: top; text-align: left }}
blockquote {{ border-left: 4px solid #ddd; margin-left: 0; padding-left: 12px; color: #555 }}
</style>{card}"""
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
        done = finish_job(job, session.run(job.session))
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            console = Console(record=True, width=COLUMNS, file=nowhere)
            console.print("$ pytest-bias run demo\n")
            done.show(console)
            console.save_svg(str(out / "terminal.svg"), title="pytest-bias")
        photograph_badges(done.out.resolve() / "badges", out / "badges.png")
        photograph_card(done.out.resolve() / "card.md", out / "card.png")
        job = prepare(
            read_settings({"model": "demo", "baseline": "demo-neutral", "out": "changed"})
        )
        done = finish_job(with_baseline(job, ()), session.run(job.session))
        photograph(done.out.resolve() / "report.html", out / "page.png", (1000, 900))
    return 0


def photograph_badges(folder: Path, path: Path) -> None:
    """Photograph badges, one below the other."""
    found = sorted(folder.glob("*.svg"), key=lambda p: (not p.stem.startswith("social"), p.stem))
    page = folder / "badges.html"
    images = "".join(f'<img src="{p.name}" alt="">' for p in found)
    page.write_text(PAGE.format(images=images), encoding="utf-8")
    photograph(page, path, (WIDTH, 16 + 28 * len(found)))


def photograph_card(card: Path, path: Path) -> None:
    """Photograph the section of a model card, as a Markdown renderer shows it."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(card.read_text("utf-8"))
    page = card.with_name("card.html")
    page.write_text(CARD.format(card=html), encoding="utf-8")
    photograph(page, path, (760, 640))


def photograph(page: Path, path: Path, size: tuple[int, int]) -> None:
    """Photograph a page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("No Chromium on the path: apt-get install chromium")
    flags = "--headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=2"
    window = f"--window-size={size[0]},{size[1]}"
    profile = f"--user-data-dir={page.parent / 'profile'}"
    subprocess.run(
        [browser, *flags.split(), window, profile, f"--screenshot={path}", page.as_uri()],
        check=True,
        capture_output=True,
    )


if __name__ == "__main__":
    sys.exit(main())
