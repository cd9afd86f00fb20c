"""What a counterfactual suite looks at in an answer: a decision, a score, a refusal, a length."""

from dataclasses import dataclass
from typing import Any, Final

from bias_suites.continuations import HARM
from pytest_bias.errors import UnknownName
from pytest_bias.suites import (
    Key,
    Marked,
    MultipleChoice,
    Place,
    Plain,
    flag,
    keyed,
    number,
    shown,
    word,
    words,
)

YES_NO: Final = ("Yes", "No")
TEXTS: Final = ("refusal", "length")
TABLES: Final = ("decision", "scorer")
EXAMPLE: Final = (
    "outcome: {decision: {yes_no: true}}, {decision: {options: [hire, reject], favourable: [hire]}}"
    ", {decision: {number: {min: 0, max: 100}}}, {scorer: toxicity}, refusal, or length"
)


@dataclass(frozen=True, slots=True)
class Looked:
    """What is looked at in an answer.

    Parameters
    ----------
    kind : str
        ``options`` (yes and no too), ``number``, ``scorer``, ``refusal`` or ``length``.
    options : tuple of str
        The options that are shown; `favourable` are the numbers of those that select.
    least, most, threshold : float
        Ends of a number's scale; from `threshold` up it selects, None where it is a score.
    role : str
        Role of the classifier.
    """

    kind: str
    options: tuple[str, ...] = ()
    favourable: tuple[int, ...] = ()
    least: float = 0.0
    most: float = 0.0
    threshold: float | None = None
    role: str = ""

    @property
    def selects(self) -> bool:
        """Whether an answer selects or not, so that groups have a selection rate."""
        return self.kind == "options" or self.threshold is not None


def read_outcome(marked: Marked, place: Place, given: Plain) -> Looked:
    """Read the outcome of a suite file."""
    if isinstance(given, str):
        if given in TEXTS:
            return Looked(given)
        if given in TABLES:
            raise marked.error(place, f"{given} needs to say which.", EXAMPLE)
        raise marked.error(
            place, UnknownName.among("outcome", given, (*TABLES, *TEXTS)).message, EXAMPLE
        )
    if not isinstance(given, dict) or len(given) != 1:
        raise marked.error(place, f"must be one outcome, not {shown(given)}.", EXAMPLE)
    ((kind, content),) = given.items()
    if kind == "decision":
        return _decision(marked, (*place, kind), content)
    if kind == "scorer":
        role = word(marked, (*place, kind), content)
        if role not in HARM:
            raise marked.error(
                (*place, kind), UnknownName.among("role of a scorer", role, HARM).message
            )
        return Looked("scorer", role=role)
    unknown = UnknownName.among("outcome", kind, (*TABLES, *TEXTS)).message
    raise marked.error((*place, kind), unknown, EXAMPLE)


_NUMBER: Final = {
    "min": Key(number(), "least answer", needed=True),
    "max": Key(number(), "greatest answer", needed=True),
    "threshold": Key(number(), "from which number up a prompt is selected"),
}
_DECISION: Final = {
    "yes_no": Key(flag, "true: the prompt is answered by yes or no; yes selects"),
    "options": Key(words, "the options that are shown"),
    "favourable": Key(words, "the options that select"),
    "number": Key(keyed(_NUMBER, "number"), "the answer is a number from min to max"),
}
_ONE_OF: Final = ("yes_no", "options", "number")


def _decision(marked: Marked, place: Place, given: Plain) -> Looked:
    said = keyed(_DECISION, "decision")(marked, place, given)
    if len(kinds := [k for k in _ONE_OF if k in said]) != 1:
        found = " and ".join(kinds) or "none"
        raise marked.error(place, f"needs one of {', '.join(_ONE_OF)}; it has {found}.", EXAMPLE)
    if "number" in said:
        return _number(marked, place, said)
    if "options" in said:
        return _options(marked, place, said)
    if not said["yes_no"]:
        raise marked.error((*place, "yes_no"), "must be true, or left out.")
    if "favourable" in said:
        raise marked.error(
            (*place, "favourable"), "yes selects.", "options: [Yes, No] where no is to select"
        )
    return Looked("options", YES_NO, (0,))


def _number(marked: Marked, place: Place, said: dict[str, Any]) -> Looked:
    if "favourable" in said:
        raise marked.error((*place, "favourable"), "is for options.", "number: {threshold: 50}")
    of = said["number"]
    if not of["min"] < of["max"]:
        raise marked.error((*place, "number", "max"), f"must be above min, {of['min']:g}.")
    at = of.get("threshold")
    if at is not None and not of["min"] < at <= of["max"]:
        raise marked.error(
            (*place, "number", "threshold"),
            f"must be above {of['min']:g} and at most {of['max']:g}, or every answer is alike.",
        )
    return Looked("number", least=of["min"], most=of["max"], threshold=at)


def _options(marked: Marked, place: Place, said: dict[str, Any]) -> Looked:
    options = tuple(said["options"])
    try:
        MultipleChoice("?", options)
    except ValueError as error:
        raise marked.error((*place, "options"), f"{error}.") from None
    chosen = said.get("favourable")
    if chosen is None:
        raise marked.error(place, "lacks favourable: which of the options select.")
    for n, name in enumerate(chosen):
        if name not in options:
            unknown = UnknownName.among("favourable option", name, options)
            raise marked.error((*place, "favourable", n), unknown.message)
    if len(set(chosen)) == len(options):
        raise marked.error((*place, "favourable"), "are all of the options.")
    return Looked("options", options, tuple(i for i, name in enumerate(options) if name in chosen))
