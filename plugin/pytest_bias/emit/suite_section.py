"""What the page says of one suite: its numbers, how they were made, and how far to trust them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_bias.emit import templates
from pytest_bias.emit.floors import FLOORS
from pytest_bias.emit.pictures import by_group, remarks, scores_table, short
from pytest_bias.emit.sampled import resampled
from pytest_bias.emit.wording import (
    FAMILIES,
    beside_headline,
    capitalized,
    count,
    counted,
    headline_sentence,
    level,
    metric_words,
    number,
    on_scorer,
    p_number,
    plural,
    suite_label,
)
from pytest_bias.engine.hidden import is_hidden
from pytest_bias.errors import UnknownName
from pytest_bias.records.report import DataInfo, Item, Record, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.scoring.estimators import Additive, Mean
from pytest_bias.scoring.finite import missing
from pytest_bias.scoring.metric import Metric
from pytest_bias.suites.suite import STRUCTURE, Suite, find
from pytest_bias.untrusted import clean

SHOWN_ITEMS: Final = 10
CARD_FIELDS: Final = 40
CARD_TEXT: Final = 1_500
ROLES: Final = 12

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Furthest:
    """The items of a suite that are furthest from its ideal, or why none can be named.

    If more are `tied` than are shown, `by` is the score that orders them.
    """

    ids: tuple[str, ...] = ()
    tied: int = 0
    by: str = ""
    reason: str = ""


def section(suite: SuiteResult, items: Mapping[str, Item]) -> str:
    """Return the section of a suite as HTML; `items` are those whose texts may stand in it."""
    headline = suite.headline
    installed = _installed(suite)
    picture = by_group(suite)
    far = furthest(suite, installed)
    return (
        templates.html()
        .get_template("suite.html.j2")
        .render(
            title=short(suite_label(suite)),
            remarks=remarks(suite),
            reason=clean(suite.reason or "", 400),
            sentence=headline_sentence(headline)
            if headline
            else f"It has no value: {missing(suite)}.",
            beside=[headline_sentence(s) for s in beside_headline(suite)],
            uncertainty=resampled(suite, headline) if headline else "",
            picture=picture,
            table=scores_table(suite),
            facts=list(_facts(suite, headline)),
            validity=clean(suite.validity, 20),
            evidence=_evidence(suite, installed),
            card=_card(installed) if installed else [],
            no_card="" if installed else f"{short(suite.name)} is not installed here.",
            failed=_failed(suite),
            far=replace(far, ids=tuple(map(short, far.ids))),
            texts=[(short(i), _texts(items[i])) for i in far.ids if i in items],
            records="" if is_hidden(suite) else clean(suite.records_path, 200),
        )
    )


def _installed(suite: SuiteResult) -> Suite | None:
    try:
        return find(suite.name)
    except UnknownName:
        return None


def _facts(suite: SuiteResult, headline: Score | None) -> Iterator[Fact]:
    if headline:
        yield (
            "Items",
            f"{count(headline.n)} scored, {count(headline.n_unscored)} unscored, "
            f"{count(headline.n_excluded)} excluded by the suite's own rule",
        )
        if headline.interval:
            yield "Interval", f"{level(headline)}, by {clean(headline.method or 'no method', 60)}"
        if headline.floor is not None:
            yield (
                capitalized(headline.floor_of or "floor"),
                f"{number(headline.floor, headline.unit)}: {FLOORS[headline.floor_of]}"
                if headline.floor_of
                else number(headline.floor, headline.unit),
            )
        if headline.p_value is not None:
            yield "p", _test(headline)
        elif headline.p_reason:
            yield "p", f"none: {clean(headline.p_reason, 200)}"
        if spread := headline.spread:
            low, high = number(spread.low, headline.unit), number(spread.high, headline.unit)
            yield (
                f"Spread over {plural(spread.over)}",
                f"standard deviation {number(spread.sd, headline.unit)} over "
                f"{count(spread.n)}, from {low} to {high}",
            )
        if headline.note:
            yield "Note", clean(headline.note, 300)
    if data := suite.data:
        where = clean(data.source, 200) + (" (your own copy)" if data.local else "")
        yield "Data", f"{where}, {counted(data.n_items)}, {clean(data.licence, 60)}"
        if is_hidden(suite):
            yield "Hidden", _on_hidden(data)
        if data.revision:
            yield "Revision", clean(data.revision, 64)
        if data.sha256:
            yield "Salted SHA-256" if is_hidden(suite) else "SHA-256", clean(data.sha256, 64)
    if suite.scorer:
        yield "Scored by", on_scorer(suite)
        if version := suite.scorer.weights_sha256 or suite.scorer.revision:
            yield "Version of the scorer", clean(version, 64)
    elif suite.labels:
        labels = ", ".join(f"{k} is {clean(v, 40)}" for k, v in sorted(suite.labels.items()))
        yield "Labels of the model", clean(labels, 200)
    measure = f", measure {metric_words(suite.measure)}" if suite.measure else ""
    yield "Suite", clean(f"{suite.entry}, version {suite.version}{measure}", 200)


def _on_hidden(data: DataInfo) -> str:
    told = (
        "The items stay with who measured; they are in no file of this report. A group of fewer "
        f"than {count(data.least or 0)} has no score"
    )
    if data.groups_left_out:
        names = "groups are" if data.groups_left_out > 1 else "group is"
        told += f": {count(data.groups_left_out)} {names} left out"
    return f"{told}."


def _test(score: Score) -> str:
    words = p_number(score.p_value)
    if score.test:
        words += f" ({clean(score.test, 80)})"
    if score.p_adjusted is not None and score.family:
        words += f"; {p_number(score.p_adjusted)} adjusted among {FAMILIES[score.family]}"
    return words


def _evidence(suite: SuiteResult, installed: Suite | None) -> str:
    """Return the evidence for a validity mark, and of which version of the suite it is."""
    if installed is None:
        return "The evidence for it is not known here, because the suite is not installed."
    words = clean(str(installed.scope["validity_evidence"]), CARD_TEXT)
    if installed.validity != suite.validity or installed.version != suite.version:
        words += f" (Scope card of version {clean(installed.version, 20)}"
        words += f", which says {clean(installed.validity, 20)}.)"
    return words


def _card(suite: Suite) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for name, content in list(suite.scope.items())[:CARD_FIELDS]:
        lines = content if isinstance(content, list) else [content]
        if all(len(str(line)) <= 30 for line in lines):
            lines = [", ".join(map(str, lines))]
        words = capitalized(metric_words(name))
        found.append((words, tuple(clean(str(x), CARD_TEXT) for x in lines[:CARD_FIELDS])))
    return found


def _failed(suite: SuiteResult) -> list[Fact]:
    """Return the checks of a model's structure that failed, each with its reason."""
    if suite.name != STRUCTURE:
        return []
    failed = [r for r in suite.records if r.status == "scored" and not r.value]
    return [(short(r.item), clean(r.reason or "", 300)) for r in failed[:SHOWN_ITEMS]]


