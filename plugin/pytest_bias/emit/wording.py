"""Formatting of numbers and untrusted names, alike in every output.

Numbers are rounded only here; shown and compared numbers come from the same unrounded value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_bias.emit import answers_source
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import NO_GROUP, Family, Score
from pytest_bias.reports.withholding import NOT_PUBLISHED
from pytest_bias.scoring.digits import decimals, rounded
from pytest_bias.untrusted import clean

SOCIAL_LIMITS: Final = "A low score does not show that a model is safe."
INTRINSIC_LIMITS: Final = (
    "No downstream test was run. Intrinsic scores predict little about applications."
)

ROBUSTNESS_LIMITS: Final = (
    "A robustness score is about one shortcut or one kind of change; there is none of all together."
)

KINDS: Final = {
    "structure": "Structure",
    "intrinsic": "Intrinsic, of the model itself",
    "downstream": "Downstream, of an application",
    "robustness": "Robustness",
    "quality": "General quality",
}
"""Kinds of suites in words, in the order in which they are shown."""

FAMILIES: Final[Mapping[Family, str]] = {
    "decision": "the headlines of the run (Holm)",
    "suite": "the tests of the suite (Holm)",
    "exploratory": "groups, exploratory (Benjamini-Hochberg)",
}
"""The tests among which a p-value was adjusted, in words."""

EXPLORATORY: Final = (
    "°\N{NO-BREAK SPACE}exploratory: a group that was looked at because all were; its p-value is "
    "adjusted within the suite."
)

MOST: Final = 10**12
"""No count, time or amount of a run is larger; those in a report from a file may be."""

_UNITS: Final[Mapping[str, str]] = {"%": " %", "nats": " nats", "bits": " bits", "d": "", "": ""}


def plural(noun: str) -> str:
    """Return the plural of a noun that a spread is over."""
    return clean(f"{noun.removesuffix('s')}s", 40)


def capitalized(words: str) -> str:
    """Return words with a capital first letter."""
    return words[:1].upper() + words[1:]


def number(value: float, unit: str) -> str:
    """Return a value with the decimals of its unit, without the unit."""
    return rounded(value, decimals(unit))


def value(score: Score) -> str:
    """Return a score's value with its unit, or a dash."""
    if score.value is None:
        return "–"
    return f"{number(score.value, score.unit)}{_UNITS.get(score.unit, f' {clean(score.unit, 20)}')}"


def interval(score: Score) -> str:
    """Return the ends of a score's interval, or a dash."""
    if score.interval is None:
        return "–"
    low, high = (number(end, score.unit) for end in score.interval)
    return f"{low} – {high}"


def headline_sentence(score: Score) -> str:
    """Describe a suite's headline in words: value, interval, ideal and floor."""
    name = capitalized(metric_words(score.metric))
    if score.value is None:
        why = clean(score.note or score.interval_reason or "no reason is given", 300)
        return f"{name} has no value: {why}."
    text = f"{name}: {value(score)}"
    if score.interval:
        text += f", {level(score)} interval {' to '.join(interval(score).split(' – '))}"
    text += f"; the ideal is {ideal(score)}"
    if score.floor is not None:
        text += f"; {floor(score)}"
    return f"{text}."


def short_interval(score: Score) -> str:
    """Return the interval in few characters, such as ``(58–63)`` or ``(.37–.41)``."""
    if score.interval is None:
        return ""
    decimals = 0 if score.unit in ("%", "points") else 2
    low, high = (rounded(end, decimals) for end in score.interval)
    ends = [re.sub(r"^(-?)0\.", r"\1.", end) for end in (low, high)]
    # A dash before a minus sign is not readable.
    between = " to " if ends[1].startswith("-") else "–"
    return f"({ends[0]}{between}{ends[1]})"


def ideal(score: Score) -> str:
    """Return the ideal without unnecessary decimals."""
    return f"{score.ideal:g}"


def count(n: int) -> str:
    """Return a count; an implausibly large one is not written out."""
    return str(n) if abs(n) < MOST else "more than 10^12"


