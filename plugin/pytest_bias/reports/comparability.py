"""Whether two results of a suite can be compared, and why not."""

from typing import Final

from pytest_bias.errors import UnknownName
from pytest_bias.models.interface import Capability
from pytest_bias.records.identity import AnswersIdentity
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.scoring import statistics
from pytest_bias.scoring.scores import statistics_of
from pytest_bias.settings.settings import asked_as
from pytest_bias.suites.catalogue import Catalogue
from pytest_bias.suites.choice_rules import AnswerStatus

PROMPTED: Final = frozenset({Capability.GENERATE, Capability.CHOOSE})
"""Capabilities whose inputs depend on chat template and system text."""


def why_not(
    suite: SuiteResult | None,
    other: SuiteResult | None,
    current: Report,
    baseline: Report,
    catalogue: Catalogue,
) -> str | None:
    """Return why two results of a suite cannot be compared, and what to do; None if they can."""
    if other is None:
        return "the baseline did not measure it; measure the baseline again with this suite"
    if suite is None:
        return "only the baseline measured it; measure the model again with this suite"
    if other.status != "scored":
        return f"in the baseline it is {other.status.replace('_', ' ')}"
    if suite.status != "scored":
        return f"it is {suite.status.replace('_', ' ')} now"
    if told := _other_source(current.model.answers_from, baseline.model.answers_from):
        return told
    pairs = (
        ("another version of the suite", suite.version, other.version),
        ("another measure", suite.measure, other.measure),
        ("another scorer", _scored_by(suite), _scored_by(other)),
        ("another kind of model", current.model.kind, baseline.model.kind),
        ("other data", suite.data and suite.data.sha256, other.data and other.data.sha256),
    )
    for what, ours, theirs in pairs:
        if ours != theirs:
            return f"{what} ({theirs}, now {ours}); measure the baseline again"
    if suite.is_hidden and not (suite.records and other.records):
        return (
            "it is hidden, so no report has its records; with --baseline MODEL both are measured "
            "in one run and compared item by item"
        )
    if not suite.records or not other.records:
        return "the records are missing; both reports need their records folder"
    ours_items = {r.item: r.text_sha256 for r in suite.records}
    theirs_items = {r.item: r.text_sha256 for r in other.records}
    if ours_items != theirs_items:
        if only := len(ours_items.keys() ^ theirs_items.keys()):
            return (
                f"another set of items ({only} are in one report only); measure both with the same "
                "--profile and --seed, without --budget"
            )
        other_texts = sum(theirs_items[item] != text for item, text in ours_items.items())
        return f"{other_texts} items have another text; measure the baseline again"
    if unknown := not_known(suite, catalogue):
        return unknown
    return _other_setting(suite, current, baseline, catalogue)


def _other_source(now: AnswersIdentity | None, before: AnswersIdentity | None) -> str | None:
    """Return why answers of a log are compared with answers that were got in another way."""
    if now is None and before is None:
        return None
    if now is None or before is None:
        was, are = ("a run", "a log of answers") if now else ("a log of answers", "a run")
        return (
            f"{was} before, {are} now: they were asked in other ways; compare two runs, or the "
            "scores of two logs"
        )
    if (now.orders, now.read) != (before.orders, before.read):
        was, are = (_asked_in(a) for a in (before, now))
        return f"questions asked in {was} before, in {are} now; their positions count differently"
    return None


def _asked_in(about: AnswersIdentity) -> str:
    orders = {"every": "every order of the options", "some": "one or some orders of the options"}
    words = orders.get(about.orders, "an unknown order of the options")
    return f"{words}, read by log-likelihoods of {about.read}" if about.read else words


def _scored_by(suite: SuiteResult) -> str | None:
    """Name the classifier that scored the texts, with everything that its scores depend on."""
    if suite.scorer is None:
        return None
    about = suite.scorer
    version = about.weights_sha256 or about.revision or "no digest"
    labels = "/".join(sorted(suite.labels.values()))
    return f"{about.reference} {version[:7]} {labels}"


def _other_setting(
    suite: SuiteResult, current: Report, baseline: Report, catalogue: Catalogue
) -> str | None:
    """Return which setting made the suite ask the model in another way."""
    measure = catalogue.find(suite.name).measure_named(suite.measure or "")
    if measure.needs.isdisjoint(PROMPTED):
        return None
    before, now = (r.settings.get("chat", "off") for r in (baseline, current))
    if before != now:
        return f"chat {before}, now {now}; measure both with --chat {now}"
    asked, asks = (asked_as(r.settings) for r in (baseline, current))
    if asked["system"] != asks["system"]:
        return "another system text; measure both with the same --system"
    reads_options = any(s.metric == AnswerStatus.ANSWERED for s in suite.scores)
    greedy, is_greedy = (r["answer_samples"] == 1 for r in (asked, asks))
    if reads_options and greedy != is_greedy:
        how = "decoded greedily", "sampled"
        return (
            f"answers {how[not greedy]}, now {how[not is_greedy]}; measure both with "
            f"--answer-samples {asks['answer_samples']}"
        )
    return None


def not_known(suite: SuiteResult, catalogue: Catalogue) -> str | None:
    """Return why the installed suite cannot interpret the records of a report."""
    try:
        installed = catalogue.find(suite.name)
        known = {m.name for m in installed.measure_named(suite.measure or "").metrics}
    except UnknownName as error:
        return error.message
    if suite.version != installed.version:
        return (
            f"both are of version {suite.version} of the suite, {installed.version} is installed; "
            "measure both again"
        )
    unknown = sorted({s.metric for s in suite.scores} - known)
    return f"the installed suite has no metric {unknown[0]}" if unknown else None


def note_on(
    suite: SuiteResult, other: SuiteResult, current: Report, baseline: Report
) -> str | None:
    """Return what makes the change of a result less certain, or None."""
    notes = []
    if current.model.dtype != baseline.model.dtype:
        notes.append(f"{baseline.model.dtype} before, {current.model.dtype} now")
    version = statistics_of(baseline)
    if version != statistics.VERSION:
        again = f"the records of before are scored with statistics {statistics.VERSION}"
        notes.append(f"{again}, not {version}: its intervals and p-values may be others")
    for result, when in ((other, "before"), (suite, "now")):
        if (score := result.headline) and score.value is None:
            notes.append(f"no headline {when}: {score.note or score.interval_reason}")
    return "; ".join(notes) or None


def asks_for_texts(suite: SuiteResult, catalogue: Catalogue) -> bool:
    """Whether the measure of a result has the model generate texts."""
    measure = catalogue.find(suite.name).measure_named(suite.measure or "")
    return Capability.GENERATE in measure.needs
