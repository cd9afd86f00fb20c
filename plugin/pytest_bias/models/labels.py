"""Mapping from the labels of a classifier to concepts such as toxic, positive, entailment.

Checkpoints name their outputs arbitrarily. A label with a known spelling is mapped to its concept;
any other must be named in the settings, since a guess would be a silent substitute.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.forms.keys import Key, keyed, text


@dataclass(frozen=True, slots=True)
class Role:
    """Task for which a classifier is used.

    Parameters
    ----------
    title : str
        Title in messages, after "a classifier of".
    concepts : mapping of str to tuple of str
        Concepts of labels, with the known spellings, the most reliable first.
    needed : tuple of str
        Concepts that are required.
    heads : tuple of tuple of str
        Allowed sets of concepts, one per label, if the answer is the most likely label, so that
        none may be left out. Empty if concepts are used individually.
    """

    title: str
    concepts: Mapping[str, tuple[str, ...]]
    needed: tuple[str, ...]
    heads: tuple[tuple[str, ...], ...] = ()


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
    "nli": Role(
        "natural language inference",
        {
            "entailment": ("entailment", "entails", "entailed", "entail"),
            "neutral": ("neutral",),
            "contradiction": ("contradiction", "contradicts", "contradictory", "contradict"),
            "not_entailment": (
                *("not entailment", "non entailment", "no entailment"),
                *("not entailed", "not entails"),
            ),
        },
        needed=("entailment",),
        heads=(("entailment", "neutral", "contradiction"), ("entailment", "not_entailment")),
    ),
    "paraphrase": Role(
        "paraphrases",
        {
            "paraphrase": ("paraphrase", "duplicate", "is duplicate", "equivalent"),
            "not_paraphrase": (
                *("not paraphrase", "no paraphrase", "non paraphrase"),
                *("not duplicate", "no duplicate", "non duplicate", "is not duplicate"),
                "not equivalent",
            ),
        },
        needed=("paraphrase", "not_paraphrase"),
        heads=(("paraphrase", "not_paraphrase"),),
    ),
    "fact_checking": Role(
        "claims against evidence",
        {
            "supports": ("supports", "supported", "support"),
            "refutes": ("refutes", "refuted", "refute"),
            "not_enough_info": ("not enough info", "not enough information", "nei"),
        },
        needed=("supports", "refutes"),
        heads=(("supports", "refutes", "not_enough_info"), ("supports", "refutes")),
    ),
}
"""Tasks of classifiers in suites. Toxicity accepts a classifier of hate as well, as the toxicity
measurement of Hugging Face evaluate does; hate does not accept one of toxicity."""

LABELS: Final = keyed(
    {
        name: Key(keyed({c: Key(text, f"the label for {c}") for c in role.concepts}), role.title)
        for name, role in ROLES.items()
    }
)
"""Reads the labels in a settings file: role to concept to label."""


def labels_for(
    role: str,
    labels: Sequence[str],
    chosen: Mapping[str, str],
    model: str,
    also: Sequence[str] = (),
) -> dict[str, str]:
    """Return the classifier's label for each concept of a role.

    Parameters
    ----------
    role : str
        Key of `ROLES`.
    labels : sequence of str
        The checkpoint's own names.
    chosen : mapping of str to str
        Concept to label, as set by the user; takes precedence over spelling.
    model : str
        The checkpoint, for messages.
    also : sequence of str
        Concepts that are required besides those of the role.

    Raises
    ------
    UsageError
        If a required concept has no label, a chosen label does not exist, or the labels are not
        those of one of the role's heads.
    """
    kind = ROLES[role]
    # A label that the user has assigned is not mapped by its spelling.
    plain = {_plain(v): v for v in reversed(labels) if v not in chosen.values()}
    found: dict[str, str] = {}
    for concept, spellings in kind.concepts.items():
        if concept in chosen:
            if chosen[concept] not in labels:
                raise UnknownName.among(f"label of {model}", chosen[concept], labels)
            found[concept] = chosen[concept]
        elif spelled := next((s for s in spellings if s in plain), None):
            found[concept] = plain[spelled]
    heads = [head for head in kind.heads if set(also) <= set(head)]
    if heads:
        if set(found) not in map(set, heads) or sorted(found.values()) != sorted(labels):
            raise _no_head(role, labels, found, heads, model)
    elif lacking := [c for c in (*kind.needed, *also) if c not in found]:
        raise _not_found(role, labels, found, lacking, model)
    return found


def _not_found(
    role: str, labels: Sequence[str], found: Mapping[str, str], lacking: Sequence[str], model: str
) -> UsageError:
    """Return the error with the accepted spellings and the settings for the missing concepts."""
    spelled = " and ".join(f"one of them must be {_spellings(role, c)}" for c in lacking)
    if len(lacking) == 1:
        free = [v for v in labels if v not in found.values()] or labels
        lines, which = f"{lacking[0]}: {free[-1]}", "which one means it"
    else:
        lines = ", ".join(f"{c}: <label>" for c in lacking)
        which = "which ones mean it, in place of each <label>"
    return UsageError(
        f"{model} has the labels {', '.join(labels)}; for {ROLES[role].title} {spelled}.",
        f"In pytest-bias.yaml: labels: {{{role}: {{{lines}}}}} says {which}.",
    )


def _no_head(
    role: str,
    labels: Sequence[str],
    found: Mapping[str, str],
    heads: Sequence[Sequence[str]],
    model: str,
) -> UsageError:
    """Return the error with the allowed sets of concepts and the settings for all of them."""
    has = f"{model} has the labels {', '.join(labels)}; for {ROLES[role].title} they must be"
    head = next((h for h in heads if len(h) == len(labels)), None)
    if head is None:
        return UsageError(f"{has} {', or '.join(', '.join(h) for h in heads)}, and no others.")
    spelled = "; ".join(f"{c} ({_spellings(role, c)})" for c in head)
    lines = ", ".join(f"{c}: {found.get(c, '<label>')}" for c in head)
    return UsageError(
        f"{has}, one each: {spelled}.",
        f"In pytest-bias.yaml: labels: {{{role}: {{{lines}}}}}, with the one that means it in "
        "place of each <label>. The model card or its authors state which; it is not guessed.",
    )


def _spellings(role: str, concept: str) -> str:
    return _either(ROLES[role].concepts[concept])


def _either(spellings: Sequence[str]) -> str:
    *first, last = spellings
    return f"{', '.join(first)} or {last}" if first else last


def _plain(label: str) -> str:
    return re.sub(r"[\W_]+", " ", label).strip().casefold()
