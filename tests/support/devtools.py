"""Chromium without a window, driven by its own protocol over a pipe: real keys, clicks and paints.

https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HEADLESS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
FLAGS = (*HEADLESS, "--remote-debugging-pipe")
PATIENCE = 60.0
"""Seconds until an answer counts as lost."""

PAINTED = """new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"""


class Page:
    """One tab."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that come meanwhile are kept."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self._write, text) :]
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, "Chromium does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "Chromium has ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def until(self, method: str) -> None:
        """Wait for an event."""
        while True:
            event = self._next()
            self.events.append(event)
            if event.get("method") == method:
                return

    def open(self, path: Path) -> float:
        """Open a file; returns the seconds until it is loaded and drawn."""
        start = time.perf_counter()
        self.call("Page.navigate", url=path.as_uri())
        self.until("Page.loadEventFired")
        if self.scripts:
            self.js(PAINTED)
        return time.perf_counter() - start

    scripts = True

    def without_scripts(self) -> None:
        """Switch JavaScript off, as a reader may."""
        self.call("Emulation.setScriptExecutionDisabled", value=True)
        self.scripts = False

    def js(self, expression: str) -> Any:
        """Return what an expression gives in the page; promises are waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def timed(self, action: str) -> float:
        """Return the seconds that statements take, until what they changed is drawn."""
        return (
            self.js(
                f"(async () => {{ const start = performance.now(); {action}; await {PAINTED};"
                "return performance.now() - start; })()"
            )
            / 1000
        )

    def key(self, key: str, code: int, text: str = "") -> None:
        """Press a key."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        more = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click with the mouse on the middle of an element."""
        box = self.js(
            f"(() => {{ const e = document.querySelector({selector!r});"
            "e.scrollIntoView({block: 'nearest', inline: 'center'});"
            "const r = e.getBoundingClientRect();"
            "return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        at = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", **at)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", **at)

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """Set the size of the window in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )

    def media(self, kind: str = "", *, dark: bool = False) -> None:
        """Ask for a medium, such as print, and for light or dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=kind, features=[scheme])

    def picture(self, path: Path) -> Path:
        """Write a screenshot of the window."""
        found = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """Write the page as it is printed."""
        found = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        path.write_bytes(base64.b64decode(found["data"]))
        return path

    def complaints(self) -> list[Any]:
        """Return what the console says: messages, errors, what the policy of the page forbade."""
        self.js("0")
        said = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [e["params"] for e in self.events if e.get("method") in said]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for; not those that the page's policy forbade."""
        self.js("0")
        sent = [e["params"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        lost = [e["params"] for e in self.events if e.get("method") == "Network.loadingFailed"]
        forbidden = {p["requestId"] for p in lost if p.get("blockedReason") == "csp"}
        return [p["request"]["url"] for p in sent if p["requestId"] not in forbidden]


@contextmanager
def tab(program: str, profile: Path) -> Iterator[Page]:
    """Start a browser and give it up at the end."""
    to_browser, ours_out = os.pipe()
    ours_in, from_browser = os.pipe()
    # The protocol wants the descriptors 3 and 4.
    script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
    words = ["bash", "-c", script, "bash", program, *FLAGS, f"--user-data-dir={profile}"]
    with subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(to_browser, from_browser),
    ) as process:
        os.close(to_browser)
        os.close(from_browser)
        page = None
        try:
            page = Page(ours_out, ours_in)
            yield page
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            os.close(ours_out)
            os.close(ours_in)


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def installed(names: tuple[str, ...] = BROWSERS) -> str:
    """Return a browser, or skip; CI has to have one."""
    if program := next(filter(None, map(shutil.which, names)), None):
        return program
    why = f"no browser: none of {', '.join(names)} is installed (apt-get install chromium)"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
