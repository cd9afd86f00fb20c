"""What a run of many models says while it runs, where there is no terminal."""

import asyncio
import io

import pytest
from rich.console import Console

from pytest_bias.fleet import command, progress
from pytest_bias.fleet.course import Began, EntryDone, Looked
from pytest_bias.fleet.progress import FleetPrinter


def test_a_long_suite_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.2)
    monkeypatch.setattr(command, "FOLLOW_S", 0.01)
    out = io.StringIO()
    with FleetPrinter(Console(file=out, width=100)) as printer:
        printer.expect(1)
        for event in (
            Looked("org/a", 3),
            Began("org/a", 2),
            EntryDone("org/a", (1, 2), "seat[en]", "scored", False),
        ):
            printer(event)
        before = out.getvalue()
        # Nothing ends meanwhile.
        asyncio.run(command._followed(asyncio.sleep(0.5), printer))
    assert before.splitlines() == ["1 model"]
    lines = out.getvalue().removeprefix(before).splitlines()
    assert lines[:2] == ["0 of 1 models done", "org/a: 1 of 6 measured, last seat[en]"]
    assert len(lines) <= 6, "once in a while"


def test_what_goes_wrong_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken() -> None:
        raise OSError("gone")

    with (
        FleetPrinter(Console(file=io.StringIO())) as printer,
        pytest.raises(OSError, match="gone"),
    ):
        asyncio.run(command._followed(broken(), printer))
