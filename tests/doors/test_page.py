"""The page of a real run in a browser: nothing overflows, nothing overlaps, everything is said."""

import html
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commands import finish, start
from devtools import HEADLESS, installed
from made import HOSTILE, report, result, score
from pytest_bias.emit.page import PAGE_LIMIT, render

FLAGS = (*HEADLESS, "--hide-scrollbars", "--enable-logging=stderr")
DARK = "--blink-settings=preferredColorScheme=0"
PHONE, DESK = 360, 1280
LIMITS = """limits:
  gendered_pair_entropy.entropy_bias: {max_distance: 0.2, max_regression: {points: 0.05}}
  template_association.association: {max_distance: 1}
"""

# Runs in the page around the one that is looked at, with everything in it unfolded.
MEASURE = """
const page = document.querySelector("iframe").contentDocument;
const style = (e) => page.defaultView.getComputedStyle(e);
const rgb = (s) => s.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (s) => {
  const [r, g, b] = rgb(s).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const paper = light(style(page.body).backgroundColor);
const contrast = (s) => (Math.max(light(s), paper) + 0.05) / (Math.min(light(s), paper) + 0.05);
page.querySelectorAll("details").forEach((d) => { d.open = true; });
const written = [...page.body.querySelectorAll("*")].filter(
  (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
const pictures = [...page.querySelectorAll("svg, img")];
const inside = (e) => {
  const r = e.getBoundingClientRect();
  return [r.left, r.right, r.top, r.bottom];
};
const mark = (e) => e.matches("circle") ? style(e).fill : style(e).stroke;
const color = (e) => e.ownerSVGElement ? style(e).fill : style(e).color;
const overlaps = [];
const outside = [];
for (const svg of pictures) {
  const [left, right] = inside(svg);
  const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, ...inside(e)]);
  texts.forEach((a, i) => {
    if (a[1] < left - 1 || a[2] > right + 1) outside.push(a[0]);
    texts.slice(i + 1).forEach((b) => {
      const across = Math.min(a[2], b[2]) - Math.max(a[1], b[1]);
      const down = Math.min(a[4], b[4]) - Math.max(a[3], b[3]);
      if (across > 0.5 && down > 3) overlaps.push(a[0] + " | " + b[0]);
    });
  });
}
const found = {
  paper,
  width: page.documentElement.scrollWidth,
  pictures: pictures.length,
  silent: pictures.filter((e) => !(e.getAttribute("aria-label") || e.alt || "").trim()).length,
  smallest: Math.min(...written.map((e) => parseFloat(style(e).fontSize)
    * (e.ownerSVGElement ? e.ownerSVGElement.getBoundingClientRect().width / 360 : 1))),
  contrast: Math.min(...written.map((e) => contrast(color(e)))),
  marks: Math.min(...[...page.querySelectorAll(".ideal, .interval, .floor, .value, .tick")]
    .map((e) => contrast(mark(e)))),
  folded: page.querySelectorAll("details").length,
  overlaps, outside,
};
document.body.innerHTML = "<pre></pre>";
document.querySelector("pre").textContent = JSON.stringify(found);
"""


@dataclass(frozen=True)
class Browser:
    """Chromium without a window, and a folder for its profiles."""

    program: str
    folder: Path

    def run(self, address: Path, *flags: str) -> tuple[str, list[str]]:
        """Open a file; returns what is printed, and the messages of the console."""
        profile = self.folder / f"profile{len(list(self.folder.iterdir()))}"
        words = [self.program, *FLAGS, f"--user-data-dir={profile}", *flags, address.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]

    def measure(self, page: Path, width: int, *flags: str) -> dict[str, Any]:
        """Return what a page is like in a frame of some width."""
        inner = html.escape(page.read_text(encoding="utf-8"))
        around = self.folder / f"around{len(list(self.folder.iterdir()))}.html"
        around.write_text(
            "<!DOCTYPE html><meta charset=utf-8><body>"
            f'<iframe style="width:{width}px;height:900px;border:0" srcdoc="{inner}"></iframe>'
            f'<script>document.querySelector("iframe").onload = () => {{{MEASURE}}};</script>',
            encoding="utf-8",
        )
        size = f"--window-size={width + 100},1000"
        out, said = self.run(around, size, "--dump-dom", *flags)
        assert said == []
        return json.loads(html.unescape(out.partition("<pre>")[2].partition("</pre>")[0]))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Return a browser of this machine."""
    return Browser(installed(), tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the demo with limits, texts, and its neutral twin as the baseline."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "limits.yaml").write_text(LIMITS, encoding="utf-8")
    finish(start("run", "demo-neutral", "--out", "neutral", folder=folder), folder).done(0)
    words = ("run", "demo", "--out", "demo", "--config", "limits.yaml", "--baseline", "neutral")
    finish(start(*words, "--with-texts", folder=folder), folder).done(1)
    return folder / "demo" / "report.html"


@pytest.mark.by_day(width=(PHONE,), flags=((),))
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("flags", [(), (DARK,)], ids=["light", "dark"])
def test_page_in_a_browser(
    browser: Browser, page: Path, width: int, flags: tuple[str, ...]
) -> None:
    found = browser.measure(page, width, *flags)
    assert found["paper"] < 0.02 if flags else found["paper"] > 0.9
    assert found["pictures"] >= 7
    assert found["folded"] >= 12
    assert found["silent"] == 0
    assert found["width"] <= width
    assert found["overlaps"] == []
    assert found["outside"] == []
    assert found["smallest"] >= 11
    assert found["contrast"] >= 4.5
    assert found["marks"] >= 3


NAMES = (
    *HOSTILE.values(),
    *(char * 90 for char in ("W", "m", "i", "\N{CJK UNIFIED IDEOGRAPH-5B57}", "\N{GRINNING FACE}")),
    *("\u0645\u0631\u062d\u0628\u0627 " * 20, "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35" * 20),
)
"""Names of others that are long, broad, from right to left, or no text at all."""


@pytest.mark.browser
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_names_of_others_fit_into_pictures(browser: Browser, width: int) -> None:
    groups = [score(value=i, by={"group": name}, headline=False) for i, name in enumerate(NAMES)]
    suites = [
        result(f"s{i}", scores=[score(name, 1e300, unit=name, floor=33.3)], title=name)
        for i, name in enumerate(NAMES)
    ]
    page = browser.folder / "names.html"
    whole = result(scores=[score(), *groups])
    page.write_text(render(report(whole, *suites)), encoding="utf-8")
    found = browser.measure(page, width)
    assert found["pictures"] == 2
    assert found["width"] <= width
    assert found["overlaps"] == []
    assert found["outside"] == []


def test_page_is_small_and_has_every_section(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < PAGE_LIMIT
    for title in ("Overview", "Suites", "Change since demo-neutral", "Limits of this project"):
        assert f"<h2>{title}</h2>" in text
    assert "<h2>Method and settings</h2>" in text
    # Texts only behind the warning.
    before, *behind = text.split('<details class="warning">')
    assert len(behind) == 3
    assert "[MASK]" not in before
    assert all("[MASK]" not in part.partition("</details>")[2] for part in behind)


def test_a_missing_browser_fails_in_ci_and_skips_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no browser: none of no-such-browser"):
        installed(("no-such-browser",))
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        installed(("no-such-browser",))
