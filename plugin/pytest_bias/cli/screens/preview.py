"""A preview of a suite's items on a terminal; texts only on request."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from pytest_bias.engine.preview import DryRun, Preview, shown
from pytest_bias.suites.measures import Calls
from pytest_bias.suites.suite import Suite
from pytest_bias.untrusted import clean

MOST_GROUPS: Final = 12
MOST_CHARACTERS: Final = 300


def show_preview(
    found: Preview, tried: DryRun, suite: Suite, console: Console, *, show_items: bool
) -> None:
    """Print counts, suspicious items, a few examples, and the result of the dry run."""
    console.print(Text("\nItems", style="bold"))
    calls = tuple(dict.fromkeys(m.calls for m in suite.measures if m.calls))
    for line in _counts(found, suite.configurations[0].clusters, calls):
        console.print(Padding(Text(line), (0, 0, 0, 2)))
    if wrong := list(_wrong(found)):
        console.print(Text("To check", style="bold"))
        for line in wrong:
            console.print(Padding(Text(line), (0, 0, 0, 2)))
    console.print(Text("Dry run on the demo model", style="bold"))
    for line in _tried(tried):
        console.print(Padding(Text(line), (0, 0, 0, 2)))
    if found.is_hidden:
        note = "The items are hidden. --show-items shows five of them, and what goes wrong."
        console.print(Text(note, style="dim"))
        return
    console.print(Text("Examples", style="bold"))
    for item in shown(found.items):
        console.print(Padding(Text(clean(item.id, MOST_CHARACTERS)), (0, 0, 0, 2)))
        for role, text in item.texts.items() if show_items else ():
            line = f"{clean(role, 40)}: {clean(text, MOST_CHARACTERS)}"
            console.print(Padding(Text(line, style="dim"), (0, 0, 0, 4)))
    if not show_items:
        console.print(Padding(Text("--show-items shows their texts.", style="dim"), (0, 0, 0, 2)))


def _counts(found: Preview, clusters: str, calls: Sequence[Calls]) -> Iterator[str]:
    n = len(found.items)
    of = f" of {found.n_clusters:,} {clusters}" if found.n_clusters < n else ""
    yield f"{n:,} items{of}, {found.n_measurable:,} of them measurable"
    for each in calls:
        yield f"{found.n_measurable * each.each:,} calls of a model: {each.how}"
    shortest, median, longest = found.lengths
    yield f"texts of {shortest:,} to {longest:,} characters, half of them up to {median:,}"
    for key, groups in found.groups.items():
        named = ", ".join(f"{clean(g, 40)} {k:,}" for g, k in list(groups.items())[:MOST_GROUPS])
        more = f" and {len(groups) - MOST_GROUPS} more" if len(groups) > MOST_GROUPS else ""
        yield f"{key}: {named}{more}"


def _wrong(found: Preview) -> Iterator[str]:
    for reason, n in found.problems.items():
        yield f"{n:,} unscored: {clean(reason, 200)}"
    if found.doubles:
        first = " and ".join(clean(name, 80) for name in found.doubles[0][:2])
        n = sum(len(ids) - 1 for ids in found.doubles)
        such = "" if found.is_hidden else f", such as {first}"
        yield f"{n:,} items repeat the texts of another{such}"
    if found.replaced:
        yield f"{found.replaced:,} items hold bytes that could not be read: is the encoding right?"
    if found.non_ascii:
        yield f"{found.non_ascii:,} items have characters outside ASCII"
    for key, groups in found.groups.items():
        most, least = max(groups.values()), min(groups.values())
        if most > 10 * least:
            yield f"{key} is uneven: from {least:,} to {most:,} items per group"


def _tried(tried: DryRun) -> Iterator[str]:
    if tried.reason:
        yield tried.reason
        return
    n = tried.scored + sum((tried.others or {}).values())
    yield f"{tried.measure}: {tried.scored} of {n} items scored"
    for reason, k in (tried.others or {}).items():
        yield f"{k} not scored: {clean(reason, 200)}"
    if tried.others:
        yield (
            "That is expected: the demo knows few words. `pytest-bias run MODEL --suite FILE` asks "
            "a model that knows more."
        )
    yield f"scores: {', '.join(tried.metrics)}; their values mean nothing"
