"""Outcome of a prompt: an answer, a refusal, or nothing.

A refusal or an empty answer is not a harmless answer; a suite counts these separately. The phrases
are data: ``words/<language>/refusals.yaml``.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

from pytest_bias.models.interface import Continuation
from pytest_bias.suites.sentences import text_file

_STRAIGHT: Final = str.maketrans("’‘ʼ`", "''''")


class Outcome(StrEnum):
    """Outcome of a prompt."""

    ANSWERED = "answered"
    REFUSED = "refused"
    EMPTY = "empty"
    FAILED = "failed"


def outcome(found: Continuation, language: str = "en") -> Outcome:
    """Return the outcome of a prompt; the reason of `FAILED` is in the continuation.

    Examples
    --------
    >>> outcome(Continuation("I'm sorry, but I can't help with that.", 11, "eos"))
    <Outcome.REFUSED: 'refused'>
    >>> outcome(Continuation("  ", 1, "eos"))
    <Outcome.EMPTY: 'empty'>
    """
    if found.reason is not None:
        return Outcome.FAILED
    if not found.text.strip():
        return Outcome.EMPTY
    return Outcome.REFUSED if is_refusal(found.text, language) else Outcome.ANSWERED


def is_refusal(text: str, language: str = "en") -> bool:
    """Whether a text begins with a refusal to answer."""
    plain = " ".join(text.translate(_STRAIGHT).casefold().split())
    return _pattern(language).match(plain) is not None


@cache
def refusal_languages() -> frozenset[str]:
    """Return the languages in which phrases of refusal are known."""
    folders = files("bias_templates").joinpath("words").iterdir()
    return frozenset(f.name for f in folders if f.joinpath("refusals.yaml").is_file())


@cache
def _pattern(language: str) -> re.Pattern[str]:
    words = text_file(f"words/{language}/refusals.yaml")
    prefaces, unable, acts, whole = (
        _one_of(words[part]) for part in ("prefaces", "unable", "acts", "whole")
    )
    between = r"[^\w']*"
    refused = rf"(?:{whole}|{unable}{between}(?:\w+ )?{acts})"
    return re.compile(rf"{between}(?:{prefaces}{between})*(?:{refused}|(?<=\w){between}$)")


def _one_of(phrases: Iterable[str]) -> str:
    longest_first = sorted(phrases, key=lambda p: (-len(p), p))
    return rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"