def furthest(suite: SuiteResult, installed: Suite | None) -> Furthest:
    """Return the ids of the items whose part in the headline is furthest from the ideal."""
    headline = suite.headline
    if headline is None or suite.name == STRUCTURE:
        return Furthest()
    if is_hidden(suite):
        return Furthest(reason="The items are hidden.")
    if not suite.records:
        return Furthest(reason="The records are not beside this report.")
    if installed is None or installed.version != suite.version:
        return Furthest(
            reason=f"{short(suite.name)} {clean(suite.version, 20)} is not installed here, so what "
            "its records mean is not known."
        )
    try:
        metrics = installed.measure_named(suite.measure or "").metrics
    except UnknownName as error:
        return Furthest(reason=clean(error.message, 300))
    metric = next((m for m in metrics if m.name == headline.metric), None)
    if metric is None or not isinstance(metric.estimate, Additive):
        return Furthest(reason="This score has no value for single items.")
    try:
        return _ordered(suite.records, metric, metrics)
    except (KeyError, TypeError, ValueError):
        return Furthest(reason="The records do not fit the suite; pytest-bias verify says more.")


def _ordered(records: Sequence[Record], metric: Metric, metrics: Sequence[Metric]) -> Furthest:
    distances = order = _distances(records, metric)
    ends = sorted(distances.values())
    tied, by = 0, ""
    if len(ends) > SHOWN_ITEMS and ends[-1] == ends[-SHOWN_ITEMS - 1]:
        tied = ends.count(ends[-1])
        # A percentage counts all items alike; a mean over the same items tells them apart.
        if other := next(
            (m for m in metrics if isinstance(m.estimate, Mean) and m != metric), None
        ):
            by, order = metric_words(other.name), _distances(records, other)
    found = sorted(distances, key=lambda i: (-distances[i], -order.get(i, 0.0), i))
    return Furthest(tuple(found[:SHOWN_ITEMS]), tied, by)


def _distances(records: Sequence[Record], metric: Metric) -> dict[str, float]:
    """Return how far the part of each item in a metric is from the ideal."""
    if not isinstance(metric.estimate, Additive):
        return {}
    scored = [r for r in records if r.status == "scored" and metric.where(r)]
    kept, values = metric.estimate.contributing(scored)
    distances = abs(values - metric.ideal).tolist()
    return dict(zip((r.item for r in kept), distances, strict=True))


def _texts(item: Item) -> Sequence[Fact]:
    return [(clean(k, 40), clean(v, 500)) for k, v in list(item.texts.items())[:ROLES]]
