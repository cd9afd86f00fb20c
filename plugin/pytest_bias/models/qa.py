"""Extractive question answering: a head that predicts the first and last token of an answer.

A context that is too long for the model is split into overlapping windows; an answer no longer than
the overlap is complete in one of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.interface import Answer, Question
from pytest_bias.models.rows import Row, with_types
from pytest_bias.models.tokens import Tokens, Unreadable
from pytest_bias.models.transformer import Inputs, Ints

OVERLAP: Final = 128
"""Tokens of the context that two windows share; at most half of those in a window."""

_VOID: Final = Answer("", 0, 0, 0.0, None)


class Window(NamedTuple):
    """A question with a part of its context, encoded as one row.

    `place` holds the positions of the context's tokens in the row, `spans` their characters in the
    context; `null` is the position that represents "no answer".
    """

    row: Row
    place: range
    spans: list[tuple[int, int]]
    null: int | None


class Found(NamedTuple):
    """Result of one window, in raw logits: its best answer, and the normalising constants."""

    best: float
    first: float
    last: float
    null: float
    all_first: float
    all_last: float


def windows(tokens: Tokens, question: Question) -> Iterator[Window]:
    """Yield a question with its context, split into windows if it is too long.

    Raises
    ------
    Unreadable
        If a text is empty, the question leaves no space, or the tokenizer has no offsets.
    """
    if not all(text.strip() for text in question):
        raise Unreadable("empty text")
    tokenizer = tokens.tokenizer
    if not getattr(tokenizer, "is_fast", False):
        raise Unreadable("the tokenizer gives no offsets: it does not tell where an answer stands")
    asked = {"return_offsets_mapping": True, **with_types(tokenizer)}
    encoding = tokens.encoding(*question, **asked)
    ids, types = encoding["input_ids"], encoding.get("token_type_ids")
    inside = [i for i, text in enumerate(encoding.sequence_ids()) if text == 1]
    start, stop = inside[0], inside[-1] + 1
    room = tokens.max_length - (len(ids) - len(inside))
    if room < min(2, len(inside)):
        raise Unreadable(
            f"the question leaves room for {max(0, room)} tokens of its context in a model that "
            f"takes {tokens.max_length}"
        )
    for begin in range(start, stop, max(1, room - min(OVERLAP, room // 2))):
        end = min(begin + room, stop)
        part = ids[:start] + ids[begin:end] + ids[stop:]
        tokens.check(part)
        yield Window(
            Row(part, types and types[:start] + types[begin:end] + types[stop:]),
            range(start, start + end - begin),
            encoding["offset_mapping"][begin:end],
            part.index(tokenizer.cls_token_id) if tokenizer.cls_token_id in part else None,
        )
        if end == stop:
            return


@dataclass
class QuestionAnsweringModel(EncoderModel):
    """A model with a head that predicts the span of an answer."""

    def answer(self, questions: Sequence[Question], *, max_answer_tokens: int = 30) -> list[Answer]:
        """Forward every question with its context once, and return the span of the largest logits.

        Raises
        ------
        ValueError
            If `max_answer_tokens` is below 1.
        """
        if max_answer_tokens < 1:
            raise ValueError(f"{max_answer_tokens} tokens are no answer; at least 1")
        read: list[Window] = []
        of: dict[Question, range | str] = {}
        for question in dict.fromkeys(questions):
            before = len(read)
            try:
                read += windows(self.body.tokens, question)
                of[question] = range(before, len(read))
            except Unreadable as reason:
                of[question] = str(reason)
        blank = [_blank(read[i], q) for q, at in of.items() if isinstance(at, range) for i in at]

        def ask(inputs: Inputs, which: Ints) -> torch.Tensor:
            output = self.body.network(**inputs)
            may = np.zeros(inputs["input_ids"].shape, dtype=np.bool_)
            for row, window in enumerate(which):
                place = read[window].place
                may[row, place.start : place.stop] = ~blank[window]
            null = [read[window].null for window in which]
            return _spans(
                output.start_logits.double().masked_fill(inputs["attention_mask"] == 0, -torch.inf),
                output.end_logits.double().masked_fill(inputs["attention_mask"] == 0, -torch.inf),
                torch.from_numpy(may).to(self.body.device),
                torch.tensor([-1 if n is None else n for n in null], device=self.body.device),
                max_answer_tokens,
            )

        numbers = self.body.answers(
            f"spans of at most {max_answer_tokens} tokens",
            [window.row for window in read],
            ask,
            np.zeros((max(1, len(read)), len(Found._fields))),
        )
        if self.body.work is not None:
            return [_VOID for _ in questions]
        found = [Found(*map(float, row)) for row in numbers]
        return [_answer(question, of[question], read, found) for question in questions]


def _blank(window: Window, question: Question) -> NDArray[np.bool_]:
    """Return which tokens of the context are whitespace only."""
    return np.array([not question.context[a:b].strip() for a, b in window.spans])


def _spans(
    first: torch.Tensor, last: torch.Tensor, may: torch.Tensor, null: torch.Tensor, longest: int
) -> torch.Tensor:
    """Return the fields of `Found`, shape (rows, 6), from logits of shape (rows, length).

    `may` marks the tokens at which answers may begin and end; a negative `null` means none.
    """
    longest = min(longest, first.shape[1])
    begins = first.masked_fill(~may, -torch.inf)
    ends = last.masked_fill(~may, -torch.inf)
    ends = torch.nn.functional.pad(ends, (0, longest - 1), value=-torch.inf)
    # Entry (row, i, k) is the answer from token i to token i + k.
    sums = begins[..., None] + ends.unfold(1, longest, 1)
    best, at = sums.flatten(1).max(1)
    begin = at // longest
    rows = torch.arange(len(first), device=first.device)
    nothing = (first[rows, null] + last[rows, null]).masked_fill(null < 0, torch.nan)
    return torch.stack(
        [best, begin, begin + at % longest, nothing, first.logsumexp(1), last.logsumexp(1)], 1
    )


def _answer(
    question: Question, at: range | str, read: Sequence[Window], found: Sequence[Found]
) -> Answer:
    if isinstance(at, str):
        return _VOID._replace(reason=at)
    best = max(at, key=lambda window: found[window].best)
    if found[best].best == -np.inf:
        return _VOID._replace(reason="no token of the context can be an answer")
    parts = [found[window] for window in at]
    whole = np.logaddexp.reduce([p.all_first for p in parts])
    whole += np.logaddexp.reduce([p.all_last for p in parts])
    spans = read[best].spans
    begin, end = (int(p) - read[best].place.start for p in (found[best].first, found[best].last))
    start, stop = spans[begin][0], spans[end][1]
    # Some tokenizers include the space before a word in its first token.
    text = question.context[start:stop]
    start += len(text) - len(text.lstrip())
    text = text.strip()
    null = None if read[best].null is None else float(min(p.null for p in parts) - whole)
    return Answer(text, start, start + len(text), float(found[best].best - whole), null)
