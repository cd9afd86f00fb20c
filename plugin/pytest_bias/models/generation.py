"""Texts continued by a model's own `generate`, each as if it were alone.

Nothing of a checkpoint's generation_config.json reaches a text but the tokens that end one: the
settings there (penalties, forced tokens, beams, temperatures) are made for products, and a measure
has to see the model. Rows of one batch have one length, so that none is padded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from pytest_bias.models.batching import MIN_ROWS, Batch, batches_without_padding
from pytest_bias.models.interface import Continuation
from pytest_bias.models.noise import gumbel, key
from pytest_bias.models.tokens import Tokens
from pytest_bias.models.transformer import Transformer
from pytest_bias.records.report import canonical_json, sha256

UNUSED: Final = -1
"""Stands where a continuation has no token."""


class Row(NamedTuple):
    """One continuation to be made: of which prompt, which of its `n`, behind which tokens."""

    prompt: str
    sample: int
    ids: list[int]
    start: list[int] | None = None
    """What a decoder of its own begins with; null where the prompt is continued."""

    @property
    def before(self) -> list[int]:
        """What stands in front of the new tokens."""
        return self.ids if self.start is None else self.start


@dataclass(frozen=True)
class Decoding:
    """How texts are continued; `ends` are the ids of the tokens that end one."""

    max_new_tokens: int
    sample: bool
    seed: int
    stop: tuple[str, ...]
    ends: tuple[int, ...]
    branch: bool = False

    def __post_init__(self) -> None:
        if self.sample and self.branch:
            raise ValueError("sample=True and branch=True: a text begins in one way or the other")
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens is {self.max_new_tokens}; it must be at least 1")
        if not all(self.stop):
            raise ValueError("a stop string is empty")


def taken_over(network: Any, tokens: Tokens) -> tuple[int, ...]:
    """Empty a network's own settings for generation; returns the tokens that end a text.

    These are the ones that the checkpoint states (chat models have several) and the tokenizer's.
    """
    own = getattr(network, "generation_config", None)
    stated = getattr(own, "eos_token_id", None)
    listed = stated if isinstance(stated, Iterable) else [stated]
    if own is not None:
        # `generate` fills whatever a call leaves open from here.
        network.generation_config = GenerationConfig()
    return tuple(sorted({int(i) for i in (*listed, tokens.eos_id) if i is not None}))


def continued(body: Transformer, rows: Sequence[Row], how: Decoding) -> list[Continuation]:
    """Continue rows, in their order."""
    found = np.full((len(rows), how.max_new_tokens), UNUSED, dtype=np.int64)
    lengths = [len(row.ids) for row in rows]

    def question() -> str:
        return sha256(canonical_json([[list(r) for r in rows], asdict(how)]))

    def answer(batch: Batch) -> tuple[NDArray[Any], int]:
        ids = _generated(body, [rows[i] for i in batch.rows], how)[: batch.n]
        generated = int((ids != UNUSED).sum())
        # The first token of a row comes from the forward that is counted anyway.
        body.meter.forwards += generated - batch.n
        return ids, batch.n * batch.length + generated

    plan = partial(
        batches_without_padding,
        lengths,
        room=how.max_new_tokens,
        max_rows=max(1, body.max_logits // body.vocabulary),
        # On a GPU the number of rows decides the last bits anyway, and memory is short.
        floor=MIN_ROWS if body.device.type == "cpu" else 1,
    )
    if body.work is not None:
        body.work.tokens += len(rows) * how.max_new_tokens
    body.gather(found, question, lambda budget, left: plan(budget=budget, left=left), answer)
    return [
        _continuation(body.tokens, row.before, [int(i) for i in new if i != UNUSED], how)
        for row, new in zip(rows, found, strict=True)
    ]


def _generated(body: Transformer, rows: Sequence[Row], how: Decoding) -> NDArray[np.int64]:
    """Return the new tokens of rows of one length, the one that ends a text included."""
    first = rows[0]
    prompts = torch.tensor([row.ids for row in rows], device=body.device)
    decoder = {}
    if first.start is not None:
        decoder["decoder_input_ids"] = prompts.new_tensor(first.start).expand(len(rows), -1)
    ended = _Ended(body.tokens, rows, how)
    processors: list[LogitsProcessor] = []
    if how.sample:
        processors.append(_Noise(rows, how.seed))
    if how.branch:
        processors.append(_Branches(rows))
    # By its class: code that a checkpoint brings along may have put another one on the instance.
    output = type(body.network).generate(
        body.network,
        input_ids=prompts,
        attention_mask=torch.ones_like(prompts),
        **decoder,
        generation_config=GenerationConfig(
            max_new_tokens=how.max_new_tokens,
            do_sample=False,
            use_cache=True,
            pad_token_id=body.tokens.pad_id,
            decoder_start_token_id=first.start[0] if first.start else None,
        ),
        logits_processor=LogitsProcessorList(processors),
        stopping_criteria=StoppingCriteriaList([ended]),
    )
    new = np.full((len(rows), how.max_new_tokens), UNUSED, dtype=np.int64)
    generated = output[:, len(first.before) :].cpu().numpy()
    new[:, : generated.shape[1]] = generated
    new[np.arange(how.max_new_tokens) >= ended.lengths[:, None]] = UNUSED
    return new


class _Noise(LogitsProcessor):  # type: ignore[misc]
    """Adds the noise of every row's present step to its logits, which come in float32."""

    def __init__(self, rows: Sequence[Row], seed: int) -> None:
        self.rows, self.seed = rows, seed

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        step = input_ids.shape[1] - len(self.rows[0].before)
        keys = [key(self.seed, row.sample, step, row.prompt) for row in self.rows]
        return scores.float() + gumbel(keys, scores.shape[1], scores.device)


