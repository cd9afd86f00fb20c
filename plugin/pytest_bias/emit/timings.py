"""Where the time of a run went, as tables on a terminal (``run --timings``)."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pytest_bias.engine.timeline import PHASES, Phase
from pytest_bias.records.report import Report
from pytest_bias.untrusted import clean

LEAST_S = 0.005
"""Shorter phases are not listed."""


def render(report: Report, seconds: Mapping[Phase, float]) -> RenderableType:
    """Return the seconds of every phase of a run, and of every suite that was measured."""
    whole = sum(seconds.values())
    phases = _table("Where the time went", "s", "%")
    for phase, words in PHASES.items():
        if (found := seconds.get(phase, 0.0)) >= LEAST_S:
            phases.add_row(words, f"{found:.2f}", f"{100 * found / whole:.0f}")
    phases.add_row("whole run", f"{whole:.2f}", "100", style="bold")
    suites = _table("Suite", "s", "forward s", "score s", "tokens")
    for name, cost in (report.run.get("cost") or {}).get("suites", {}).items():
        taken, scored = cost.get("wall_s", 0.0), cost.get("score_s", 0.0)
        row = (f"{taken + scored:.2f}", f"{cost.get('model_s', 0.0):.2f}", f"{scored:.2f}")
        suites.add_row(Text(clean(name, 60)), *row, f"{cost.get('tokens', 0):,}")
    return Group(phases, "", suites) if suites.row_count else phases


def _table(title: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title)
    for name in numbers:
        table.add_column(name, justify="right")
    return table
