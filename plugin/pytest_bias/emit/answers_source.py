"""Where the answers of a report come from, where no model was run; all texts are untrusted."""

from typing import Final

from pytest_bias.records.identity import AnswersIdentity, ModelIdentity
from pytest_bias.untrusted import clean

FORMATS: Final = {
    "inspect": "Inspect",
    "lm-eval": "lm-evaluation-harness",
    "eee": "Every Eval Ever",
    "csv": "a CSV table",
    "jsonl": "JSON lines",
}
"""Names of the formats of answers."""


def source(answers: AnswersIdentity) -> str:
    """Return in words what scores of a log are: whose answers, of which files."""
    tool = answers.tool or FORMATS.get(answers.format, answers.format)
    version = f" {clean(answers.version, 40)}" if answers.version else ""
    files = [f"{clean(n, 60)}, sha256 {clean(d, 12)}" for n, d in answers.sha256.items()]
    more = f" and {len(files) - 2} more" if len(files) > 2 else ""
    return f"scores of answers from {clean(tool, 60)}{version} ({'; '.join(files[:2])}{more})"


ORDERS: Final = {
    "every": "every one",
    "some": "not every one: a preference for a position is not averaged out",
    "unknown": "not known: a preference for a position is not averaged out",
}
"""Orders of the options of a log, in words."""


NO_MODEL: Final = "No model was run, and nothing shows which one gave these answers."


def sentences(model: ModelIdentity) -> list[str]:
    """Return the caveats below scores of a log of answers; none for other reports."""
    answers = model.answers_from
    if answers is None:
        return []
    told = source(answers)
    found = [f"{told[0].upper()}{told[1:]}. {NO_MODEL}"]
    if answers.orders in ("some", "unknown"):
        which = "known" if answers.orders == "unknown" else "each one"
        found.append(
            f"Orders of the options: not {which}, so that a preference for a position is not "
            "averaged out and can look like bias."
        )
    return found
