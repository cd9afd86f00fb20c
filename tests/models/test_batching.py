"""What is asked of a model, the batches that answer it, and the kernels that compute them."""

import platform

import pytest
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from pytest_bias.models.batching import MIN_POSITIONS, MIN_TOKENS, batches, padded_length
from pytest_bias.models.packed import PackedConv1D, PackedLinear, pack
from pytest_bias.models.reads import Reads

LENGTHS = [5, 9, 5, 300, 9, 12, 5, 1]


@pytest.mark.parametrize("budget", [1, 64, 600, 10**6])
def test_every_row_is_in_one_batch_of_its_length(budget: int) -> None:
    found = list(batches(LENGTHS, limit=301, budget=budget))
    counted = [int(row) for batch in found for row in batch.rows[: batch.n]]
    assert sorted(counted) == list(range(len(LENGTHS)))
    for batch in found:
        assert {padded_length(LENGTHS[row], 301) for row in batch.rows} == {batch.length}
        assert len({LENGTHS[row] == batch.length for row in batch.rows}) == 1
        assert len(batch.rows) * batch.length >= MIN_TOKENS
        assert set(batch.rows[batch.n :]) <= {batch.rows[batch.n - 1]}


def test_longest_rows_come_first() -> None:
    # What does not fit into memory should fail at once.
    assert [b.length for b in batches(LENGTHS, limit=301, budget=64)] == [300, 12, 12, 8, 4]


def test_budget_and_rows_limit_a_batch() -> None:
    lengths = [100] * 50
    assert [b.n for b in batches(lengths, limit=512, budget=2000)] == [20, 20, 10]
    assert [b.n for b in batches(lengths, limit=512, budget=2000, max_positions=8)] == [8] * 6 + [2]
    assert [b.n for b in batches(lengths, limit=512, budget=0)] == [3] * 16 + [2]


def answers(reads: Reads, budget: int) -> tuple[dict[int, tuple[int, ...]], int]:
    """Return the row, position and target that answer every read, and the number of forwards."""
    found: dict[int, tuple[int, ...]] = {}
    n = 0
    for batch in reads.batches(pad_id=99, limit=512, budget=budget, max_positions=10**6):
        n += len(batch.rows)
        assert batch.positions.shape[1] >= MIN_POSITIONS
        for read, at, target in zip(batch.reads, batch.at, batch.targets, strict=True):
            row, column = batch.positions[:, at]
            text = batch.ids[row][batch.attention[row] == 1]
            assert set(batch.ids[row][len(text) :]) <= {99}
            found[int(read)] = (*map(int, text), int(column), int(target))
    return found, n


@pytest.mark.parametrize("budget", [1, 20, 10**6])
def test_reads_are_answered_where_they_stand(budget: int) -> None:
    reads = Reads(mask_id=0)
    asked = [
        (reads.add([7, 8, 9], 1, 8, mask=True), (7, 0, 9, 1, 8)),
        (reads.add([7, 8, 9], 1, 5, mask=True), (7, 0, 9, 1, 5)),
        (reads.add([7, 8, 9], 2, 9, mask=False), (7, 8, 9, 2, 9)),
        (reads.add([6, 8, 9, 4], 3, 4, mask=True), (6, 8, 9, 0, 3, 4)),
        (reads.add([7, 8, 9], 0, 7, mask=False), (7, 8, 9, 0, 7)),
    ]
    found, n = answers(reads, budget)
    assert found == dict(asked)
    assert n == reads.n_rows == 3


def test_what_was_asked_before_is_not_computed_again() -> None:
    reads = Reads(mask_id=0)
    first = reads.add([7, 8, 9], 1, 8, mask=True)
    assert reads.add((7, 8, 9), 1, 8, mask=True) == first
    assert len(reads) == reads.n_rows == 1


def test_nothing_asked_nothing_forwarded() -> None:
    assert list(Reads().batches(pad_id=0, limit=9, budget=64, max_positions=64)) == []


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(48, 96), nn.GELU(), Conv1D(48, 96), nn.Linear(48, 40, bias=False)
    ).eval()


@torch.inference_mode()
def test_packed_layers_give_the_same_numbers() -> None:
    plain, packed = network(), network()
    pack(packed)
    inputs = torch.randn(3, 11, 48)
    assert torch.allclose(packed(inputs), plain(inputs), atol=1e-5)
    assert packed.state_dict().keys() == plain.state_dict().keys()


@torch.inference_mode()
@pytest.mark.skipif(platform.machine() != "x86_64", reason="layers are packed on x86 alone")
def test_packed_layers_give_the_same_bits_for_every_number_of_rows() -> None:
    packed = network()
    pack(packed)
    assert [type(m) for m in packed] == [PackedLinear, nn.GELU, PackedConv1D, PackedLinear]
    inputs = torch.randn(700, 48)
    whole = packed(inputs)
    for n in (2, 3, 7, 8, 9, 17, 33, 64, 129, 256, 511):
        assert torch.equal(packed(inputs[5 : 5 + n].contiguous()), whole[5 : 5 + n]), n


def test_other_precisions_and_derived_layers_are_left_alone() -> None:
    class Own(nn.Linear):
        pass

    half = nn.Sequential(nn.Linear(8, 8).to(torch.bfloat16), Own(8, 8))
    pack(half)
    assert [type(m) for m in half] == [nn.Linear, Own]


@pytest.mark.parametrize(("length", "padded"), [(1, 4), (4, 4), (5, 8), (13, 14), (14, 14)])
def test_padding_ends_where_the_model_ends(length: int, padded: int) -> None:
    assert padded_length(length, 14) == padded
    reads = Reads()
    reads.add(list(range(length)), 0, 0, mask=False)
    (batch,) = reads.batches(pad_id=99, limit=14, budget=0, max_positions=64)
    assert batch.ids.shape == (-(-MIN_TOKENS // padded), padded)
    assert len(batch.rows) == 1
