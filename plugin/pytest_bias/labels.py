"""What the labels of a classifier mean: which of them stands for toxic, hateful, positive.

Every checkpoint names its outputs as it likes. A label that is spelled as one of ours is taken for
it; any other has to be named in the settings, since a guess would be a silent substitute.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_bias.errors import UnknownName, UsageError


@dataclass(frozen=True, slots=True)
class Role:
    """What a classifier is asked for.

    Parameters
    ----------
    title : str
        For people, behind "a classifier of".
    concepts : mapping of str to tuple of str
        What a label can stand for, with the spellings that are understood, the surest first.
    needed : tuple of str
        Concepts without which the classifier is of no use.
    """

    title: str
    concepts: Mapping[str, tuple[str, ...]]
    needed: tuple[str, ...]


_POSITIVE: Final = ("positive", "pos")
_NEGATIVE: Final = ("negative", "neg")

ROLES: Final[Mapping[str, Role]] = {
    "toxicity": Role(
        "toxicity", {"toxic": ("toxic", "toxicity", "hate", "hateful")}, needed=("toxic",)
    ),
    "hate": Role(
        "hate speech",
        {"hateful": ("hateful", "hate", "hate speech", "hatespeech")},
        needed=("hateful",),
    ),
    "sentiment": Role(
        "sentiment", {"positive": _POSITIVE, "negative": _NEGATIVE}, needed=("positive",)
    ),
    "regard": Role(
        "regard",
        {
            "negative": _NEGATIVE,
            "positive": _POSITIVE,
            "neutral": ("neutral",),
            "other": ("other", "mixed"),
        },
        needed=("negative", "positive"),
    ),
}
"""What suites ask classifiers for. Toxicity takes a classifier of hate as well, as the toxicity
measurement of Hugging Face evaluate does; hate does not take one of toxicity."""


def labels_for(
    role: str, labels: Sequence[str], chosen: Mapping[str, str], model: str
) -> dict[str, str]:
    """Return the label of each concept of a role that a classifier has.

    Parameters
    ----------
    role : str
        Key of `ROLES`.
    labels : sequence of str
        The checkpoint's own names.
    chosen : mapping of str to str
        Concept to label, as the user says; goes before spelling.
    model : str
        The checkpoint, for messages.

    Raises
    ------
    UsageError
        If a concept that is needed has no label, or a label that was chosen is not there.
    """
    plain = {_plain(label): label for label in reversed(labels)}
    found = {}
    for concept, spellings in ROLES[role].concepts.items():
        if concept in chosen:
            if chosen[concept] not in labels:
                raise UnknownName.among(f"label of {model}", chosen[concept], labels)
            found[concept] = chosen[concept]
        elif spelled := next((s for s in spellings if s in plain), None):
            found[concept] = plain[spelled]
    for concept in ROLES[role].needed:
        if concept not in found:
            *first, last = ROLES[role].concepts[concept]
            understood = f"{', '.join(first)} or {last}" if first else last
            raise UsageError(
                f"{model} has the labels {', '.join(labels)}; for {ROLES[role].title} one of them "
                f"must be {understood}.",
                f"In pytest-bias.yaml: labels: {{{role}: {{{concept}: {labels[-1]}}}}} says which "
                "one means it.",
            )
    return found


def check_labels(chosen: Mapping[str, object], where: str) -> None:
    """Check what a settings file says of labels: role to concept to label.

    Raises
    ------
    UsageError
        If a role or concept is not known, or a label is no text.
    """
    for role, concepts in chosen.items():
        if role not in ROLES:
            raise UnknownName.among(f"{where}: labels", str(role), ROLES)
        if not isinstance(concepts, Mapping):
            example = f"{{{role}: {{{ROLES[role].needed[0]}: LABEL_1}}}}"
            raise UsageError(f"{where}: labels.{role} must be a table, such as {example}.")
        for concept, label in concepts.items():
            if concept not in ROLES[role].concepts:
                known = ROLES[role].concepts
                raise UnknownName.among(f"{where}: labels.{role}", str(concept), known)
            if not isinstance(label, str):
                raise UsageError(f"{where}: labels.{role}.{concept} is {label!r}, no text.")


def _plain(label: str) -> str:
    return re.sub(r"[\W_]+", " ", label).strip().casefold()
