"""A decision in words, alike in every output: its sentence, and the basis of each verdict.

Names of limits, groups and reasons are untrusted text: they appear only in `because`, cleaned, and
never in the sentence, which some outputs print unescaped.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_bias.exit_codes import EXIT_OK
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.scoring.digits import beside, edge, percent
from pytest_bias.settings.waivers import SOON, OfWaiver
from pytest_bias.untrusted import clean

VERDICTS: Final = {
    "held": "held",
    "exceeded": "EXCEEDED",
    "undecided": "undecided",
    "not_measured": "not measured",
    "no_baseline": "no baseline",
}

STATUS_SENTENCES: Final[Mapping[str, str]] = {
    "measured": "Measured; this project sets no limits.",
    "held": "Every limit of this project is held.",
    "undecided": "No limit is exceeded, but not all are decided.",
    "waived": "What this project's limits do not allow is waived.",
    "exceeded": "A limit of this project is exceeded.",
    "no-baseline": "There is no baseline to hold the limits on regression against.",
    "could-not-measure": "Not everything could be measured.",
}
"""Sentence of a decision, by its status."""

BECAUSE: Final = 700
"""Largest number of characters of `because`."""


def decided(decision: Decision | None) -> str:
    """Return a decision in sentences.

    Undecided and waived limits are always mentioned.
    """
    if decision is None:
        return ""
    return " ".join(_sentences(decision))


def _sentences(decision: Decision) -> Iterator[str]:
    if n := len(decision.missing):
        # A reader of one sentence must learn that something is missing.
        allowed = "" if set(decision.missing) & set(decision.problems) else ", which is allowed"
        yield f"The data of {n} suite{'s' if n > 1 else ''} could not be had{allowed}."
    outcomes = decision.outcomes
    waived = [o.waiver for o in outcomes if o.waiver and o.is_waived]
    unknown = [o for o in outcomes if o.verdict == "undecided" and not o.is_waived]
    passes = decision.exit_code == EXIT_OK
    if not passes or not (waived or unknown):
        yield STATUS_SENTENCES[decision.status]
    if unknown and passes:
        yield (
            f"UNDECIDED: {len(unknown)} of {len(outcomes)} limits, which did not stop this run; "
            "nothing says that they are held. With `undecided: fail` a limit stops it."
        )
    if waived:
        first = min(waived, key=lambda w: w.days_left)
        until = f"until {first.until}" if len(waived) == 1 else f"the first until {first.until}"
        yield f"WAIVED: {len(waived)} of {len(outcomes)} limits, {until}{_soon(first)}."
    for state, words in (("expired", "have expired"), ("unneeded", "are not needed any more")):
        if n := sum(o.waiver is not None and o.waiver.state == state for o in outcomes):
            yield f"Waivers that {words}: {n}."
    if n := len(decision.without_value):
        suites = "suite" if n == 1 else "suites"
        yield f"{n} {suites} measured without a value; the report says why."


def _soon(waiver: OfWaiver) -> str:
    if waiver.days_left > SOON:
        return ""
    days = {0: "today", 1: "tomorrow"}.get(waiver.days_left, f"in {waiver.days_left} days")
    return f", which ends {days}"


def word(outcome: Outcome) -> str:
    """Return a limit's verdict in a word, and whether it is waived."""
    return f"{VERDICTS[outcome.verdict]}{', waived' if outcome.is_waived else ''}"


def sentence(outcome: Outcome) -> str:
    """Return the outcome of a limit as a self-contained sentence."""
    return f"{outcome.limit} is {word(outcome)}: {because(outcome)}"


def because(outcome: Outcome) -> str:
    """Return the basis of a limit's verdict in one line, with its waiver."""
    parts = []
    allowed = [end for end in outcome.allowed or () if end is not None]
    if outcome.value is not None:
        ends = outcome.interval or ()
        at, *interval = beside([outcome.value, *ends], allowed)
        what = "further from the ideal by" if outcome.rule == "max_regression" else "measured"
        level = f", {percent(outcome.level)}" if outcome.level else ""
        parts.append(f"{what} {at}")
        if interval:
            parts[-1] += f" ({' to '.join(interval)}{level})"
    if outcome.allowed:
        low, high = outcome.allowed
        words = [*([f"from {edge(low)}"] if low is not None else [])]
        words += [*([f"up to {edge(high)}"] if high is not None else [])]
        parts.append(f"allowed {' '.join(words)}")
    if outcome.reason:
        parts.append(clean(outcome.reason))
    if outcome.n_to_decide:
        parts.append(f"about {outcome.n_to_decide:,} items would decide")
    if outcome.waiver:
        parts.append(_of_waiver(outcome.waiver))
    return "; ".join(parts)


def _of_waiver(waiver: OfWaiver) -> str:
    until = clean(waiver.until, 10)
    said = {
        "waives": f"waived until {until}{_soon(waiver)}",
        "expired": f"its waiver has expired, it ended with {until}",
        "unneeded": f"its waiver (until {until}) is not needed and can go",
        "idle": f"its waiver (until {until}) is for an excess and changes nothing here",
    }
    return f"{said[waiver.state]}: {clean(waiver.reason)}"
