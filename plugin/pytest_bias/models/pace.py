"""Speed of a model on its device, measured with a few small batches of arbitrary tokens.

Speed does not depend on the tokens, so nothing has to be planned; neither meter nor journal is
used.
"""

import time
from typing import TYPE_CHECKING, Final

import numpy as np
from torch.nn.attention import sdpa_kernel

from pytest_bias.models.batching import MIN_TOKENS
from pytest_bias.models.forwards import ATTENTION, sent
from pytest_bias.models.meter import Pace
from pytest_bias.models.reads import ReadBatch

if TYPE_CHECKING:
    from pytest_bias.models.transformer import Transformer

LENGTH: Final = 16
"""Tokens per row: about the length of a sentence in most suites."""

LONG_ENOUGH_S: Final = 0.1
"""A batch that takes less time is not conclusive, so a larger one is tried."""


def pace_of(body: "Transformer") -> Pace:
    """Time batches with one position per row for the head, then with more of them.

    Batches grow until one takes long enough to measure, or is as large as those of a run.
    """
    tokens = MIN_TOKENS
    while (few := _seconds(body, tokens, 1)) < LONG_ENOUGH_S and tokens < body.budget:
        tokens = min(4 * tokens, body.budget)
    if few < 5 * LONG_ENOUGH_S:
        few = min(few, _seconds(body, tokens, 1))
    rows = tokens // LENGTH
    if not body.kind.facts.predicts_tokens:
        return Pace(few / (rows * LENGTH), 0.0)
    position_s = 0.0
    for per_row in (2, LENGTH):
        more = max(0.0, _seconds(body, tokens, per_row) - few)
        position_s = more / (rows * (per_row - 1))
        if more > few / 2:
            break
    # A head that is as slow as all layers together makes them hard to separate.
    return Pace(max(few - rows * position_s, few / 10) / (rows * LENGTH), position_s)


def _seconds(body: "Transformer", tokens: int, per_row: int) -> float:
    batch = _batch(body, tokens // LENGTH, per_row)
    start = time.perf_counter()
    with body.without_gradients(), sdpa_kernel(ATTENTION):
        if body.kind.facts.predicts_tokens:
            for _, logits in body._logits(batch):
                logits.float().log_softmax(-1)
        else:
            ids, mask = sent(body.device, batch.ids, batch.attention)
            body.reader(input_ids=ids, attention_mask=mask)
    body.wait()
    return time.perf_counter() - start


def _batch(body: "Transformer", n_rows: int, per_row: int) -> ReadBatch:
    count = np.arange(n_rows * LENGTH, dtype=np.int64)
    rows, columns = np.divmod(np.arange(n_rows * per_row, dtype=np.int64), per_row)
    return ReadBatch(
        rows=np.arange(n_rows, dtype=np.int64),
        ids=(count % body.vocabulary).reshape(n_rows, LENGTH),
        attention=np.ones((n_rows, LENGTH), dtype=np.int64),
        positions=np.stack([rows, columns]),
        reads=np.arange(len(rows)),
        at=np.arange(len(rows)),
        targets=np.zeros(len(rows), dtype=np.int64),
    )
