"""The page's section on one suite: its numbers, their method, and their validity."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pytest_bias.emit import templates
from pytest_bias.emit.floors import FLOORS
from pytest_bias.emit.pictures import Table, by_group, remarks, scores_table, short, table
from pytest_bias.emit.sampled import resampled
from pytest_bias.emit.selection import ABOUT, selection
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
    value,
)
from pytest_bias.records.about import Furthest
from pytest_bias.records.report import DataInfo, Item, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.scoring.finite import missing
from pytest_bias.suites.choice_rules import AnswerStatus
from pytest_bias.suites.suite import STRUCTURE
from pytest_bias.untrusted import clean

SHOWN_ITEMS: Final = 10
CARD_FIELDS: Final = 40
CARD_TEXT: Final = 1_500
ROLES: Final = 12
NOT_KNOWN: Final = "This report does not say, and the suite is not installed here."

Fact = tuple[str, str]


def section(suite: SuiteResult, items: Mapping[str, Item]) -> str:
    """Return the section of a suite as HTML; `items` are those whose texts may be included."""
    headline = suite.headline
    picture = by_group(suite)
    about = suite.about
    far = about.furthest if about else Furthest(reason=NOT_KNOWN)
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
            answers=answers_of(suite),
            uncertainty=resampled(suite, headline) if headline else "",
            picture=picture,
            selections=list(_selections(suite)),
            about_selections=ABOUT,
            table=scores_table(suite),
            facts=list(_facts(suite, headline)),
            validity=clean(suite.validity, 20),
            evidence=_evidence(suite),
            card=_card(about.scope) if about else [],
            no_card="" if about else NOT_KNOWN,
            failed=_failed(suite),
            far=replace(
                far,
                ids=tuple(map(short, far.ids[:SHOWN_ITEMS])),
                by=metric_words(far.by),
                reason=clean(far.reason, 300),
            ),
            texts=[(short(i), _texts(items[i])) for i in far.ids[:SHOWN_ITEMS] if i in items],
            records="" if suite.is_hidden else clean(suite.records_path, 200),
        )
    )


def _selections(suite: SuiteResult) -> Iterator[tuple[str, Table]]:
    for found in selection(suite):
        rows = [[short(row[0]), *row[1:]] for row in found.rows]
        yield short(found.title), table([short(found.head[0]), *found.head[1:]], rows)


class Part(NamedTuple):
    """A part of all answers: its name, where it begins in a bar of 100, and its percentage."""

    name: str
    start: float
    width: float
    words: str


def answers_of(suite: SuiteResult) -> list[Part]:
    """Return how many answers to questions with options were of each status; empty without any."""
    whole = {s.metric: s for s in suite.scores if not s.by}
    found: list[Part] = []
    for name in AnswerStatus:
        score = whole.get(name)
        if score is None or score.value is None:
            return []
        start = found[-1].start + found[-1].width if found else 0.0
        words = f"{value(score)} {name}"
        found.append(Part(str(name), round(start, 3), round(score.value, 3), words))
    return found


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
        if suite.is_hidden:
            yield "Hidden", _on_hidden(data)
        if data.revision:
            yield "Revision", clean(data.revision, 64)
        if data.sha256:
            yield "Salted SHA-256" if suite.is_hidden else "SHA-256", clean(data.sha256, 64)
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


def _evidence(suite: SuiteResult) -> str:
    """Return the evidence for a validity mark, and the version of the suite it is for."""
    about = suite.about
    if about is None:
        return "The evidence for it is not known here, because the suite is not installed."
    words = clean(str(about.scope.get("validity_evidence", "")), CARD_TEXT)
    validity = str(about.scope.get("validity", suite.validity))
    if validity != suite.validity or about.version != suite.version:
        words += f" (Scope card of version {clean(about.version, 20)}"
        words += f", which says {clean(validity, 20)}.)"
    return words


def _card(scope: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for name, content in list(scope.items())[:CARD_FIELDS]:
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


def _texts(item: Item) -> Sequence[Fact]:
    return [(clean(k, 40), clean(v, 500)) for k, v in list(item.texts.items())[:ROLES]]
