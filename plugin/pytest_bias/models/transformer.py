"""One transformers model on one device: forwards, and nothing that a suite would recognise.

The head runs only at the positions that are needed, and it is the model's own head with all that
belongs to it (soft-capping, logit scales): hidden states are exchanged on the way into it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from pytest_bias.errors import MeasurementError
from pytest_bias.interface import Embeddings, Meter, ModelKind, SequenceScore, Work
from pytest_bias.models.batching import MAX_LOGITS, MIN_TOKENS, TOKEN_BUDGET, Batch, batches
from pytest_bias.models.journal import Journal, Page
from pytest_bias.models.reads import ReadBatch, Reads
from pytest_bias.models.tokens import Encoded, Tokens, Unreadable
from pytest_bias.records import canonical_json, sha256

Exchange = Callable[[torch.Tensor], torch.Tensor]
Left: TypeAlias = NDArray[np.bool_]
"""Which rows are still to be done."""
Done: TypeAlias = tuple[NDArray[np.int64], int]
"""The rows that a batch did, and how many tokens they have."""
AnyBatch = TypeVar("AnyBatch", Batch, ReadBatch)


class _Captured(Exception):
    """Ends a forward in front of the head."""


@dataclass
class Transformer:
    """Runs a network on batches of token ids.

    Parameters
    ----------
    network : torch.nn.Module
        A transformers model in evaluation mode, on its device.
    kind : ModelKind
        Decides where hidden states are exchanged.
    tokens : Tokens
        The model's tokenizer.
    budget : int, optional
        Tokens of one batch; by default what suits the device.
    journal : Journal, optional
        Where answers are kept, for a run that is killed.
    work : Work, optional
        While it is set, forwards are added up there instead of made, and answers are zeros.
    """

    network: Any
    kind: ModelKind
    tokens: Tokens
    meter: Meter
    budget: int = 0
    journal: Journal | None = None
    work: Work | None = None
    vocabulary: int = field(init=False)

    def __post_init__(self) -> None:
        self.network.eval()
        self.device = next(self.network.parameters()).device
        self.budget = self.budget or TOKEN_BUDGET.get(self.device.type, TOKEN_BUDGET["cpu"])
        self.vocabulary = int(self.network.config.get_text_config().vocab_size)

    def log_probabilities(self, reads: Reads) -> NDArray[np.float64]:
        """Answer every read: natural-log probabilities in nats, shape (n_reads,).

        Logits are cast to float32 before the log-softmax, whatever the dtype of the weights.
        """
        found = np.full(len(reads), np.nan)
        page = self._page("log_probabilities", reads.digest)
        for which, logp in page.kept():
            found[which] = logp
        answers: list[tuple[NDArray[np.int64], torch.Tensor]] = []

        def gather(batch: ReadBatch, logits: torch.Tensor, start: int) -> None:
            wanted = _in_chunk(batch, start, len(logits))
            at, target = self._sent(batch.at[wanted] - start, batch.targets[wanted])
            # Not fetched yet: to wait for every answer would leave a GPU without work.
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
        """Return the `k` likeliest tokens at the position of every read, with log-probabilities."""
        found: list[list[tuple[int, float]]] = [[] for _ in range(len(reads))]

        def pick(batch: ReadBatch, logits: torch.Tensor, start: int) -> None:
            values, tokens = (t.tolist() for t in logits.float().log_softmax(-1).topk(k))
            for i in _in_chunk(batch, start, len(logits)):
                at = batch.at[i] - start
                found[batch.reads[i]] = list(zip(tokens[at], values[at], strict=True))

        left = np.ones(reads.n_rows, dtype=np.bool_)
        self._run(reads, pick, left, Page(), lambda: None)
        return found if self.work is None else [[(0, 0.0)] * k for _ in found]

    def sentence_scores(
        self, texts: list[str], plan: Callable[[Encoded, Reads], list[int]]
    ) -> list[SequenceScore]:
        """Score texts whose reads a function plans; sums are taken in float64."""
        reads = Reads(self.tokens.mask_id)
        planned: list[list[int] | str] = []
        self.tokens.prepare(texts)
        for text in texts:
            try:
                planned.append(plan(self.tokens.encode(text), reads))
            except Unreadable as reason:
                planned.append(str(reason))
        logp = self.log_probabilities(reads)
        self.tokens.forget()
        return [
            SequenceScore(0.0, 0, which)
            if isinstance(which, str)
            else SequenceScore(float(logp[which].sum()), len(which))
            for which in planned
        ]

    def embeddings(
        self, texts: list[str], pool: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    ) -> Embeddings:
        """Pool the last hidden states of every text, each text read once.

        `pool` takes hidden states (rows, length, dimension) and the attention mask (rows, length)
        and returns vectors (rows, dimension).
        """
        self.tokens.prepare(texts)
        reasons: dict[str, str | None] = {}
        rows: dict[str, int] = {}
        sequences: list[list[int]] = []
        for text in dict.fromkeys(texts):
            try:
                sequences.append(self.tokens.encode(text).ids)
                rows[text], reasons[text] = len(sequences) - 1, None
            except Unreadable as reason:
                rows[text], reasons[text] = 0, str(reason)
        self.tokens.forget()
        width = int(self.network.config.get_text_config().hidden_size)
        vectors = np.zeros((max(1, len(sequences)), width), dtype=np.float32)
        lengths = [len(ids) for ids in sequences]
        page = self._page(f"vectors, {pool}", lambda: sha256(canonical_json(sequences)))
        missing = np.ones(len(sequences), dtype=np.bool_)
        for which, kept in page.kept():
            vectors[which], missing[which] = kept, False

        def plan(budget: int, left: Left) -> Iterator[Batch]:
            return batches(lengths, limit=self.tokens.max_length, budget=budget, left=left)

        def embed(batch: Batch) -> Done:
            ids = np.full((len(batch.rows), batch.length), self.tokens.pad_id, dtype=np.int64)
            attention = np.zeros_like(ids)
            for i, row in enumerate(batch.rows):
                ids[i, : lengths[row]] = sequences[row]
                attention[i, : lengths[row]] = 1
            inputs, mask = self._sent(ids, attention)
            output = self.network.base_model(input_ids=inputs, attention_mask=mask)
            pooled = pool(output.last_hidden_state.float(), mask)[: batch.n]
            done = batch.rows[: batch.n]
            vectors[done] = pooled.cpu().numpy()
            page.add(done, vectors[done])
            return done, int(attention[: batch.n].sum())

        self._forward(missing, plan, embed, page, page.flush)
        return Embeddings(vectors[[rows[t] for t in texts]], tuple(reasons[t] for t in texts))

    def _page(self, what: str, digest: Callable[[], str]) -> Page:
        return self.journal.page(f"{what}: {digest()}") if self.journal else Page()

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
                max_positions=min(MAX_LOGITS // self.vocabulary, max(1, budget)),
                left=left,
            )

        def answer(batch: ReadBatch) -> Done:
            for start, logits in self._logits(batch):
                consume(batch, logits, start)
            return batch.rows, int(batch.attention[: len(batch.rows)].sum())

        self._forward(left, plan, answer, page, keep)

    def _forward(
        self,
        left: Left,
        plan: Callable[[int, Left], Iterator[AnyBatch]],
        work: Callable[[AnyBatch], Done],
        page: Page,
        keep: Callable[[], None],
    ) -> None:
        """Work through batches; with less memory than thought, through smaller ones.

        `keep` is called at the end, and whenever the page is due.
        """
        if self.work is not None:
            for batch in plan(self.budget, left):
                self.work.tokens += batch.n_tokens
                self.work.positions += batch.n_positions
            return
        if known := int((~left).sum()):
            self.meter.resumed += known
            self.meter.notice(f"{known} of {len(left)} sequences were done by a run before")

        def attempt() -> str | None:
            """Work until memory runs out; returns what the library said of it.

            Its return lets go of the exception, and so of the tensors of the forward that failed.
            """
            try:
                with torch.inference_mode():
                    for batch in plan(self.budget, left):
                        rows, tokens = work(batch)
                        left[rows] = False
                        self.meter.tokens += tokens
                        self.meter.forwards += len(rows)
                        self.meter.progress(len(left) - int(left.sum()), len(left))
                        if page.is_due:
                            keep()
            except torch.OutOfMemoryError as error:
                return str(error)
            return None

        start = time.perf_counter()
        try:
            while left.any():
                if error := attempt():
                    self._halve(error)
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            keep()
        finally:
            self.meter.seconds += time.perf_counter() - start

    def _halve(self, error: str) -> None:
        if self.budget <= MIN_TOKENS:
            raise MeasurementError(
                f"{self.device} ran out of memory on the smallest batch: {error}",
                "Use a smaller --dtype (bfloat16) or another --device.",
            )
        self.budget = max(MIN_TOKENS, self.budget // 2)
        self.meter.notice(
            f"{self.device} ran out of memory: batches of at most {self.budget} tokens from now on."
        )
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _sent(self, *arrays: NDArray[np.int64]) -> Iterator[torch.Tensor]:
        """Send arrays to the device without waiting for them to arrive."""
        for array in arrays:
            tensor = torch.from_numpy(array)
            if self.device.type == "cuda":
                tensor = tensor.pin_memory()
            yield tensor.to(self.device, non_blocking=True)

    def _logits(self, batch: ReadBatch) -> Iterator[tuple[int, torch.Tensor]]:
        inputs, mask, (rows, columns) = self._sent(batch.ids, batch.attention, batch.positions)
        chunks = -(-len(rows) * self.vocabulary // MAX_LOGITS)
        if chunks == 1:
            with self._exchanged(lambda hidden: hidden[rows, columns][None]):
                yield 0, self.network(input_ids=inputs, attention_mask=mask).logits[0]
            return
        hidden = self._hidden(inputs, mask)[rows, columns]
        start = 0
        for chunk in hidden.tensor_split(chunks):
            # One token stands in for the text; only its way through the head is used.
            with self._exchanged(partial(_instead, chunk[None])):
                output = self.network(input_ids=inputs[:1, :1], attention_mask=mask[:1, :1])
            yield start, output.logits[0]
            start += len(chunk)

    def _hidden(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        kept: list[torch.Tensor] = []

        def capture(hidden: torch.Tensor) -> torch.Tensor:
            kept.append(hidden)
            raise _Captured

        try:
            with self._exchanged(capture):
                self.network(input_ids=inputs, attention_mask=mask)
        except _Captured:
            pass
        return kept[0]

    @contextmanager
    def _exchanged(self, exchange: Exchange) -> Iterator[None]:
        """Let `exchange` replace the hidden states on their way into the head."""
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


def device_name(device: torch.device) -> str:
    """Return the name of a GPU, else the kind of device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def _instead(chunk: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    return chunk


def _in_chunk(batch: ReadBatch, start: int, length: int) -> NDArray[np.int64]:
    return np.flatnonzero((batch.at >= start) & (batch.at < start + length))
