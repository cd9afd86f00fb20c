"""Text generation by a model's own `generate`, independent of the other rows of a batch.

Of a checkpoint's generation_config.json only the end-of-text tokens are used: its other settings
(penalties, forced tokens, beams, temperatures) are made for products, and a measure has to see the
model itself. Rows of one batch have equal lengths, so that none is padded.
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
"""Placeholder after the last token of a continuation."""


class Row(NamedTuple):
    """One continuation to generate: its prompt, its number among `n`, and the tokens before it."""

    prompt: str
    sample: int
    ids: list[int]
    start: list[int] | None = None
    """Start tokens of a separate decoder; None if the prompt itself is continued."""

    @property
    def before(self) -> list[int]:
        """Tokens before the new ones."""
        return self.ids if self.start is None else self.start


@dataclass(frozen=True)
class Decoding:
    """Settings of generation; `ends` are the ids of the end-of-text tokens."""

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
    """Clear a network's own generation settings; returns the end-of-text tokens.

    These are the checkpoint's (chat models have several) and the tokenizer's.
    """
    own = getattr(network, "generation_config", None)
    stated = getattr(own, "eos_token_id", None)
    listed = stated if isinstance(stated, Iterable) else [stated]
    if own is not None:
        # `generate` takes its defaults from here.
        network.generation_config = GenerationConfig()
    return tuple(sorted({int(i) for i in (*listed, tokens.eos_id) if i is not None}))


def continued(body: Transformer, rows: Sequence[Row], how: Decoding) -> list[Continuation]:
    """Return the continuations of rows, in order."""
    found = np.full((len(rows), how.max_new_tokens), UNUSED, dtype=np.int64)
    lengths = [len(row.ids) for row in rows]

    def question() -> str:
        return sha256(canonical_json([[list(r) for r in rows], asdict(how)]))

    def answer(batch: Batch) -> tuple[NDArray[Any], int]:
        ids = _generated(body, [rows[i] for i in batch.rows], how)[: batch.n]
        generated = int((ids != UNUSED).sum())
        # The first token of a row comes from a forward that is counted anyway.
        body.meter.forwards += generated - batch.n
        return ids, batch.n * batch.length + generated

    plan = partial(
        batches_without_padding,
        lengths,
        room=how.max_new_tokens,
        max_rows=max(1, body.max_logits // body.vocabulary),
        # On a GPU the last bits depend on the number of rows anyway, and memory is scarce.
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
    """Return the new tokens of rows of equal length, including the end-of-text token."""
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
    # From the class: a checkpoint's own code may have replaced it on the instance.
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
    """Adds the noise of each row's current step to its logits, which are float32."""

    def __init__(self, rows: Sequence[Row], seed: int) -> None:
        self.rows, self.seed = rows, seed

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        step = input_ids.shape[1] - len(self.rows[0].before)
        keys = [key(self.seed, row.sample, step, row.prompt) for row in self.rows]
        return scores.float() + gumbel(keys, scores.shape[1], scores.device)


class _Branches(LogitsProcessor):  # type: ignore[misc]
    """Restricts the first token of each row to that of its rank, and later tokens not at all."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if input_ids.shape[1] > len(self.rows[0].before):
            return scores
        ranks = torch.tensor([[row.sample] for row in self.rows], device=scores.device)
        # Stable, since equal logits, which are common in half precision, need a fixed order.
        order = scores.sort(dim=-1, descending=True, stable=True).indices
        first = order.gather(1, ranks)
        return torch.full_like(scores, -torch.inf).scatter_(1, first, 0.0)


class _Ended(StoppingCriteria):  # type: ignore[misc]
    """Determines which rows have ended; `lengths` holds their numbers of new tokens, (n_rows,).

    A row that has ended stays in the batch until all have; its further tokens are ignored.
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
    """Return the text of new tokens, including the space between them and the prompt."""
    before, whole = tokens.decode(prompt), tokens.decode([*prompt, *new])
    return whole[len(before) :] if whole.startswith(before) else tokens.decode(new)