def counted(n: int, plural: str = "items") -> str:
    """Return how many things there are: ``1 item``, ``3 entities``, ``1 pair of reviews``."""
    if n != 1:
        return f"{count(n)} {plural}"
    head, of, rest = plural.partition(" of ")
    one = f"{head[:-3]}y" if head.endswith("ies") else head.removesuffix("s")
    return f"1 {one}{of}{rest}"


def p_number(p: float | None) -> str:
    """Return a p-value as a number, or a dash."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def p_value(p: float) -> str:
    """Return a p-value in words, such as ``p = 0.03`` or ``p < 0.001``."""
    return f"p {p_number(p)}" if p < 0.001 else f"p = {p_number(p)}"


def level(score: Score) -> str:
    """Return the confidence level of a score's interval, such as ``95 %``."""
    return f"{100 * score.level:.3g} %"


def metric_words(name: str) -> str:
    """Return a metric's name as words."""
    return clean(name.replace("_", " "))


def group(score: Score) -> str:
    """Return the group of a score as words, such as ``religion`` or ``gender, female``."""
    return ", ".join(clean(v) for v in score.by.values())


def suite_label(suite: SuiteResult) -> str:
    """Return a suite's human-readable name, with its configuration."""
    title = suite.title or suite.name
    return clean(title if suite.config in ("all", "") else f"{title} {suite.config}")


def sample(suite: SuiteResult) -> str:
    """Return the size of a sample out of all items; empty for a whole suite."""
    if suite.sampled is None:
        return ""
    if suite.n_available is None:
        return f"sample of {suite.sampled}"
    return f"sample: {suite.sampled} of {counted(suite.n_available)}"


def about_time(seconds: float) -> str:
    """Return an approximate time, such as ``45 s``, ``14 min`` or ``2 h 10 min``."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(round(minutes, -1), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def furthest_group(suite: SuiteResult) -> Score | None:
    """Return the group furthest from the ideal, of those that the headline reports first.

    Groups with fewer than ten records are skipped: they are nearly always the furthest.
    """
    headline = suite.headline
    if headline is None:
        return None
    groups = [s for s in suite.scores if s.metric == headline.metric and len(s.by) == 1]
    groups = [s for s in groups if s.value is not None and s.n >= 10]
    groups = [s for s in groups if NO_GROUP not in s.by.values()]
    if len(groups) < 2:
        return None
    return max(groups, key=lambda s: (s.distance or 0, str(s.by)))


def beside_headline(suite: SuiteResult) -> list[Score]:
    """Return the other numbers that are shown with the headline: all of general quality.

    A defect of a model may show in them before it shows in the headline. For other suites these are
    the numbers that the suite declares necessary to read the headline.
    """
    return [
        s
        for s in suite.scores
        if not s.headline and not s.by and (s.beside or suite.kind == "quality")
    ]


def floor(score: Score) -> str:
    """Return the name and value of a score's floor, such as ``guessing ≈ 33.3``, or nothing."""
    if score.floor is None:
        return ""
    # Older reports do not say which.
    return f"{score.floor_of or 'floor'} ≈ {number(score.floor, score.unit)}"


@dataclass(frozen=True, slots=True)
class Control:
    """One control of a suite: its preference, and that of the items that it was derived from.

    `made_from` names these items, in the plural.
    """

    name: str
    score: Score
    original: Score | None
    made_from: str


def controls_of(report: Report, suite: SuiteResult) -> tuple[Control, ...]:
    """Return the controls of a result in a report; none where they were not measured."""
    found = []
    for other in report.suites:
        if (other.name, other.control_of) != (suite.name, suite.config):
            continue
        scores = {(s.metric, s.by["control"]): s for s in other.scores if set(s.by) == {"control"}}
        for (metric, name), score in scores.items():
            stem = metric.removeprefix("control_")
            if stem != metric and name != "original" and score.value is not None:
                original = scores.get((f"original_{stem}", name))
                found.append(Control(clean(name), score, original, clean(other.clusters)))
    return tuple(found)


