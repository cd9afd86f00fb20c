"""Echoed texts of a server, token by token with log-probabilities: parsing and verification.

A server may truncate a text, or return another one than was sent. So the tokens must join to the
text; otherwise there is a reason and no score.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_bias.models.answers import SequenceScore

LOST: Final = "\N{REPLACEMENT CHARACTER}"
"""Replacement character, for a token that is part of a character."""

_BYTES: Final = re.compile(r"bytes:|<0x[0-9A-F]{2}>$")
"""Server notations of a token that is part of a character."""

_SIGN: Final = re.compile(
    r"<\|[^<>|\s]+\|>|</?s>|<(?:unk|pad|mask|bos|eos|start_of_turn|end_of_turn)>"
    r"|\[(?:MASK|CLS|SEP|PAD|UNK|/?INST)\]"
)
"""Pattern of special tokens; as plain text, a tokenizer would split them into several tokens."""

NO_LOGPROBS: Final = "the server gives no log-probabilities of the text"
OTHER_TEXT: Final = "the server gives back another text than was sent: it may have cut it"
RUNS_OVER: Final = "its first token begins in the prefix"
ONE_TOKEN: Final = "one token, and nothing to condition it on"


class Unreadable(Exception):
    """Reason why an echo has no score."""


@dataclass(frozen=True, slots=True)
class Echo:
    """The tokens of one text.

    Parameters
    ----------
    tokens : tuple of str
        As written by the server; a token that is part of a character is incomplete.
    logprobs : tuple of float or None
        Natural-log probabilities, None if the server returns none.
    spans : tuple of (int, int)
        Half-open range of characters of each token in the text.
    front : str
        Token that the server itself adds before the text; empty if it shows none.
    """

    tokens: tuple[str, ...]
    logprobs: tuple[float | None, ...]
    spans: tuple[tuple[int, int], ...]
    front: str = ""

    def score(self, parts: Sequence[tuple[int, int]] | None = None) -> SequenceScore:
        """Return the sum of log-probabilities of all tokens, or of those in the parts."""
        found: list[float] = []
        unscored = 0
        for number, (value, (start, end)) in enumerate(zip(self.logprobs, self.spans, strict=True)):
            if parts is not None and not any(a < end and start < b for a, b in parts):
                continue
            if value is not None:
                found.append(value)
            elif number == 0:
                unscored = 1
            else:
                return SequenceScore(0.0, 0, f"the server gives no number for token {number + 1}")
        if not found:
            return SequenceScore(0.0, 0, ONE_TOKEN if unscored else "it has no tokens")
        return SequenceScore(math.fsum(found), len(found), n_unscored=unscored)


def listed(reply: Mapping[str, Any]) -> tuple[list[str], list[float | None], int]:
    """Return the tokens, log-probabilities and number of new tokens in a server's answer.

    Raises
    ------
    Unreadable
        If it has none.
    """
    try:
        (choice,) = reply["choices"]
        logprobs = choice["logprobs"]
        tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
    except (KeyError, TypeError, ValueError):
        raise Unreadable(NO_LOGPROBS) from None
    is_whole = (
        isinstance(tokens, list)
        and isinstance(values, list)
        and len(tokens) == len(values)
        and all(isinstance(t, str) for t in tokens)
        and all(v is None or _is_number(v) for v in values)
    )
    if not (is_whole and tokens):
        raise Unreadable(NO_LOGPROBS)
    if not all(v is None or math.isfinite(v) for v in values):
        raise Unreadable("a log-probability is not a finite number")
    usage = reply.get("usage")
    new = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    # Half a character (a lone surrogate) could not be stored.
    tokens = [t.encode("utf-8", "replace").decode() for t in tokens]
    return tokens, values, new if isinstance(new, int) and 0 <= new <= len(tokens) else 1


def read_echo(
    tokens: Sequence[str],
    values: Sequence[float | None],
    new: int,
    text: str,
    prefix: str = "",
) -> Echo:
    """Parse the echo of a text that was sent after a prefix; arguments as returned by `listed`.

    New tokens after the text are removed. Before it there may be one special token, with a
    log-probability of None, and one space, both from the tokenizer; a prefix may be missing.

    Raises
    ------
    Unreadable
        If the tokens do not join to the text, its first token begins in the prefix, or one of them
        is a special token that is spelled out in the text.
    """
    fronts = [0] + ([1] if values[0] is None else [])
    heads = [prefix, f" {prefix}"] + (["", " "] if prefix else [])
    for end in dict.fromkeys((len(tokens) - new, len(tokens), len(tokens) - 1)):
        for front in fronts:
            for head in heads:
                if front < end and (spans := joined(tokens[front:end], head + text)):
                    return _behind(head, tokens, values, spans, front)
    raise Unreadable(OTHER_TEXT)


def _behind(
    head: str,
    tokens: Sequence[str],
    values: Sequence[float | None],
    spans: Sequence[tuple[int, int]],
    front: int,
) -> Echo:
    """Return the tokens of the text itself, with spans relative to its start."""
    length = len(head)
    # A token without characters, as the space of some tokenizers, belongs to the next one.
    first = next((i for i, (a, b) in enumerate(spans) if a >= length or b > length), len(spans))
    if first < len(spans) and spans[first][0] < length and head.strip():
        raise Unreadable(RUNS_OVER)
    kept = slice(first, len(spans))
    if sign := next((t for t in tokens[front:][kept] if _SIGN.fullmatch(t.strip())), None):
        raise Unreadable(
            f"the server reads {sign.strip()}, written in the text, as a special token"
        )
    return Echo(
        tuple(tokens[front:][kept]),
        tuple(values[front:][kept]),
        tuple((max(0, a - length), b - length) for a, b in spans[kept]),
        tokens[0] if front else "",
    )


def joined(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Return the span of characters of each token in a text; None if they do not join to it.

    A token that is part of a character is written as an empty text, as bytes or with a replacement
    character. Consecutive ones represent characters beyond ASCII only. One space before a token
    may be missing, since some servers decode every token separately.
    """
    found: list[tuple[int, int]] = []
    at, lost, is_open = 0, 0, False
    for token in tokens:
        known = token
        if not text.startswith(token, at):
            known = "" if _BYTES.match(token) else token.rstrip(LOST)
        if not known:
            lost, is_open = lost + 1, True
            continue
        begin = text.find(known, at)
        if begin < 0 or not _may_miss(text[at:begin], is_open=is_open):
            return None
        # Missing characters before a token belong to incomplete tokens, else to the token.
        found += [(at, begin)] * lost
        start = begin if lost else at
        at, lost, is_open = begin + len(known), 0, len(known) < len(token)
        found.append((start, at))
    if not _may_miss(text[at:], is_open=is_open, space=False):
        return None
    return found + [(at, len(text))] * lost


def _may_miss(text: str, *, is_open: bool, space: bool = True) -> bool:
    """Whether tokens may omit this text: a space, and with incomplete tokens non-ASCII text."""
    rest = text.replace(" ", "", 1) if space else text
    return not rest or (is_open and all(not c.isascii() for c in rest))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