class _Branches(LogitsProcessor):  # type: ignore[misc]
    """Leaves every row the first token of its rank among the likeliest, and then all tokens."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if input_ids.shape[1] > len(self.rows[0].before):
            return scores
        ranks = torch.tensor([[row.sample] for row in self.rows], device=scores.device)
        # Stable, so that equal logits, which half precision has many of, have one order.
        order = scores.sort(dim=-1, descending=True, stable=True).indices
        first = order.gather(1, ranks)
        return torch.full_like(scores, -torch.inf).scatter_(1, first, 0.0)


class _Ended(StoppingCriteria):  # type: ignore[misc]
    """Tells which rows have ended; `lengths` holds how many new tokens each has, shape (n_rows,).

    A row that has ended is carried along until the last one has, and what it gets is not read.
    """

    def __init__(self, tokens: Tokens, rows: Sequence[Row], how: Decoding) -> None:
        self.tokens, self.rows, self.how = tokens, rows, how
        self.lengths = np.full(len(rows), how.max_new_tokens)
        self.done = np.zeros(len(rows), dtype=np.bool_)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_more: Any) -> torch.Tensor:
        new = input_ids[:, len(self.rows[0].before) :].cpu().numpy()
        now = np.isin(new[:, -1], self.how.ends)
        if self.how.stop:
            for i in map(int, np.flatnonzero(~self.done & ~now)):
                text = _text_behind(self.tokens, self.rows[i].before, new[i].tolist())
                now[i] = any(word in text for word in self.how.stop)
        self.lengths[now & ~self.done] = new.shape[1]
        self.done |= now
        return torch.from_numpy(self.done).to(input_ids.device)


def _continuation(tokens: Tokens, prompt: list[int], new: list[int], how: Decoding) -> Continuation:
    ended = bool(new) and new[-1] in how.ends
    kept = new[:-1] if ended else new
    text = _text_behind(tokens, prompt, kept)
    stops = [at for word in how.stop if (at := text.find(word)) >= 0]
    if stops:
        return Continuation(text[: min(stops)], len(kept), "stop")
    return Continuation(text, len(kept), "eos" if ended else "length")


def _text_behind(tokens: Tokens, prompt: list[int], new: list[int]) -> str:
    """Return the text of new tokens, with the space that is between them and the prompt."""
    before, whole = tokens.decode(prompt), tokens.decode([*prompt, *new])
    return whole[len(before) :] if whole.startswith(before) else tokens.decode(new)
