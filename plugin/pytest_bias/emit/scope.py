"""Suites and their scope cards on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from pytest_bias.emit.wording import metric_words
from pytest_bias.suites import Suite


def show_list(suites: Sequence[Suite], console: Console) -> None:
    """Print one line a suite."""
    for suite in suites:
        names = ", ".join(c.name + (" (draft)" if c.draft else "") for c in suite.configurations)
        console.print(Text(suite.name, style="bold"), Text(f"{suite.kind}, {suite.validity}"))
        console.print(Padding(Text(str(suite.scope["summary"])), (0, 0, 0, 2)))
        console.print(Padding(Text(f"configurations: {names}", style="dim"), (0, 0, 1, 2)))
    tags = sorted({f"@{tag}" for s in suites for tag in s.tags})
    console.print(Text(f"Tags: {' '.join(tags)}", style="dim"))
    console.print(Text("pytest-bias suites NAME shows a scope card.", style="dim"))


def show_card(suite: Suite, console: Console) -> None:
    """Print everything that a suite says of itself."""
    console.print(
        Text(f"{suite.title}  ", style="bold").append(f"{suite.name} version {suite.version}")
    )
    console.print(Text(f"{suite.scope['summary']}\n"))
    for configuration in suite.configurations:
        remarks = [
            configuration.language,
            *(["draft, runs only when named"] if configuration.draft else []),
            *(["runs only when named"] if configuration.only_named else []),
            *([configuration.note] if configuration.note else []),
        ]
        console.print(Text(f"  {suite.name}[{configuration.name}]: {'; '.join(remarks)}"))
    for measure in suite.measures:
        adapted = " (adapted)" if measure.adapted else ""
        console.print(Text(f"\n  {measure.name}{adapted}", style="bold"))
        for metric in measure.metrics:
            ends = " to ".join("any" if b is None else f"{b:g}" for b in metric.bounds)
            mark = " (headline)" if metric.headline else ""
            about = f"ideal {metric.ideal:g}, {ends} {metric.unit}".rstrip()
            console.print(Text(f"    {metric_words(metric.name)}{mark}: {about}"))
    console.print()
    for name, content in _fields(suite.scope):
        console.print(Text(name, style="bold"))
        console.print(Padding(Text(content), (0, 0, 0, 2)))


def _fields(scope: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name, content in scope.items():
        if name == "summary":
            continue
        if isinstance(content, list):
            separator = "\n" if any(len(str(c)) > 30 for c in content) else ", "
            content = separator.join(map(str, content))
        found.append((metric_words(name), str(content)))
    return found
