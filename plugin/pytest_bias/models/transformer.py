"""Forwards of one transformers model, on token ids only.

The head runs only at the positions that are needed. It is the model's own head, with soft-capping
and logit scales: the hidden states that are passed to it are replaced.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from pytest_bias.models.batching import MASKED_MULTIPLE, MULTIPLE, Batch, batches
from pytest_bias.models.forwards import Done, Forwards, Left, sent
from pytest_bias.models.interface import Embeddings, ModelKind, Prediction, SequenceScore
from pytest_bias.models.journal import Page
from pytest_bias.models.reads import ReadBatch, Reads, padded_matrix
from pytest_bias.models.rows import Row, distinct
from pytest_bias.models.tokens import Encoded, Tokens, Unreadable
from pytest_bias.records.report import canonical_json, sha256

Exchange = Callable[[torch.Tensor], torch.Tensor]
Inputs: TypeAlias = dict[str, torch.Tensor]
"""Arguments of a call of the network."""
Ints: TypeAlias = NDArray[np.int64]
Numbers = TypeVar("Numbers", np.float32, np.float64)
Asked = TypeVar("Asked")
Planned: TypeAlias = Sequence[int | None]
"""Reads of the tokens of a text; None for a first token without context."""


class _Captured(Exception):
    """Ends a forward before the head."""


@dataclass
class Transformer(Forwards):
    """Answers questions about token ids; see `Forwards` for its parameters."""

    takes_types: bool = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        config = self.network.config
        # Other networks misinterpret token types: GPT-2 adds them as words.
        self.takes_types = (getattr(config, "type_vocab_size", None) or 0) > 1 and (
            "token_type_ids" in signature(self.network.forward).parameters
        )

    @property
    def reader(self) -> Any:
        """The part of the network that maps token ids to hidden states of a text."""
        if self.network.config.is_encoder_decoder:
            return self.network.get_encoder()
        return self.network.base_model

    def inputs(self, ids: torch.Tensor, mask: torch.Tensor) -> dict[str, Any]:
        """Return the network's arguments for predictions at the positions of `ids`."""
        return {"input_ids": ids, "attention_mask": mask}

    @contextmanager
    def prompted(self, start: Sequence[int] | None) -> Iterator[None]:
        """Let reads be of what follows a prompt; `start` begins a separate decoder, if any."""
        yield

    def log_probabilities(
        self, reads: Reads, what: str = "log_probabilities"
    ) -> NDArray[np.float64]:
        """Return the natural-log probability in nats of every read, shape (n_reads,).

        `what` distinguishes stored answers about equal reads of different inputs.
        Logits are cast to float32 before the log-softmax, regardless of the dtype of the weights.
        """
        found = np.full(len(reads), np.nan)
        page = self.page(what, reads.digest)
        for which, logp in page.kept():
            found[which] = logp
        answers: list[tuple[NDArray[np.int64], torch.Tensor]] = []

        def gather(batch: ReadBatch, logits: torch.Tensor, start: int) -> None:
            wanted = _in_chunk(batch, start, len(logits))
            at, target = sent(logits.device, batch.at[wanted] - start, batch.targets[wanted])
            # Not copied yet: waiting for every answer would leave the GPU idle.
            answers.append((batch.reads[wanted], logits.float().log_softmax(-1)[at, target]))

        def fetch() -> None:
            for which, logp in answers:
                found[which] = logp.double().cpu().numpy()
                page.add(which, found[which])
            answers.clear()
            page.flush()

        self._run(reads, gather, reads.rows_of(np.isnan(found)), page, fetch)
        return found if self.work is None else np.zeros_like(found)

    def top(self, reads: Reads, k: int) -> list[list[tuple[int, float]]]:
        """Return the `k` most likely tokens at every read's position, with log-probabilities."""
        found: list[list[tuple[int, float]]] = [[] for _ in range(len(reads))]

        def pick(batch: ReadBatch, logits: torch.Tensor, start: int) -> None:
            values, tokens = (t.tolist() for t in logits.float().log_softmax(-1).topk(k))
            for i in _in_chunk(batch, start, len(logits)):
                at = batch.at[i] - start
                found[batch.reads[i]] = list(zip(tokens[at], values[at], strict=True))

        left = np.ones(reads.n_rows, dtype=np.bool_)
        self._run(reads, pick, left, Page(), lambda: None)
        return found if self.work is None else [[(0, 0.0)] * k for _ in found]

    def predictions(
        self, texts: Sequence[str], k: int, place: Callable[[str], tuple[list[int], int, bool]]
    ) -> list[Prediction]:
        """Return the `k` most likely tokens at one position of every text.

        `place` returns for a text its ids, a position, and whether to mask it; or raises
        `Unreadable`.
        """
        if not 1 <= k <= self.vocabulary:
            raise ValueError(f"k is {k}; it must be from 1 to {self.vocabulary}, the vocabulary")
        reads = Reads(self.tokens.mask_id)
        planned: list[int | str] = []
        for text in texts:
            try:
                ids, position, mask = place(text)
                planned.append(reads.add(ids, position, 0, mask=mask))
            except Unreadable as reason:
                planned.append(str(reason))
        top = self.top(reads, k)
        word = {token: self.tokens.word(token) for found in top for token, _ in found}
        return [
            Prediction((), (), which)
            if isinstance(which, str)
            else Prediction(
                tuple(word[token] for token, _ in top[which]), tuple(p for _, p in top[which])
            )
            for which in planned
        ]

    def sentence_scores(
        self,
        texts: list[str],
        plan: Callable[[Encoded, Reads], Planned],
        tokens: Tokens | None = None,
    ) -> list[SequenceScore]:
        """Score texts whose reads are planned by a function; sums are in float64."""
        tokens = tokens or self.tokens
        tokens.prepare(texts)
        found = self.sums(texts, lambda text, reads: plan(tokens.encode(text), reads))
        tokens.forget()
        return found

    def sums(
        self, asked: Sequence[Asked], plan: Callable[[Asked, Reads], Planned]
    ) -> list[SequenceScore]:
        """Sum the reads that a function plans for each input.

        `plan` raises `Unreadable` for an input that cannot be scored.
        """
        reads = Reads(self.tokens.mask_id)
        planned: list[Planned | str] = []
        for one in asked:
            try:
                planned.append(plan(one, reads))
            except Unreadable as reason:
                planned.append(str(reason))
        logp = self.log_probabilities(reads)

        def summed(which: Planned) -> SequenceScore:
            found = [read for read in which if read is not None]
            total = float(logp[found].sum())
            return SequenceScore(total, len(found), n_unscored=len(which) - len(found))

        return [
            SequenceScore(0.0, 0, which) if isinstance(which, str) else summed(which)
            for which in planned
        ]

    def embeddings(
        self, texts: list[str], pool: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    ) -> Embeddings:
        """Pool the last hidden states of every text; equal texts are forwarded once.

        `pool` takes hidden states (rows, length, dimension) and the attention mask (rows, length)
        and returns vectors (rows, dimension).
        """
        self.tokens.prepare(texts)
        rows, of, reasons = distinct(texts, lambda text: Row(self.tokens.encode(text).ids))
        self.tokens.forget()

        def ask(inputs: Inputs, which: Ints) -> torch.Tensor:
            hidden = self.reader(**inputs).last_hidden_state.float()
            return pool(hidden, inputs["attention_mask"].to(hidden.device))

        width = int(self.reader.config.get_text_config().hidden_size)
        void = np.zeros((max(1, len(rows)), width), dtype=np.float32)
        return Embeddings(self.answers(f"vectors, {pool}", rows, ask, void)[of], reasons)

    def answers(
        self,
        what: str,
        rows: Sequence[Row],
        ask: Callable[[Inputs, Ints], torch.Tensor],
        found: NDArray[Numbers],
        *,
        apart: Sequence[int] = (),
        max_rows: int | None = None,
    ) -> NDArray[Numbers]:
        """Forward every row once and return `found`, filled in.

        Parameters
        ----------
        what : str
            Name of the question, which distinguishes stored answers.
        rows : sequence of Row
            Sequences to forward; equal ones are not merged.
        ask : callable
            Maps inputs of the network, and the number of each one's row, to values of shape
            (inputs, width).
        found : array of shape (n_rows or more, width)
            Array for the answers.
        apart : sequence of int, optional
            Group of every row; rows of different groups do not share a batch.
        max_rows : int, optional
            Maximum number of rows of one batch.
        """
        lengths = [len(row.ids) for row in rows]
        groups = np.array(apart or [0] * len(rows), dtype=np.int64)

        def plan(budget: int, left: Left) -> Iterator[Batch]:
            limit = self.tokens.max_length
            for group in np.unique(groups):
                these = left & (groups == group)
                yield from batches(
                    lengths, limit=limit, budget=budget, max_positions=max_rows, left=these
                )

        def answer(batch: Batch) -> tuple[NDArray[Any], int]:
            these = [rows[row] for row in batch.rows]
            filled = {
                "input_ids": padded_matrix(
                    [r.ids for r in these], batch.length, self.tokens.pad_id
                ),
                "attention_mask": padded_matrix([[1] * len(r.ids) for r in these], batch.length, 0),
            }
            if self.takes_types and any(r.types for r in these):
                filled["token_type_ids"] = padded_matrix(
                    [r.types or [] for r in these], batch.length, 0
                )
            inputs = dict(zip(filled, sent(self.device, *filled.values()), strict=True))
            numbers = ask(inputs, batch.rows)[: batch.n].cpu().numpy()
            return numbers, sum(len(r.ids) for r in these[: batch.n])

        self.gather(found[: len(rows)], lambda: sha256(canonical_json([what, rows])), plan, answer)
        return found

    def _run(
        self,
        reads: Reads,
        consume: Callable[[ReadBatch, torch.Tensor, int], None],
        left: Left,
        page: Page,
        keep: Callable[[], None],
    ) -> None:
        """Forward the rows that are left; `consume` gets logits (positions, vocabulary) in chunks.

        Its last argument is the index of the chunk's first position.
        """

        def plan(budget: int, left: Left) -> Iterator[ReadBatch]:
            return reads.batches(
                pad_id=self.tokens.pad_id,
                limit=self.tokens.max_length,
                budget=budget,
                max_positions=min(self.max_logits // self.vocabulary, max(1, budget)),
                masked_multiple=MASKED_MULTIPLE.get(self.device.type, MULTIPLE),
                mixed=self.device.type != "cpu",
                left=left,
            )

        def answer(batch: ReadBatch) -> Done:
            for start, logits in self._logits(batch):
                consume(batch, logits, start)
            return batch.rows, int(batch.attention[: len(batch.rows)].sum())

        self.forward(left, plan, answer, page, keep)

    def _logits(self, batch: ReadBatch) -> Iterator[tuple[int, torch.Tensor]]:
        inputs = self._inputs(batch)

        def read(hidden: torch.Tensor) -> torch.Tensor:
            ((rows, columns),) = sent(hidden.device, batch.positions)
            return hidden[rows, columns]

        chunks = -(-batch.positions.shape[1] * self.vocabulary // self.max_logits)
        if chunks == 1:
            with self._exchanged(lambda hidden: read(hidden)[None]):
                yield 0, self.network(**inputs).logits[0]
            return
        hidden = read(self._hidden(inputs))
        ids, mask = sent(self.device, batch.ids[:1, :1], batch.attention[:1, :1])
        start = 0
        for chunk in hidden.tensor_split(chunks):
            # One token replaces the text; only the forward of the head is used.
            with self._exchanged(partial(_instead, chunk[None])):
                output = self.network(**self.inputs(ids, mask))
            yield start, output.logits[0]
            start += len(chunk)

    def _inputs(self, batch: ReadBatch) -> dict[str, Any]:
        if batch.branches is None or batch.places is None:
            return self.inputs(*sent(self.device, batch.ids, batch.attention))
        ids, branches, places = sent(self.device, batch.ids, batch.branches, batch.places)
        mask = apart(branches, self.network.dtype)
        return {"input_ids": ids, "attention_mask": mask, "position_ids": places}

    def _hidden(self, inputs: Mapping[str, Any]) -> torch.Tensor:
        kept: list[torch.Tensor] = []

        def capture(hidden: torch.Tensor) -> torch.Tensor:
            kept.append(hidden)
            raise _Captured

        try:
            with self._exchanged(capture):
                self.network(**inputs)
        except _Captured:
            pass
        return kept[0]

    @contextmanager
    def _exchanged(self, exchange: Exchange) -> Iterator[None]:
        """Replace the hidden states that are passed to the head by `exchange`."""
        if self.kind is ModelKind.MASKED:

            def after_base(_module: Any, _inputs: Any, output: Any) -> Any:
                output.last_hidden_state = exchange(output.last_hidden_state)
                return output

            handle = self.network.base_model.register_forward_hook(after_base)
        else:

            def before_head(_module: Any, inputs: Any) -> Any:
                return (exchange(inputs[0]), *inputs[1:])

            handle = self.network.get_output_embeddings().register_forward_pre_hook(before_head)
        try:
            yield
        finally:
            handle.remove()


def apart(branches: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return an additive mask in which tokens see what is before them, but no other branch.

    Of shape (rows, 1, length, length): 0, or the lowest number where a token is not seen.
    `branches` of shape (rows, length) are numbers of branches, 0 for what all of them see.
    """
    seen = (branches[:, None] == branches[:, :, None]) | (branches[:, None] == 0)
    mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return mask.masked_fill_(~seen.tril_(), torch.finfo(dtype).min)[:, None]


def _instead(chunk: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    return chunk


def _in_chunk(batch: ReadBatch, start: int, length: int) -> NDArray[np.int64]:
    return np.flatnonzero((batch.at >= start) & (batch.at < start + length))
