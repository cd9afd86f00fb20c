"""docs/suites.md from the scope cards and the metrics of the installed suites.

    python tools/suites_page.py [--check]

With ``--check`` nothing is written: exit code 1 says that the page is out of date.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pytest_bias.models.labels import ROLES
from pytest_bias.scoring.metric import Metric
from pytest_bias.suites.catalogue import installed
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.suite import Configuration, Suite

PAGE: Final = Path(__file__).parent.parent / "docs" / "suites.md"

ABOUT: Final = """# Suites

What each suite measures, of whom, on which models, and what its score does not show. This page is
made from the scope cards by `python tools/suites_page.py`; `pytest-bias suites NAME` prints a card.
"""
KINDS: Final = {
    "intrinsic": "looks at the model itself",
    "downstream": "looks at a task that an application has",
    "quality": "says whether the model still works, and is no bias suite",
    "structure": "checks the model's numbers",
    "robustness": "looks at shortcuts and changed inputs",
}
CARD: Final = ("groups", "languages", "data_origin", "licence", "architecture", "does_not_show")


def main() -> int:
    """Write the page, or say whether it is what it would be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = page(installed())
    if parser.parse_args().check:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


def page(suites: tuple[Suite, ...]) -> str:
    """Return the page."""
    lines = [ABOUT, "| suite | kind | validity | languages |", "| --- | --- | --- | --- |"]
    lines += [
        f"| [{s.title}](#{s.name}) | {s.kind} | {s.validity} | {', '.join(_languages(s))} |"
        for s in suites
    ]
    return "\n".join([*lines, *(line for s in suites for line in _section(s))]) + "\n"


def _languages(suite: Suite) -> list[str]:
    drafts = {c.language for c in suite.configurations if not c.own_texts}
    reviewed = {c.language for c in suite.configurations if not (c.draft or c.own_texts)}
    own = ["your own texts"] if any(c.own_texts for c in suite.configurations) else []
    awaiting = [f"{language} (draft)" for language in sorted(drafts - reviewed)]
    return [*sorted(reviewed), *awaiting, *own]


def _section(suite: Suite) -> Iterator[str]:
    card = suite.scope
    yield from (f'\n<a id="{suite.name}"></a>', f"## {suite.title} (`{suite.name}`)", "")
    yield from (_plain(card["summary"]), "")
    yield f"{_plain(card['measures']).rstrip('.')}. Source: {_plain(card['source']).rstrip('.')}."
    yield ""
    yield f"*{suite.kind}*: {KINDS[suite.kind]}. *{suite.validity}*: {card['validity_in_short']}."
    for measure in suite.measures:
        yield from ("", f"{_measure(measure)}:", "")
        yield from map(_metric, measure.metrics)
    yield from ("", "Configurations:", "")
    yield from map(_configuration, suite.configurations)
    yield ""
    yield from (f"- {name.replace('_', ' ')}: {_plain(card[name])}" for name in CARD)


def _measure(measure: Measure) -> str:
    needs = " and ".join(sorted(c.words for c in measure.needs)) or "any model"
    more = [f"needs {needs}"]
    if measure.adapted:
        more.append("adapted")
    if measure.scorer:
        more.append(f"scored by a classifier of {ROLES[measure.scorer].title} that you name")
    if measure.reads:
        more.append(f"of classifiers of {ROLES[measure.reads].title}")
    return f"**{measure.name[:1].upper()}{measure.name[1:]}** ({'; '.join(more)})"


def _metric(metric: Metric) -> str:
    ends = " to ".join("any" if b is None else f"{b:g}" for b in metric.bounds)
    groups = "; ".join(" and ".join(keys) for keys in metric.by)
    return (
        f"- `{metric.name}`{', the headline' if metric.headline else ''}: ideal {metric.ideal:g}, "
        + f"{ends} {metric.unit}".rstrip()
        + (f"; floor: {metric.floor_of}" if metric.floor_of else "")
        + (f"; by {groups}" if groups else "")
    )


def _configuration(configuration: Configuration) -> str:
    only = {
        "draft, runs only when named": configuration.draft,
        "runs only when named": configuration.only_named and not configuration.draft,
        "with --profile full, or when named": configuration.only_full,
        "for chat models, in place of the others": configuration.chat,
        f"control of {configuration.control_of}": configuration.control_of is not None,
    }
    words = [text for text, holds in only.items() if holds]
    if configuration.note and not configuration.draft:
        words.append(configuration.note)
    return f"- `{configuration.name}`" + (f": {'; '.join(words)}" if words else "")


def _plain(text: Any) -> str:
    return " ".join((", ".join(map(str, text)) if isinstance(text, list) else str(text)).split())


if __name__ == "__main__":
    sys.exit(main())