def on_controls(controls: tuple[Control, ...]) -> str:
    """Return in two sentences what the controls of a suite show."""
    parts = []
    for control in controls:
        original = control.original
        own = f", originals {value(original)}" if original and original.value is not None else ""
        found = f"{value(control.score)} {short_interval(control.score)}".strip()
        parts.append(f"{control.name} {found}{own}")
    return (
        f"controls ({controls[0].made_from}): {'; '.join(parts)}. "
        "A preference that these show too is no stereotype."
    )


def own_rows(report: Report) -> list[SuiteResult]:
    """Return the results that have their own rows: controls are shown with their suites."""
    scored = {(s.name, s.config) for s in report.suites if s.scores}
    return [s for s in report.suites if (s.name, s.control_of) not in scored]


def on_validity(suite: SuiteResult) -> str:
    """Return in one line why the measure is contested, partly supported or well supported.

    Empty if the suite has no short statement of it.
    """
    short = suite.about.scope.get("validity_in_short") if suite.about else None
    return f"{clean(suite.validity)}: {clean(str(short))}" if short else ""


def on_scorer(suite: SuiteResult) -> str:
    """Name the classifier that scored the generated texts; empty where there was none."""
    if suite.scorer is None:
        return ""
    labels = ", ".join(clean(label, 40) for label in suite.labels.values())
    return f"{clean(suite.scorer.role, 20)} by {clean(suite.scorer.reference, 80)}, label {labels}"


def model_name(report: Report) -> str:
    """Return the model's name with its revision where it is known; likewise for an adapter."""
    model, adapter = report.model, report.model.adapter
    if adapter is None:
        return clean(f"{model.reference}{_at(model.revision)}", 120)
    base = f"{model.base_model}{_at(model.revision)}"
    return clean(f"{base}+{adapter.reference}{_at(adapter.revision)}", 120)


def _at(revision: str | None) -> str:
    return f"@{revision[:7]}" if revision else ""


def parameters(n: int | None) -> str:
    """Return a number of parameters in millions or billions."""
    if n is None or n >= 1000 * MOST:
        return "unknown size"
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if n >= size:
            return f"{n / size:.3g} {unit} parameters"
    return f"{n} parameters"


def size(n: int) -> str:
    """Return a number of bytes in kB or MB."""
    return f"{n / 1e6:.1f} MB" if n >= 1_000_000 else f"{n / 1e3:.0f} kB"


def month(report: Report) -> str:
    """Return year and month of the run."""
    return str(report.run.get("created", ""))[:7]


def date(report: Report) -> str:
    """Return the day of the run."""
    return clean(str(report.run.get("created", "")), 40)[:10]


def not_published(report: Report) -> list[str]:
    """Return the text in place of scores in a withheld report; empty for any other report."""
    if report.withheld is None:
        return []
    names = [
        suite_label(s) + (f" ({sample(s)})" if s.sampled is not None else "")
        for s in report.suites
        if s.status == "withheld"
    ]
    found = [f"Measured, {NOT_PUBLISHED}: {', '.join(names) or 'nothing'}."]
    if not report.withheld.finite:
        found.append("One of them has no value at its headline, so there is no badge.")
    return [*found, f"Digest of the full report with a salt: {clean(report.withheld.digest)}"]


def scope_limits(report: Report) -> list[str]:
    """Return the caveats below the scores."""
    kinds = {s.kind for s in report.suites if s.status in ("scored", "withheld")}
    robust = "robustness" in kinds
    intrinsic = not robust or any(s.kind == "intrinsic" for s in report.suites)
    said = {INTRINSIC_LIMITS: intrinsic and "downstream" not in kinds, ROBUSTNESS_LIMITS: robust}
    limits = (sentence for sentence, holds in said.items() if holds)
    return [*answers_source.sentences(report.model), SOCIAL_LIMITS, *limits]
