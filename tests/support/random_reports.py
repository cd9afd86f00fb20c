"""Random reports in every state, and decisions on them, for properties of everything that is shown.

`cases` draws a report as it may be handed on, with the decision on random limits, and what must not
be told. What is drawn could have been read from a file: `Report.from_json` accepts it.
"""

from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from hypothesis import strategies as st

from made import HOSTILE, VERSIONS
from pytest_bias.emit.wording import KINDS
from pytest_bias.records.identity import (
    AdapterIdentity,
    ApplicationIdentity,
    ModelIdentity,
    ScorerIdentity,
    ServedIdentity,
)
from pytest_bias.records.report import DataInfo, Report, SuiteResult
from pytest_bias.records.score import NO_GROUP, Score, Spread
from pytest_bias.reports.decision import Decision
from pytest_bias.reports.limits import Limit, decide
from pytest_bias.reports.withholding import withheld, without_numbers
from pytest_bias.scoring.statistics import VERSION
from pytest_bias.settings.waivers import Waiver
from pytest_bias.suites.about import with_about

SALT: Final = "5a" * 32
TODAY: Final = date(2026, 12, 1)

FORMULAS: Final = ("=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "\r=1", "'=1", ";", ",", '"', "\n")
"""Texts that a spreadsheet may run, or that break a row of a table."""

TEXTS: Final = st.one_of(
    st.sampled_from(
        (*HOSTILE.values(), *FORMULAS, "religion", "women", NO_GROUP, "", "x" * 10_000)
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
"""Untrusted text of any kind that a record may hold; no lone surrogates, which no file holds."""

NAMES: Final = st.one_of(
    st.sampled_from(("own_pairs", "a.b-c+d", "9", "\N{CJK UNIFIED IDEOGRAPH-8A9E}", "x" * 99)),
    st.text("aZ09_\N{LATIN SMALL LETTER E WITH ACUTE}", min_size=1, max_size=8),
)
"""Names of suites and configurations: words, of any language."""

NUMBERS: Final = st.one_of(
    st.floats(-200, 200),
    st.sampled_from((0.0, -0.0, 50.0, 100, 1 / 3, 0.1 + 0.2, 1e300, -1e300, 5e-324, 1e16, 2**53)),
)
"""Finite numbers; those of a file may be whole numbers too."""

UNTOLD: Final = st.integers(71_000_000, 71_999_999).map(lambda n: n + 0.0625)
"""Numbers that stand nowhere else, so that a text that holds one has told it, rounded too."""

SELDOM: Final = st.integers(0, 5).map(lambda n: n == 3)
OFTEN: Final = st.sampled_from((True, True, True, False))
DIGESTS: Final = st.sampled_from(("a", "b", "0")).map(lambda c: c * 64)
COUNTS: Final = st.one_of(st.integers(0, 3000), st.just(10**12))


def maybe(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for a value that may be missing."""
    return st.none() | of


@dataclass(frozen=True)
class Case:
    """A report as it may be handed on, its decision, and what is in neither of them to be told.

    Parameters
    ----------
    report : Report
        Possibly withheld, possibly with hidden suites.
    decision : Decision or None
        On random limits; as it is written beside the report.
    untold : tuple of float
        Values, ends of intervals and p-values that were withheld, or belong to hidden items.
    """

    report: Report
    decision: Decision | None
    untold: tuple[float, ...] = ()

    def told(self, text: str) -> list[str]:
        """Return what must not be told and is in a text: as a number, rounded or in full."""
        digits = (str(int(u)) if u > 1 else repr(u) for u in self.untold)
        return [n for n in digits if len(n) > 7 and n in text]


@st.composite
def scores(
    draw: st.DrawFn, number: st.SearchStrategy[float] = NUMBERS, *, headline: bool = False
) -> Score:
    """Draw a score; `number` draws its values, the headline is of no group."""
    value = draw(number if headline else maybe(number))
    interval = None
    if value is not None and draw(OFTEN):
        near = st.sampled_from((0.0, 0.25, 2.5)).map(lambda width: value + width)
        interval = tuple(sorted((value, draw(number if number is UNTOLD else number | near))))
    p_value = draw(maybe(number)) if value is not None else None
    p_value = None if p_value is None else abs(p_value) / (1 + abs(p_value))
    by = {} if headline else draw(st.dictionaries(TEXTS, TEXTS, max_size=3))
    return Score(
        metric=draw(st.sampled_from(("stereotype_preference", "own_metric")) | TEXTS),
        value=value,
        ideal=draw(st.sampled_from((50, 0.0, 1, 100.0, -3.5))),
        bounds=draw(st.sampled_from(((0, 100), (None, None), (0.0, None), (None, 2), (-2, 2)))),
        unit=draw(st.sampled_from(("%", "points", "d", "nats", "")) | TEXTS),
        tolerance=draw(st.sampled_from((0, 0.5, 1e-9))),
        by=by,
        headline=headline,
        beside=not headline and draw(st.booleans()),
        interval=interval,
        interval_reason=None if interval else draw(maybe(TEXTS)),
        level=draw(st.sampled_from((0.95, 0.95, 0.95, 0.99))),
        method=draw(maybe(st.sampled_from(("wilson", "bootstrap")))) if interval else None,
        seed=draw(maybe(st.just("0f"))),
        floor=draw(maybe(number)),
        floor_of=draw(maybe(st.sampled_from(("guessing", "shuffled labels", "wording alone")))),
        spread=draw(maybe(st.builds(Spread, TEXTS, COUNTS, number, number, number))),
        n=draw(COUNTS),
        n_unscored=draw(COUNTS),
        n_excluded=draw(COUNTS),
        n_clusters=draw(COUNTS),
        factors=draw(st.dictionaries(TEXTS, COUNTS, max_size=1)),
        held_fixed=draw(st.dictionaries(TEXTS, COUNTS, max_size=1)),
        test=draw(maybe(st.just("exact sign test"))) if p_value is not None else None,
        p_value=p_value,
        p_adjusted=None if p_value is None else draw(maybe(st.just(p_value))),
        p_reason=draw(maybe(TEXTS)) if p_value is None else None,
        family=draw(maybe(st.sampled_from(("decision", "suite", "exploratory")))),
        note=draw(maybe(TEXTS)),
    )


@st.composite
def suites(draw: st.DrawFn, name: str, config: str, *, untold: bool = False) -> SuiteResult:
    """Draw the result of a suite in any state; if its numbers are `untold`, it was measured."""
    states = ("not_applicable", "skipped", "unavailable", "inconclusive", "error")
    status = draw(st.sampled_from(("scored",) * 5 + states)) if not untold else "scored"
    number = UNTOLD if untold else NUMBERS
    found: list[Score] = []
    if status == "scored":
        found += [draw(scores(number, headline=True))] if draw(OFTEN) else []
        found += draw(st.lists(scores(number), max_size=3))
    elif status == "inconclusive" and draw(st.booleans()):
        found += [replace(draw(scores(headline=True)), value=None, interval=None, p_value=None)]
    # A report has no two scores of one metric for one group.
    unique = {(s.metric, tuple(sorted(s.by.items()))): s for s in found}
    n_available = draw(maybe(COUNTS))
    return SuiteResult(
        name=name,
        config=config,
        version=draw(st.just(VERSIONS.get(name, "1")) | TEXTS),
        kind=draw(st.sampled_from(tuple(KINDS))),
        status=status,
        title=draw(TEXTS),
        language=draw(st.sampled_from(("en", "de", "", "zh-Hant"))),
        reason=draw(maybe(TEXTS)) if status != "scored" else None,
        measure=draw(maybe(TEXTS)),
        adapted=draw(st.booleans()),
        draft=draw(st.booleans()),
        validity=draw(st.sampled_from(("contested", "partial", "supported"))),
        clusters=draw(st.sampled_from(("pairs", "items"))),
        control_of=draw(maybe(st.just("en"))),
        scorer=draw(maybe(st.builds(ScorerIdentity, TEXTS, TEXTS, maybe(DIGESTS)))),
        labels=draw(st.dictionaries(TEXTS, TEXTS, max_size=1)),
        sampled=None if n_available is None else draw(st.integers(0, n_available)),
        n_available=n_available,
        data=draw(maybe(_data())),
        scores=tuple(unique.values()),
        records_sha256="0" * 64 if status == "scored" else None,
    )


def _data() -> st.SearchStrategy[DataInfo]:
    return st.builds(
        DataInfo,
        source=TEXTS,
        licence=TEXTS,
        revision=maybe(TEXTS),
        sha256=maybe(DIGESTS),
        n_items=COUNTS,
        local=st.booleans(),
        items_sha256=maybe(DIGESTS),
    )


@st.composite
def models(draw: st.DrawFn) -> ModelIdentity:
    """Draw a checkpoint, with an adapter or without; a served model; or an application."""
    kind = draw(st.sampled_from(("checkpoint", "adapter", "served", "application")))
    reference = draw(TEXTS)
    architecture = draw(st.sampled_from(("BertForMaskedLM", "LlamaForCausalLM")) | TEXTS)
    if kind == "served":
        served = ServedIdentity(
            *("openai", draw(TEXTS), draw(maybe(st.just("prompt"))), "c" * 64),
            owned_by=draw(maybe(TEXTS)),
            max_length=draw(maybe(COUNTS)),
        )
        return ModelIdentity(reference, "causal", "served", dtype="unknown", served=served)
    if kind == "application":
        application = ApplicationIdentity(
            "d" * 64,
            module=draw(maybe(TEXTS)),
            function=draw(maybe(TEXTS)),
            url=draw(maybe(st.just("https://example.org/ask"))),
        )
        return ModelIdentity(
            *(reference, "application", "application"), dtype="unknown", application=application
        )
    adapter = None
    if kind == "adapter":
        adapter = draw(st.builds(AdapterIdentity, TEXTS, maybe(DIGESTS), DIGESTS, DIGESTS))
    return ModelIdentity(
        *(reference, draw(st.sampled_from(("masked", "causal", "encoder"))), architecture),
        parameters=draw(maybe(COUNTS)),
        revision=draw(maybe(st.just("ab" * 20) | TEXTS)),
        weights_sha256=draw(DIGESTS),
        config_sha256=draw(maybe(DIGESTS)),
        tokenizer_sha256=draw(maybe(DIGESTS)),
        base_model=draw(TEXTS) if adapter else draw(maybe(TEXTS)),
        adapter=adapter,
    )


ENTRY: Final = st.tuples(
    st.sampled_from(("crows_pairs", "seat", "honest", "bbq")) | NAMES,
    st.sampled_from(("en", "all", "en-gender")) | NAMES,
)
ENTRIES: Final = st.sampled_from((0, 1, 1, 2, 3)).flatmap(
    lambda n: st.lists(ENTRY, min_size=n, max_size=n, unique=True)
)


@st.composite
def cases(draw: st.DrawFn, *, decided: bool | None = None) -> Case:
    """Draw a report with the decision on it.

    Parameters
    ----------
    decided : bool, optional
        Whether there is a decision; by default there may be one.
    """
    withholds = draw(SELDOM)
    found, secret = [], []
    for name, config in draw(ENTRIES):
        hidden = draw(SELDOM)
        suite = draw(suites(name, config, untold=withholds or hidden))
        if hidden:
            told = {"visibility": "hidden", "least": 10, "groups_left_out": draw(COUNTS)}
            data = DataInfo("hidden items", "none", sha256="e" * 64, **told)
            suite = replace(suite, data=data)
        found.append(suite)
        secret += _numbers(suite) if withholds or hidden else []
    report = Report(
        tool={"name": "pytest-bias", "version": "0.1.0", "statistics_version": VERSION},
        model=draw(models()),
        settings={
            **{"requested": [s.name for s in found], "profile": "standard"},
            **{"seed": 0, "level": 0.95},
        },
        suites=tuple(found),
        coverage={
            "languages": ["en"],
            "social_suites": sorted({s.name for s in found}),
            "capabilities": [],
        },
        run=draw(_runs()),
    )
    decision = None
    if decided or (decided is None and draw(st.booleans())):
        decision = decide(
            *(report, draw(_limits(report))),
            first_run=draw(st.booleans()),
            allow_missing_data=draw(st.booleans()),
            today=TODAY,
        )
    if withholds:
        report = withheld(report, SALT)
        decision = decision and without_numbers(decision, report)
    report = with_about(report, names_items=True)
    return Case(report, decision, tuple(secret))


def _runs() -> st.SearchStrategy[dict[str, Any]]:
    environment = {"device": "cpu", "platform": "Linux"}
    return st.fixed_dictionaries(
        {"created": st.sampled_from(("2026-11-27T12:00:00+00:00", "2026-11-27T12:00:00.123Z"))},
        optional={
            "environment": st.just(environment) | st.dictionaries(TEXTS, TEXTS, max_size=1),
            "notices": st.lists(TEXTS, max_size=2),
            "cost": st.just({"wall_s": 12.5, "model_s": 10.25, "tokens": 1234}),
            "interrupted": st.booleans(),
        },
    )


def _limits(report: Report) -> st.SearchStrategy[list[Limit]]:
    """Return a strategy for limits on scores of a report, and on some that it does not have."""
    there = [(suite, score) for suite in report.suites for score in suite.scores]
    targets = [(s.name, s.config, c.metric, dict(c.by)) for s, c in there] * 3
    targets += [(s.name, s.config, "no_such_metric", {}) for s in report.suites[:1]]
    targets += [("not_run", "en", "own_metric", {})]
    return st.lists(_limit(targets), max_size=4)


@st.composite
def _limit(draw: st.DrawFn, targets: list[Any]) -> Limit:
    suite, config, metric, by = draw(st.sampled_from(targets))
    distance = draw(st.sampled_from((0.5, 0.5, 5.0, 30.0, 1e301)))
    regression = draw(st.sampled_from((None, 2.0)))
    waiver = Waiver("", draw(TEXTS), draw(st.sampled_from((date(2026, 12, 9), date(2026, 11, 1)))))
    return Limit(
        draw(st.just(f"{suite}[{config}].{metric}") | TEXTS),
        suite=suite,
        config=config,
        metric=metric,
        by=by,
        max_distance=distance,
        max_regression=regression,
        undecided=draw(st.sampled_from(("warn", "fail"))),
        waivers=draw(st.sampled_from(((), (waiver,)))),
    )


def _numbers(suite: SuiteResult) -> list[float]:
    found: list[float | None] = []
    for s in suite.scores:
        spread = (s.spread.sd, s.spread.low, s.spread.high) if s.spread else ()
        found += [s.value, *(s.interval or ()), s.p_value, s.p_adjusted, s.floor, *spread]
    return [n for n in found if n is not None]


def numbers_of(case: Case) -> set[float]:
    """Return every number of a report and its decision, with the distances from the ideals."""
    found: set[float] = set()
    for suite in case.report.suites:
        found.update(_numbers(suite))
        found.update(n for n in (suite.sampled, suite.n_available) if n is not None)
        if suite.data:
            found.add(suite.data.n_items)
        for s in suite.scores:
            ends = (n for n in s.bounds if n is not None)
            counts = (s.n, s.n_unscored, s.n_excluded, s.n_clusters)
            found.update((s.ideal, s.tolerance, s.level, *ends, *counts))
            found.update(n for n in (s.distance, s.spread and s.spread.n) if n is not None)
            found.update((*s.factors.values(), *s.held_fixed.values()))
    for outcome in case.decision.outcomes if case.decision else ():
        ends = (*(outcome.interval or ()), *(outcome.allowed or ()))
        given = (outcome.value, outcome.level, outcome.n, outcome.n_to_decide, *ends)
        found.update(n for n in given if n is not None)
    return found
