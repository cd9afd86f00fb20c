"""Execution of batches: recovery from lack of memory, stored answers, counting of work."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.attention import SDPBackend, sdpa_kernel

from pytest_bias.errors import MeasurementError
from pytest_bias.models.batching import MIN_TOKENS, Batch
from pytest_bias.models.interface import ModelKind
from pytest_bias.models.journal import Journal, Page
from pytest_bias.models.memory import room_for
from pytest_bias.models.meter import Meter, Work
from pytest_bias.models.placing import devices_of, input_device
from pytest_bias.models.reads import ReadBatch
from pytest_bias.models.tokens import Tokens

Left: TypeAlias = NDArray[np.bool_]
"""Mask of the rows that remain."""
Done: TypeAlias = tuple[NDArray[np.int64], int]
"""The rows that a batch completed, and their number of tokens."""
AnyBatch = TypeVar("AnyBatch", Batch, ReadBatch)

ATTENTION: Final = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
"""All kernels except cuDNN's, which compiles for every batch shape: seconds in half precision,
where the forwards of a suite take less than one."""


@dataclass
class Forwards:
    """Runs a network batch by batch.

    Parameters
    ----------
    network : torch.nn.Module
        A transformers model in evaluation mode, on its device or spread over several.
    kind : ModelKind
        Determines where hidden states are replaced.
    tokens : Tokens
        The model's tokenizer.
    meter : Meter
        Records every forward.
    budget : int, optional
        Tokens of one batch; by default what fits in the device's memory.
    journal : Journal, optional
        Storage of answers, so that an interrupted run can be resumed.
    work : Work, optional
        If set, forwards are counted there instead of run, and answers are zeros.
    without_gradients : callable
        Context of every forward. What a network keeps of a forward in inference mode, such as
        tables of positions, could not be trained with.
    """

    network: Any
    kind: ModelKind
    tokens: Tokens
    meter: Meter
    budget: int = 0
    journal: Journal | None = None
    work: Work | None = None
    without_gradients: Callable[[], AbstractContextManager[Any]] = torch.inference_mode
    _opened: set[Path | None] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        self.network.eval()
        self.device = input_device(self.network)
        self.devices = devices_of(self.network)
        room = room_for(self.network, self._gpus)
        self.budget, self.max_logits = self.budget or room.tokens, room.logits
        text = self.network.config.get_text_config()
        self.vocabulary = int(text.vocab_size)
        # The key-value cache is for generation; here it would only use memory.
        text.use_cache = False

    def gather(
        self,
        found: NDArray[Any],
        question: Callable[[], str],
        plan: Callable[[int, Left], Iterator[Batch]],
        answer: Callable[[Batch], tuple[NDArray[Any], int]],
    ) -> None:
        """Fill the rows of an array, batch by batch, reusing answers in the journal.

        `answer` returns the answers to the first `n` rows of a batch and their number of tokens;
        `question` names everything that determines them besides the model.
        """
        page = self.page("rows", question)
        left = np.ones(len(found), dtype=np.bool_)
        for which, kept in page.kept():
            found[which], left[which] = kept, False

        def work(batch: Batch) -> Done:
            done = batch.rows[: batch.n]
            found[done], tokens = answer(batch)
            page.add(done, found[done])
            return done, tokens

        self.forward(left, plan, work, page, page.flush)

    def page(self, what: str, digest: Callable[[], str]) -> Page:
        """Return the storage for the answers to a question."""
        return self.journal.page(f"{what}: {digest()}") if self.journal else Page()

    def forward(
        self,
        left: Left,
        plan: Callable[[int, Left], Iterator[AnyBatch]],
        work: Callable[[AnyBatch], Done],
        page: Page,
        keep: Callable[[], None],
    ) -> None:
        """Process batches, reducing their size when memory runs out.

        `keep` is called at the end, and whenever the page is due.
        """
        if self.work is not None:
            for batch in plan(self.budget, left):
                self.work.tokens += batch.n_tokens
                self.work.positions += batch.n_positions
            return
        if known := int((~left).sum()):
            self.meter.resumed += known
            # Answers of this run itself, to another suite, are not reported.
            if page.path not in self._opened:
                self.meter.notice(
                    f"{known} of {len(left)} sequences were completed by an earlier run"
                )
        self._opened.add(page.path)

        def attempt() -> str | None:
            """Process batches until memory runs out; returns the library's message, or None.

            Returning releases the exception, and with it the tensors of the failed forward.
            """
            try:
                with self.without_gradients(), sdpa_kernel(ATTENTION):
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
            self.wait()
            keep()
        finally:
            self.meter.seconds += time.perf_counter() - start

    def wait(self) -> None:
        """Wait until every GPU has finished its work."""
        for device in self._gpus:
            torch.cuda.synchronize(device)

    def _halve(self, error: str) -> None:
        if self.budget <= MIN_TOKENS:
            raise MeasurementError(
                f"{self._where} ran out of memory on the smallest batch: {error}",
                "Use a smaller --dtype (bfloat16), another --device, or --device-map auto to "
                "spread the model over several.",
            )
        self.budget = max(MIN_TOKENS, self.budget // 2)
        self.max_logits = max(self.vocabulary, self.max_logits // 2)
        self.meter.notice(
            f"{self._where} ran out of memory: batches of at most {self.budget} tokens from now on."
        )
        if self._gpus:
            # On every GPU.
            torch.cuda.empty_cache()

    @property
    def _where(self) -> str:
        return ", ".join(self.devices)

    @property
    def _gpus(self) -> list[str]:
        return [name for name in self.devices if name.startswith("cuda")]


def sent(device: torch.device, *arrays: NDArray[np.int64]) -> Iterator[torch.Tensor]:
    """Copy arrays to a device asynchronously."""
    for array in arrays:
        tensor = torch.from_numpy(array)
        if device.type == "cuda":
            tensor = tensor.pin_memory()
        yield tensor.to(device, non_blocking=True)
