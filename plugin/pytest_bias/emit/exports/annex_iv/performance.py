"""Points 3 and 4: limitations, scores of groups, risks, and whether the metrics are appropriate."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_bias.emit.about_model import not_read
from pytest_bias.emit.bounds import NAME
from pytest_bias.emit.exports.annex_iv.document import (
    Block,
    Facts,
    Heading,
    Missing,
    Text,
    facts,
    table,
    words,
)
from pytest_bias.emit.exports.annex_iv.source import (
    SUITES,
    Source,
    card,
    group,
    labels,
    remark,
    scores_table,
)
from pytest_bias.emit.sampled import resampled
from pytest_bias.emit.wording import (
    capitalized,
    count,
    headline_sentence,
    ideal,
    metric_words,
    scope_limits,
    suite_label,
)
from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.suites.suite import STRUCTURE

GROUPS: Final = (
    "Scores by group, for the headline of each suite and for its accuracy where it has one; where "
    "the headline has no groups, for the other metrics. Every group that a suite knows is listed, "
    "so some lie far from the ideal by chance alone. The score of a group is what the suite "
    "measures for it (point 4); it is not the accuracy of the system for these persons."
)
METRICS: Final = 5
"""Largest number of metrics of a suite that are shown by group."""
ACCURACY: Final = "accuracy"
NO_CARD: Final = "The report has no scope card of this suite."


def limitations(source: Source) -> Iterator[Block]:
    """Return what scores do not show, and how good the model is in general."""
    report = source.report
    if unread := not_read(report):
        yield Text(words(unread, 600))
    for line in scope_limits(report):
        yield Text(line)
    for line in source.context.missed(source.social):
        yield Text(f"{words(line, 400)} The provider states them as intended.")
    for suite in source.shown:
        if suite.kind == "quality" and suite.headline:
            sentence = words(headline_sentence(suite.headline), 400)
            label = words(suite_label(suite), NAME)
            yield Text(f"{label}: {sentence.rstrip('.')}; n = {count(suite.headline.n)}.")


def groups(source: Source) -> Iterator[Block]:
    """Return the scores of groups, a table for each suite."""
    people = [s for s in source.social if s.kind in ("intrinsic", "downstream")]
    found = [(s, by) for s in people if (by := _by_metric(s))]
    if not found:
        yield Text("No score of a group is shown here.")
        return
    yield Text(GROUPS)
    for suite, by in found[:SUITES]:
        label = words(suite_label(suite), NAME)
        names = _chosen(suite, by)
        for name in names:
            rows = [((group(s), remark(s)), s) for s in by[name]]
            caption = f"{label}: {words(metric_words(name), NAME)} by group"
            yield scores_table(caption, rows, "Group")
        if left := [words(metric_words(name), NAME) for name in by if name not in names]:
            yield Text(f"{label}: groups of other metrics are in report.json: {', '.join(left)}.")
    if len(found) > SUITES:
        yield Text(f"Scores by group of {len(found) - SUITES} more suites are in report.json.")


def _by_metric(suite: SuiteResult) -> dict[str, list[Score]]:
    """Return the scores of groups by metric; controls are no groups of people."""
    found: dict[str, list[Score]] = {}
    for score in suite.scores:
        if score.by and "control" not in score.by:
            found.setdefault(score.metric, []).append(score)
    return found


def _chosen(suite: SuiteResult, by: Mapping[str, Sequence[Score]]) -> list[str]:
    """Return the metrics that are shown by group: the headline and accuracy, else all."""
    headline = suite.headline.metric if suite.headline else ""
    wanted = [headline, ACCURACY] if headline in by else [*by]
    return [name for name in dict.fromkeys(wanted) if name in by][:METRICS]


def risks(source: Source) -> Iterator[Block]:
    """Return the harms that the suites look for, and what they do not show."""
    rows = [
        (
            labels(suites),
            capitalized(card(suites[0], "harm_type")) or NO_CARD,
            card(suites[0], "bias_definition"),
            card(suites[0], "does_not_show"),
        )
        for suites in source.described
        if suites[0].kind != "quality"
    ]
    if not rows:
        yield Text("No suite with scores describes a harm here.")
        return
    yield Text("What the suites look for, by their scope cards, whatever the scores are:")
    head = ("Suite", "Kind of harm", "Why it matters", "What the suite does not show")
    yield table("Harms by suite", head, rows, most=SUITES)


def inputs(source: Source) -> Iterator[Block]:
    """Return the languages of the inputs that were tested."""
    languages = sorted({words(s.language, 20) for s in source.social if s.language})
    yield from facts(("Languages of the tests", ", ".join(languages)))


def appropriateness(source: Source) -> Iterator[Block]:
    """Return what each metric measures, its ideal, its validity, and why it was chosen."""
    general = source.context.why.get("", "")
    if general:
        yield Facts((("Why these suites", words(general)),), stated=True)
    if not source.social:
        yield Text("No suite has a score here.")
    for suites in source.described[:SUITES]:
        yield Heading(labels(suites))
        yield from _described(source, suites)
    if (left := len(source.described) - SUITES) > 0:
        yield Text(f"{left} more suites are described in report.json.")


def _described(source: Source, suites: Sequence[SuiteResult]) -> Iterator[Block]:
    suite = suites[0]
    yield from facts(("Why this suite", words(source.context.why.get(suite.name, ""))), stated=True)
    validity = words(suite.validity, 20)
    evidence = card(suite, "validity_evidence")
    told = (
        ("What it measures", card(suite, "measures") or NO_CARD),
        ("Construct", card(suite, "construct")),
        ("Stands for it", card(suite, "proxy")),
        ("Headline and ideal", _headline(suite.headline)),
        *(_interval(one, named=len(suites) > 1) for one in suites[:SUITES]),
        ("Notion of fairness", card(suite, "fairness_notion")),
        ("Validity", f"{capitalized(validity)}. {evidence}".strip()),
        ("Link to a task", card(suite, "task_link")),
        ("Known defects", card(suite, "known_defects")),
        ("Does not show", card(suite, "does_not_show")),
    )
    yield from facts(*((term, capitalized(text)) for term, text in told))


def _headline(score: Score | None) -> str:
    if score is None:
        return ""
    return f"{words(metric_words(score.metric), NAME)}; the ideal is {ideal(score)}"


def _interval(suite: SuiteResult, *, named: bool) -> tuple[str, str]:
    of = f" of {words(suite.config, NAME)}" if named else ""
    headline = suite.headline
    return f"Interval{of}", words(resampled(suite, headline), 300) if headline else ""


def unreasoned(source: Source) -> tuple[Missing, ...]:
    """Return the suites whose choice is not explained."""
    measured = {
        s.name: s.title or s.name
        for s in source.report.suites
        if s.status in ("scored", "withheld") and s.name != STRUCTURE
    }
    why = source.context.why
    if why.get(""):
        return ()
    left = [words(label, NAME) for name, label in measured.items() if not why.get(name)]
    if len(left) == len(measured):
        return (Missing("why these suites and metrics are appropriate for the system", "why"),)
    return tuple(Missing(f"why {label} is appropriate for the system", "why") for label in left)
