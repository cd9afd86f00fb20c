"""What a decision says, in one sentence, in every output alike."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pytest_bias.limits import EXIT_OK, Decision

STATUS_SENTENCES: Final[Mapping[str, str]] = {
    "measured": "Measured; this project sets no limits.",
    "held": "Every limit of this project is held.",
    "undecided": "No limit is exceeded, but not all are decided.",
    "exceeded": "A limit of this project is exceeded.",
    "no-baseline": "There is no baseline to hold the limits on regression against.",
    "could-not-measure": "Not everything could be measured.",
}
"""What a decision says, by its status."""


def decided(decision: Decision | None) -> str:
    """Return the sentence of a decision; limits that nobody decided on are never passed over."""
    if decision is None:
        return ""
    if n := len(decision.missing):
        # Whoever reads one sentence reads that something is missing.
        allowed = "" if set(decision.missing) & set(decision.problems) else ", which is allowed"
        lacking = f"The data of {n} suite{'s' if n > 1 else ''} could not be had{allowed}."
        return f"{lacking} {decided(replace(decision, missing=()))}"
    unknown = [o for o in decision.outcomes if o.verdict == "undecided"]
    if not unknown or decision.exit_code != EXIT_OK:
        return STATUS_SENTENCES[decision.status]
    n, of = len(unknown), len(decision.outcomes)
    return (
        f"UNDECIDED: {n} of {of} limits, which did not stop this run; nothing says that they are "
        "held. With `undecided: fail` a limit stops it."
    )
