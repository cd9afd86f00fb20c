"""Hand-made scores, records, results and reports."""

from collections.abc import Sequence
from typing import Any

from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import (
    DataInfo,
    Record,
    Report,
    SuiteResult,
    items_digest,
    records_digest,
)
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.scoring.statistics import VERSION, Estimate
from pytest_bias.settings.waivers import OfWaiver
from pytest_bias.suites.about import with_about
from pytest_bias.suites.catalogue import installed

HOSTILE = {
    "markup": 'a"><script>alert(1)</script>',
    "cdata": "]]><!--",
    "control": "a\x00b\x1b[31mc\x08\x7f\x9f",
    "placeholder": "{{ value }} {{ title }} {{{ label }}}",
    "direction": "abc\N{RIGHT-TO-LEFT OVERRIDE}fed\N{LEFT-TO-RIGHT ISOLATE}",
    "emoji": "\N{GRINNING FACE}\N{ZERO WIDTH JOINER}\N{WAVING WHITE FLAG}",
    "long": "x" * 300,
    "newlines": "a\r\nb\nc\u2028d\te",
    "entity": "&lt;b&gt; &amp; &#65; ' \"",
    "template": "{% raw %}${{ secrets.X }} $(id) `id`",
}
"""Texts that a model's name, a suite's title or a label could hold."""


VERSIONS = {suite.name: suite.version for suite in installed()}
"""Of the installed suites, since other versions cannot be compared."""


def score(metric: str = "stereotype_preference", value: float | None = 60.48, **more: Any) -> Score:
    """Return a score, by default that of CrowS-Pairs in the design."""
    defaults: dict[str, Any] = {
        "ideal": 50,
        "bounds": (0, 100),
        "unit": "%",
        "tolerance": 0.5,
        "headline": True,
        "interval": (57.99, 62.92),
        "method": "wilson",
        "n": 1508,
        "n_clusters": 1508,
    }
    return Score(metric=metric, value=value, **defaults | more)


def mean_effect(**more: Any) -> Score:
    """Return a size without a sign, which has a floor and no interval."""
    about = {"unit": "d", "interval": None, "floor": 0.25, "floor_of": "shuffled labels"}
    return score("mean_absolute_effect", 0.62, ideal=0, **about | more)


def record(item: str, value: float | None = 1.0, **more: Any) -> Record:
    """Return a scored record; other outcomes by `status`."""
    defaults: dict[str, Any] = {"cluster": item, "status": "scored"}
    return Record(item=item, value=value, **defaults | more)


def unscored(item: str, reason: str = "empty text", **more: Any) -> Record:
    """Return a record without a value."""
    return record(item, None, **{"status": "unscored", "reason": reason} | more)


def result(
    name: str = "crows_pairs",
    config: str = "en",
    scores: Sequence[Score] = (),
    records: Sequence[Record] = (),
    **more: Any,
) -> SuiteResult:
    """Return a measured suite; its records are digested."""
    no_records = "0" * 64 if more.get("status", "scored") == "scored" else None
    defaults: dict[str, Any] = {
        "version": VERSIONS.get(name, "1"),
        "kind": "intrinsic",
        "status": "scored",
        "title": "CrowS-Pairs",
        "language": "en",
        "records_sha256": records_digest(records) if records else no_records,
        "data": DataInfo(
            *("nyu-mll/crows_pairs", "CC-BY-SA-4.0", None, "1" * 64, 1508),
            items_sha256=items_digest(records) if records else "2" * 64,
        ),
    }
    return SuiteResult(
        name=name, config=config, scores=tuple(scores), records=tuple(records), **defaults | more
    )


def report(*suites: SuiteResult, model: str = "org/name", **more: Any) -> Report:
    """Return a report of these suites, dated as in the design."""
    defaults: dict[str, Any] = {
        "tool": {"name": "pytest-bias", "version": "0.1.0", "statistics_version": VERSION},
        "model": ModelIdentity(
            *(model, "masked", "BertForMaskedLM", 4_416_698),
            weights_sha256="a" * 64,
            config_sha256="b" * 64,
            tokenizer_sha256="c" * 64,
        ),
        "settings": {"requested": [], "profile": "standard", "seed": 0, "level": 0.95},
        "coverage": {
            "languages": ["en"],
            "social_suites": sorted(
                {s.name for s in suites if s.kind not in ("structure", "quality")}
            ),
        },
        "run": {"created": "2026-11-27T12:00:00+00:00", "environment": {"device": "cpu"}},
    }
    return with_about(Report(suites=suites, **defaults | more), names_items=True)


def endless(n: int = 2000, length: int = 10_000) -> Report:
    """Return a report with more suites, groups, notices and longer names than any has."""
    name = "&" * length
    groups = [
        score(name, 55.5, by={name: f"{i}{name}"}, headline=False, unit=name, note=name)
        for i in range(300)
    ]
    kinds = ("intrinsic", "downstream", "robustness")
    scored = [
        result(
            f"suite{i}",
            "en",
            [score(name, 1e300, interval=(-1e300, 1e300), unit=name, floor=1e300, n=10**400)]
            + (groups if i < 30 else []),
            kind=kinds[i % 3],
            title=f"{i}{name}",
            validity=name,
            clusters=name,
            adapted=True,
            sampled=10**400,
        )
        for i in range(n)
    ]
    others = [
        result(f"other{i}", "en", status="error", reason=f"{i}{name}", title=name) for i in range(n)
    ]
    spent = {"wall_s": 10**300, "model_s": 1e300, "tokens": 10**400}
    return report(
        *scored,
        *others,
        model=name,
        tool={"name": name, "version": name},
        settings={f"{i}{name}": [name] * 100 for i in range(100)} | {"seed": 0},
        coverage={"social_suites": [f"{i}{name}" for i in range(n)], "languages": [name] * n},
        run={
            "created": name,
            "notices": [name] * n,
            "environment": {f"{i}{name}": {name: name} for i in range(100)},
            "cost": spent,
        },
        sealed=name,
    )


def endless_comparison(current: Report) -> Comparison:
    """Return a comparison that is as long."""
    name, huge = "&" * 10_000, Estimate(1e300, (-1e300, 1e300))
    suites = []
    for i, suite in enumerate(current.suites):
        moved = tuple(
            Change(s, s, huge, huge, huge, "crossed", n=10**400, n_changed=10**9, items=(name,) * 9)
            for s in suite.scores
        )
        suites.append(
            SuiteComparison(suite.entry, name, moved, note=name)
            if i % 2
            else SuiteComparison(f"{i}{name}", name, reason=name)
        )
    return Comparison(current, current, tuple(suites))


def endless_decision(n: int = 2000) -> Decision:
    """Return a decision on as many limits, the last of which is exceeded."""
    name = "&" * 10_000
    unneeded, idle = (OfWaiver(name, name, 10**400, state) for state in ("unneeded", "idle"))
    more = {"value": 1e300, "interval": (-1e300, 1e300), "reason": name}
    held = [Outcome(name, "max_distance", "held", name, **more, waiver=unneeded)] * n
    exceeded = Outcome(
        *("the one that counts", "max_distance", "exceeded", name), **more, waiver=idle
    )
    return Decision("exceeded", 1, (*held, exceeded), (name,) * n, name)
