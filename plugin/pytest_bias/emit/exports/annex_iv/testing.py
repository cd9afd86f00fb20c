"""Point 2 (g): validation and testing, with the data, metrics, results and logs of the tests."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pytest_bias.emit.absence import not_run
from pytest_bias.emit.bounds import LISTED, NAME, NUMBER
from pytest_bias.emit.exports.annex_iv.document import (
    Block,
    Command,
    Heading,
    Listing,
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
    metric,
    remark,
    scores_table,
)
from pytest_bias.emit.exports.rows import outcomes
from pytest_bias.emit.floors import legend
from pytest_bias.emit.marks import marks
from pytest_bias.emit.verdict import BECAUSE, because, decided, word
from pytest_bias.emit.wording import (
    beside_headline,
    count,
    counted,
    date,
    ideal,
    not_published,
    on_scorer,
    sample,
    suite_label,
)
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.decision import Outcome

RESULTS: Final = {
    "Accuracy: general quality of the model": ("quality",),
    "Robustness": ("robustness",),
    "Potentially discriminatory impacts, of the model itself (intrinsic)": ("intrinsic",),
    "Potentially discriminatory impacts, of an application (downstream)": ("downstream",),
    "Structure: whether the model works as its files say": ("structure",),
}
"""Captions of the tables of results, in the order of the point, to kinds of suites."""

READ: Final = (
    "A value is read against its ideal: what counts is the distance, in both directions. The "
    "interval says how far the value would move with other items of the same kind, for this model. "
    "n is the number of scored items."
)
LIMITS: Final = 100
SETTINGS: Final = {
    "requested": "Suites asked for",
    "profile": "Profile",
    "seed": "Seed",
    "level": "Confidence level",
    "resamples": "Resamples of an interval",
    "chat": "Chat template",
}
"""Titles of settings; others are named after their keys."""


def testing(source: Source) -> tuple[Block, ...]:
    """Return procedures, data, metrics with results, limits, logs and responsible persons."""
    return (
        Heading("Procedures"),
        *_procedures(source),
        Heading("Test data and their main characteristics"),
        *_data(source),
        Heading("Metrics and results"),
        *_results(source),
        Heading("Suites without a score here"),
        *_without(source),
        *_limits(source),
        Heading("Test logs"),
        *_logs(source),
        Heading("Responsible persons"),
        *_persons(source),
    )


def unsigned(source: Source) -> tuple[Missing, ...]:
    """Return the names or the signatures that are missing."""
    people = source.context.responsible
    if not people:
        return (
            Missing("the responsible persons with their roles", "responsible"),
            Missing("the date and the signature of each responsible person"),
        )
    return tuple(Missing(f"the date and the signature of {words(p.name, NAME)}") for p in people)


def _procedures(source: Source) -> Iterator[Block]:
    report = source.report
    yield Text(
        "Every suite asks the model about fixed items and computes its scores from what was "
        "recorded for each; without the model they can be computed again. Point 4 says what each "
        "suite measures."
    )
    found = [
        (SETTINGS.get(name, words(name.replace("_", " ").capitalize(), NAME)), _setting(content))
        for name, content in list(report.settings.items())[:LISTED]
    ]
    languages = ("Languages", _setting(report.coverage.get("languages", [])))
    yield from facts(("Measured on", date(report) or "no date"), *found, languages)
    if report.run.get("interrupted"):
        yield Text("The run was interrupted: what it did not reach has no score.")
    if stopped := report.run.get("stopped"):
        yield Text(f"The run was stopped: {words(without_own_paths(str(stopped)), 300)}")
    if report.notices:
        yield Text("Notices of the run:")
        yield Listing(tuple(words(without_own_paths(n), 400) for n in report.notices[:LISTED]))


def _data(source: Source) -> Iterator[Block]:
    measured = [s for s in source.report.suites if s.status in ("scored", "withheld")]
    rows = [_of_data(suite) for suite in measured if suite.data]
    if not rows:
        yield Text("No suite was measured, so no test data were used.")
        return
    head = ("Suite", "Source", "Licence", "Items", "Language and culture", "Origin")
    yield table("Data of each suite that was measured", head, rows, most=SUITES)


def _of_data(suite: SuiteResult) -> tuple[str, ...]:
    data = suite.data
    assert data is not None, "asked for before"
    source = words(data.source, 200) + (" (the user's own copy)" if data.local else "")
    if data.revision:
        source += f", revision {words(data.revision, 64)}"
    items = "hidden" if suite.is_hidden else sample(suite) or counted(data.n_items)
    return (
        words(suite_label(suite), NAME),
        source,
        words(data.licence, NAME),
        items,
        "; ".join(filter(None, (words(suite.language, 20), card(suite, "variety_and_culture")))),
        "; ".join(filter(None, (card(suite, "data_origin"), card(suite, "made_by")))),
    )


def _results(source: Source) -> Iterator[Block]:
    yield Text(READ)
    yield from (Text(words(line, 600)) for line in not_published(source.report))
    found: list[Score] = []
    for caption, kinds in RESULTS.items():
        rows = [row for s in source.shown if s.kind in kinds for row in _of_suite(source, s)]
        if rows:
            found += [score for _, score in rows]
            yield scores_table(caption, rows, "Suite and metric")
    if floors := legend(found):
        yield Text("Floors named in the remarks:")
        yield Listing(tuple(f"{name}: {meaning}" for name, meaning in floors))
    if not found:
        yield Text("No score is shown here.")


def _of_suite(source: Source, suite: SuiteResult) -> Iterator[tuple[tuple[str, str], Score]]:
    label = words(suite_label(suite), NAME)
    more = [f"validity {words(suite.validity, 20)}", *(words(m, 60) for m in marks(suite))]
    more += [words(on_scorer(suite), 160), *source.context.outside(suite)]
    if headline := suite.headline:
        yield (f"{label}: {metric(headline)}", remark(headline, more)), headline
    for score in beside_headline(suite):
        yield (f"{label}: {metric(score)}", remark(score)), score
    for control in source.controls(suite):
        made_from = f"control, made from {words(control.clusters, 40)}"
        for score in control.scores:
            if set(score.by) == {"control"}:
                yield (f"{label}: {metric(score)}", remark(score, [made_from])), score


def _without(source: Source) -> Iterator[Block]:
    found: dict[tuple[str, str], list[str]] = {}
    for one in source.absent:
        if one.suite.control_of is None:
            # Hints below a reason are for the person who ran it.
            why = words(without_own_paths(one.reason.partition("\n")[0]), 400)
            status = "measured" if one.suite.status == "scored" else one.suite.status
            found.setdefault((status.replace("_", " "), why), []).append(suite_label(one.suite))
    rows = [(_names(names), status, why) for (status, why), names in found.items()]
    if rows:
        yield table("Why they have none", ("Suites", "Status", "Reason"), rows)
    report = source.report
    if names := [report.known.titles.get(name, name) for name in not_run(report)]:
        yield Text(
            f"Social suites that apply to this model and have no score here: {_names(names)}."
        )
    if not rows and not names:
        yield Text("None: every suite that was asked for has a score.")


def _limits(source: Source) -> Iterator[Block]:
    decision = source.decision
    if decision is None:
        return
    yield Heading("Limits set by the project")
    yield Text(words(decided(decision).replace("`", ""), 1_000))
    rows = [_of_limit(source.report, outcome) for outcome in outcomes(source.report, decision)]
    if rows:
        head = ("Limit", "Ideal", "n", "Verdict", "Because")
        yield table("Each limit, on one score in its own unit", head, rows, (1, 2), most=LIMITS)
    if decision.problems:
        problems = decision.problems[:LISTED]
        yield Listing(tuple(words(without_own_paths(p), 300) for p in problems))


def _of_limit(report: Report, outcome: Outcome) -> tuple[str, ...]:
    metric_of = outcome.limit.partition(".")[2].partition("[")[0].strip()
    scores = [s for of in report.suites if of.entry == outcome.entry for s in of.scores]
    ideals = {ideal(score) for score in scores if score.metric == metric_of}
    return (
        words(outcome.limit, 120),
        ideals.pop() if len(ideals) == 1 else "–",
        count(outcome.n) if outcome.n is not None else "–",
        word(outcome),
        words(because(outcome), BECAUSE),
    )


def _logs(source: Source) -> Iterator[Block]:
    report = source.report
    yield Text(
        "The log of the tests is report.json, with one row for each item in the files of records "
        "beside it. Their digests:"
    )
    yield from facts(
        ("Report, dated", words(str(report.run.get("created", "")), NUMBER) or "no date"),
        ("Report, digest", words(report.digest, 80)),
        ("Version of pytest-bias", words(str(report.tool.get("version", "")), NUMBER)),
    )
    rows = [
        (words(s.records_path, 160), words(s.records_sha256, 64))
        for s in report.suites
        if s.records_sha256 and not s.is_hidden
    ]
    if rows:
        yield table(
            "Digests of the records: of their contents, in any order, not of the files",
            ("File", "SHA-256"),
            rows,
            most=SUITES,
        )
    yield Text("These commands check them, and measure again:")
    yield Command("pytest-bias verify DIR")
    yield Command("pytest-bias reproduce DIR")


def _persons(source: Source) -> Iterator[Block]:
    people = source.context.responsible
    if not people:
        yield Text("No responsible person is stated.")
        return
    rows = [
        (words(p.name, NAME), words(p.role, NAME) or "not stated", "missing", "missing")
        for p in people
    ]
    head = ("Name", "Role", "Date", "Signature")
    yield table("Responsible for the tests, as stated by the provider", head, rows)


def _names(names: Sequence[str]) -> str:
    left = len(names) - LISTED
    shown = [words(name, NAME) for name in names[:LISTED]]
    return ", ".join([*shown, *([f"and {count(left)} more in report.json"] if left > 0 else [])])


def _setting(content: Any) -> str:
    if isinstance(content, list | tuple):
        return words(", ".join(map(str, content[:LISTED]))) or "those that apply"
    if isinstance(content, dict):
        return words(", ".join(f"{k}: {v}" for k, v in list(content.items())[:LISTED]))
    return words(str(content))
