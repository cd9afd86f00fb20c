"""Locked models on a terminal: what was locked, and what has changed since."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pytest_bias.emit.wording import count, interval, metric_words, value
from pytest_bias.evidence.lock import (
    Checked,
    FileChanges,
    Locked,
    LockedReport,
    LockedScore,
    Verdict,
    beside,
    commits,
)
from pytest_bias.models.fingerprint import PARTS, ModelFingerprint, differences
from pytest_bias.records.score import Score
from pytest_bias.reports.publication_layout import BIAS
from pytest_bias.untrusted import clean

STYLES: Final[Mapping[Verdict, str]] = {
    "unchanged": "green",
    "moved": "green",
    "changed": "bold red",
    "unknown": "bold yellow",
}
MOST_FILES: Final = 12
INDENT: Final = (0, 0, 0, 2)


def locked(now: Locked, before: Locked | None, file: Path, notes: Sequence[str]) -> RenderableType:
    """Render what was locked, and what it replaces."""
    head = Text(f"{clean(now.name)} locked at {at(now.head)} in {file}", style="bold")
    lines = [_parts(now.head), *(_since(before, now) if before else ())]
    return Group(head, *_indented(lines, notes, _scores(now.report, None)))


def checked(found: Checked) -> RenderableType:
    """Render the state of a locked model."""
    head = Text(clean(found.locked.name), style="bold")
    head.append("  ").append(found.verdict, style=STYLES[found.verdict])
    if found.error:
        lines = [found.error.message, *([found.error.hint] if found.error.hint else [])]
        return Group(head, *_indented([clean(line, 2000) for line in lines], (), None))
    head.append(f"  {_moved(found)}", style="not bold")
    old, new = found.locked.report, found.report
    is_new = new and (old is None or new.digest != old.digest)
    table = _scores(old, new) if is_new else None
    return Group(head, *_indented(_about(found), found.notes if found.differing else (), table))


def at(found: ModelFingerprint) -> str:
    """Return the abbreviated commits of a model."""
    return " + ".join(str(c)[:12] for c in commits(found))


def _moved(found: Checked) -> str:
    assert found.now is not None, "an unknown model has no present state"
    day = f"locked {clean(found.locked.locked, 20)}"
    if found.verdict == "unchanged":
        return f"{at(found.locked.head)}, {day}"
    return f"{at(found.locked.head)} → {at(found.now)}, {day}"


def _about(found: Checked) -> Iterator[str]:
    """Yield which parts and files of a model have changed."""
    files = found.files
    if found.differing:
        yield f"another model: {_listed(found.differing)} changed"
        yield from _names(files)
        return
    if found.verdict == "unchanged":
        return
    yield "the same model: weights, configuration, tokenizer, chat template and code are as locked"
    if set(files.all) - set(beside(files.all)):
        yield "files differ that no digest of the model covers:"
    yield from _names(files)


def _names(files: FileChanges) -> Iterator[str]:
    for what, paths in (
        ("changed", files.changed),
        ("added", files.added),
        ("removed", files.removed),
    ):
        below = [p for p in paths if p.startswith(f"{BIAS}/")]
        names = [clean(p, 120) for p in paths if p not in below]
        if len(names) > MOST_FILES:
            names = [*names[:MOST_FILES], f"{len(names) - MOST_FILES} more"]
        if below:
            names.append(f"{len(below)} file{'s' * (len(below) > 1)} below {BIAS}/")
        if names:
            yield f"{what}: {_listed(names)}"


def _since(before: Locked, now: Locked) -> Iterator[str]:
    if commits(before.head) == commits(now.head):
        return
    parts = differences(before.head, now.head)
    what = f"{_listed(parts)} changed" if parts else "the same model"
    yield f"before: {at(before.head)}, locked {clean(before.locked, 20)}; {what}"


def _parts(found: ModelFingerprint) -> str:
    digests = {words: getattr(found, name) for name, words in PARTS.items()}
    known = [f"{words} {digest[:12]}" for words, digest in digests.items() if digest]
    n = len(found.files) + len(found.adapter_files or {})
    return f"{', '.join(known)}; {n} files"


def _listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _indented(
    lines: Iterator[str] | Sequence[str], notes: Sequence[str], table: RenderableType | None
) -> Iterator[RenderableType]:
    for line in lines:
        yield Padding(Text(line), INDENT, expand=False)
    for note in notes:
        yield Padding(Text(clean(note, 600), style="dim"), INDENT, expand=False)
    if table:
        yield Padding(table, INDENT, expand=False)


def _scores(old: LockedReport | None, new: LockedReport | None) -> RenderableType | None:
    """Render locked headlines, beside the published ones if they differ."""
    reports = [r for r in (old, new) if r]
    if not reports:
        return None
    when = {id(old): "locked: ", id(new): "now: "} if old and new else {}
    lines = [Text(when.get(id(r), "") + _source(r), style="dim") for r in reports]
    rows = list(dict.fromkeys(entry for r in reports for entry in r.scores))
    if not rows:
        return Group(*lines)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Suite", overflow="fold")
    for title in ("Locked", "Now")[: len(reports)] if new and old else ("Score",):
        table.add_column(title, justify="right", no_wrap=True)
        table.add_column("95 % interval", no_wrap=True)
        table.add_column("n", justify="right", no_wrap=True)
    for entry in rows:
        found = [r.scores.get(entry) for r in reports]
        metric = next(s.metric for s in found if s)
        label = f"{clean(entry, 80)} · {metric_words(metric)}"
        table.add_row(Text(label), *(Text(text) for s in found for text in _numbers(s)))
    return Group(*lines, table)


def _source(report: LockedReport) -> str:
    day = f", {clean(report.created, 40)[:10]}" if report.created else ""
    held = ", its scores are withheld" if report.withheld else ""
    return f"report {clean(report.digest, 80)[7:19]}, {report.source}{day}{held}"


def _numbers(score: LockedScore | None) -> tuple[str, str, str]:
    if score is None:
        return "–", "–", "–"
    shown = Score(
        metric=score.metric,
        value=score.value,
        ideal=score.ideal,
        bounds=(None, None),
        unit=score.unit,
        tolerance=0.0,
        interval=score.interval,
    )
    return value(shown), interval(shown), count(score.n)
