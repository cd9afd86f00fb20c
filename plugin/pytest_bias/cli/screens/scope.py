"""Suites and their scope cards on a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from pytest_bias.emit.decidable import on_limits
from pytest_bias.emit.wording import metric_words
from pytest_bias.models.labels import ROLES
from pytest_bias.reports.detectable_change import NotHere, OfGroups, OfMean, OfShare, Resolution
from pytest_bias.reports.limit_names import why_undecidable
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.power import LEVEL, POWER
from pytest_bias.suites.scope_cards import NOT_STATED
from pytest_bias.suites.suite import Suite
from pytest_bias.untrusted import clean

UNSAID: Final = (NOT_STATED, [NOT_STATED])
"""Values of fields that a scope card does not state; such fields are listed together."""


def show_list(suites: Sequence[Suite], console: Console) -> None:
    """Print one line per suite."""
    for suite in suites:
        names = ", ".join(c.name + (" (draft)" if c.draft else "") for c in suite.configurations)
        console.print(Text(suite.name, style="bold"), Text(f"{suite.kind}, {suite.validity}"))
        console.print(Padding(Text(str(suite.scope["summary"])), (0, 0, 0, 2)))
        console.print(Padding(Text(f"configurations: {names}", style="dim"), (0, 0, 1, 2)))
    tags = sorted({f"@{tag}" for s in suites for tag in s.tags})
    console.print(Text(f"Tags: {' '.join(tags)}", style="dim"))
    console.print(Text("pytest-bias suites NAME shows a scope card.", style="dim"))


def show_card(
    suite: Suite, console: Console, resolutions: Sequence[Resolution | NotHere] = ()
) -> None:
    """Print the whole scope card of a suite, and the differences that it can detect."""
    console.print(
        Text(f"{suite.title}  ", style="bold").append(f"{suite.name} version {suite.version}")
    )
    console.print(Text(f"{suite.scope['summary']}\n"))
    for configuration in suite.configurations:
        remarks = [
            *([] if configuration.own_texts else [configuration.language]),
            *(["draft, runs only when named"] if configuration.draft else []),
            *(["runs only when named"] if configuration.only_named else []),
            *(["for chat models, in place of the others"] if configuration.chat else []),
            *([configuration.note] if configuration.note else []),
            *([_scored_by(configuration.scorer)] if configuration.scorer else []),
        ]
        console.print(Text(f"  {suite.name}[{configuration.name}]: {'; '.join(remarks)}"))
        if disputed := suite.disputed(configuration.name):
            named = ", ".join(f"{metric_words(r).lower()} {n}" for r, n in disputed.items())
            console.print(Text(f"    disputed items: {named}", style="dim"))
    for measure in suite.measures:
        adapted = " (adapted)" if measure.adapted else ""
        console.print(Text(f"\n  {measure.name}{adapted}", style="bold"))
        if role := measure.scorer:
            console.print(Text(f"    {_scored_by(role)}"))
        if role := measure.reads:
            console.print(Text(f"    of classifiers of {ROLES[role].title}"))
        for metric in measure.metrics:
            ends = " to ".join("any" if b is None else f"{b:g}" for b in metric.bounds)
            mark = " (headline)" if metric.headline else ""
            about = f"ideal {metric.ideal:g}, {ends} {metric.unit}".rstrip()
            if metric.floor_of:
                about += f"; floor: {metric.floor_of}"
            console.print(
                Text(f"    {metric_words(metric.name)}{mark}: {about}{_unlimited(metric)}")
            )
    console.print()
    if resolutions and suite.kind != "structure":
        console.print(Text("What it can see", style="bold"))
        for resolution in resolutions:
            _show_resolution(resolution, console)
        about = f"{100 * LEVEL:g} % intervals; a change is found in {100 * POWER:g} % of cases."
        console.print(Padding(Text(f"{about}\n", style="dim"), (0, 0, 0, 2)))
    for name, content in _fields({k: v for k, v in suite.scope.items() if v not in UNSAID}):
        console.print(Text(name, style="bold"))
        console.print(Padding(Text(content), (0, 0, 0, 2)))
    if unsaid := [metric_words(k) for k, v in suite.scope.items() if v in UNSAID]:
        console.print(Text("not stated", style="bold"))
        console.print(Padding(Text(", ".join(unsaid)), (0, 0, 0, 2)))


def _unlimited(metric: Metric) -> str:
    """Return which limits on a metric are refused."""
    if metric.without_interval:
        return "; no limit"
    return "; no max_regression" if why_undecidable(metric, "max_regression") else ""


def _show_resolution(resolution: Resolution | NotHere, console: Console) -> None:
    if isinstance(resolution, NotHere):
        head, lines = "its data are not here", [resolution.hint]
    else:
        head, clusters = f"{resolution.n:,} items", clean(resolution.clusters, 40)
        if resolution.sees and resolution.n_clusters < resolution.n:
            head += f" of {resolution.n_clusters:,} {resolution.clusters}"
        limits = (f"limits on {r.metric}: {on_limits(r, clusters)}" for r in resolution.limits)
        lines = [*_sees(resolution), *limits]
    console.print(Padding(Text(f"{resolution.entry}: {head}"), (0, 0, 0, 2)))
    for line in lines:
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 4)))


def _scored_by(role: str) -> str:
    return f"scored by a classifier of {ROLES[role].title}: --scorer {role}=org/name"


def _sees(resolution: Resolution) -> Iterator[str]:
    sees = resolution.sees
    if isinstance(sees, OfShare):
        yield f"interval at 50 %: {sees.half_width:.1f} points to either side"
        first, *more = (
            f"{f'from {points:.1f}' if points else 'none'} if {100 * changed:g} %"
            for changed, points in sees.changes.items()
        )
        yield ", ".join([f"change found, in points: {first} of items change", *more])
    elif isinstance(sees, OfMean):
        yield f"interval: {sees.half_width:.2f} standard deviations of a cluster to either side"
        yield f"change found: from {sees.change:.2f} standard deviations of a cluster's change"
    elif isinstance(sees, OfGroups):
        yield f"two groups meet in {sees.n_pairs:,} prompts, of which each counts by itself"
        first, *more = (
            f"{f'from {points:.1f}' if points else 'none'} if {100 * apart:g} %"
            for apart, points in sees.differences.items()
        )
        of = "of prompts have another outcome"
        yield ", ".join([f"difference of two groups found, in points: {first} {of}", *more])
    else:
        yield "what it sees depends on the model: the score is no mean over items"


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
