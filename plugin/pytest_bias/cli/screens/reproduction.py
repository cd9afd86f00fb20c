"""Result of a reproduction, on the terminal and as a sentence."""

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pytest_bias.emit.wording import number
from pytest_bias.evidence.reproduction import Level, Reproduction, ScoreAgain, SuiteAgain
from pytest_bias.untrusted import clean

STYLES: Final[Mapping[Level, str]] = {
    "agrees": "",
    "consistent": "",
    "differs": "bold red",
    "not compared": "yellow",
}
NOT_PROVED: Final = (
    "This shows that the numbers come out again. It does not show that the measure is right, nor, "
    "without a signature, who ran it."
)


def show(found: Reproduction, console: Console) -> None:
    """Print one row per suite, and a summary."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("Suite", "Verdict", "Published", "Again", "Difference", "Allowed", "Outcomes"):
        table.add_column(column, overflow="fold")
    for suite in found.suites:
        table.add_row(*_row(suite))
    console.print(table)
    for suite in found.suites:
        if suite.reason and suite.level != "agrees":
            console.print(Text(f"{clean(suite.entry)}: {clean(suite.reason, 500)}"))
    for digest in found.digests:
        if not digest.is_same:
            values = " and ".join(clean(str(v))[:19] for v in (digest.published, digest.again))
            console.print(Text(f"another {clean(digest.what)}: {values}"))
    console.print()
    console.print(Text(sentence(found), style="bold"))
    console.print(Text(NOT_PROVED))


def _row(suite: SuiteAgain) -> list[Text]:
    level = Text(suite.level, style=STYLES[suite.level])
    # The first score of a suite is its headline.
    if not suite.scores:
        return [Text(clean(suite.entry)), level]
    score = suite.scores[0]
    return [
        Text(clean(suite.entry)),
        level,
        Text(_number(score.published, score)),
        Text(_number(score.again, score)),
        Text("–" if score.difference is None else f"{score.difference:.2g}"),
        Text(f"{score.tolerance:g}" + (f" ({score.margin:.2g})" if score.margin else "")),
        Text(f"{suite.n_same} of {suite.n}" if suite.n else "hidden"),
    ]


def _number(value: float | None, score: ScoreAgain) -> str:
    return "–" if value is None else number(value, score.unit)


def sentence(found: Reproduction) -> str:
    """Summarize the reproduction."""
    of = len(found.counted)
    if found.verdict == "not comparable":
        other = [d.what for d in found.digests if not d.is_same]
        what = f"another {', '.join(other)}" if other else "no suite could be compared"
        return f"Not comparable: {what}."
    whole = " The two reports have one digest." if found.of == found.report else ""
    same, n = (sum(getattr(s, name) for s in found.counted) for name in ("n_same", "n"))
    counts = f"{found.n('agrees')} of {of} suites agree"
    if consistent := found.n("consistent"):
        counts += f", {consistent} more are consistent"
    if apart := found.n("differs"):
        counts += f", {apart} differ" if apart > 1 else ", 1 differs"
    if missing := found.n("not compared"):
        counts += f", {missing} not compared"
    outcomes = f"; {same:,} of {n:,} outcomes are the same" if n else ""
    return f"{counts}{outcomes}.{whole}"
