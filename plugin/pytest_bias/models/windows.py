"""Overlapping windows for texts that exceed a model's context; every token is scored once."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pytest_bias.models.interface import Passage, SequenceScore
from pytest_bias.models.reads import Reads
from pytest_bias.models.tokens import Encoded, Tokens
from pytest_bias.models.transformer import Planned, Transformer


class Window(NamedTuple):
    """Tokens `begin` to `end` of a text, and those of them that are scored."""

    begin: int
    end: int
    scored: range


def behind(n_tokens: int, length: int, stride: int) -> Iterator[Window]:
    """Yield windows that score the tokens that are in no earlier window."""
    done = 0
    for begin in range(0, n_tokens, stride):
        end = min(begin + length, n_tokens)
        yield Window(begin, end, range(done, end))
        if end == n_tokens:
            return
        done = end


def around(n_tokens: int, length: int, stride: int) -> Iterator[Window]:
    """Yield windows that score the tokens nearest to their middle."""
    begins = [*range(0, n_tokens - length, stride), max(0, n_tokens - length)]
    # In an overlap of two windows, the middle is equally far from both cuts.
    halfway = [(a + b + length + 1) // 2 for a, b in pairwise(begins)]
    for begin, (first, last) in zip(begins, pairwise([0, *halfway, n_tokens]), strict=True):
        yield Window(begin, min(begin + length, n_tokens), range(first, last))


def checked_stride(stride: int | None, length: int) -> int:
    """Return the stride of windows of some length, by default half of it.

    Raises
    ------
    ValueError
        If windows would not overlap, or not advance.
    """
    if stride is None:
        return max(1, length // 2)
    if not 1 <= stride < length:
        raise ValueError(f"stride is {stride}; it must be from 1 to {length - 1}")
    return stride


def passage_scores(
    body: Transformer,
    passages: Sequence[str | Passage],
    plan: Callable[[Encoded, Sequence[int], Reads], Planned],
    tokens: Tokens,
    encode: Callable[[str], Encoded],
) -> list[SequenceScore]:
    """Score texts, or parts of them; `plan` receives the positions of the scored tokens."""
    asked = [p if isinstance(p, Passage) else Passage(p) for p in passages]

    def planned(passage: Passage, reads: Reads) -> Planned:
        encoded = encode(passage.text)
        if passage.parts is None:
            return plan(encoded, encoded.core, reads)
        return plan(encoded, tokens.inside(passage.text, passage.parts), reads)

    tokens.prepare([p.text for p in asked])
    found = body.sums(asked, planned)
    tokens.forget()
    return found
