"""On a GPU: the same bits whatever the batch, and the CPU's numbers within the stated noise."""

import random

import pytest
import torch

from parity import ours
from pytest_bias.models import load
from pytest_bias.records import records_digest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this PyTorch sees no GPU"),
]

NOISE_NATS = 1e-3
TIE_NATS = 1e-4
SUITES = {
    "bert-tiny": ("crows_pairs", "gendered_pair_entropy", "template_association", "seat"),
    "byte-level": ("crows_pairs", "template_association", "seat"),
    "gpt2": ("crows_pairs", "gendered_pair_entropy", "seat"),
    "llama": ("crows_pairs", "gendered_pair_entropy", "seat"),
}
CASES = [(name, suite) for name, suites in SUITES.items() for suite in suites]


@pytest.mark.parametrize(("name", "suite"), CASES)
def test_same_bits_on_the_gpu_and_the_numbers_of_the_cpu(
    name, suite, checkpoint, data_dir, measured
):
    items = ours.items(suite, "en", data_dir)
    items = items[:: -(-len(items) // 400)]
    folder = str(checkpoint(name))
    shuffled = random.Random(7).sample(items, len(items))
    found = [
        ours.records(suite, load(folder, device="cuda", dtype="float32", budget=budget), order)
        for budget, order in ((16384, items), (64, shuffled), (2048, items), (10**6, shuffled))
    ]
    assert len({records_digest(records) for records in found}) == 1

    on_gpu = {r.item: r for r in found[0]}
    on_cpu = ours.records(suite, ours.model(checkpoint(name)), items)
    assert {r.item: r.status for r in on_cpu} == {r.item: r.status for r in found[0]}
    pairs = [(r.value, on_gpu[r.item].value) for r in on_cpu if r.value is not None]
    largest = max(abs(a - b) for a, b in pairs)
    measured(f"{suite}, GPU against CPU", largest, "")
    assert largest < NOISE_NATS
    if suite == "crows_pairs":
        assert all(abs(a) <= TIE_NATS or (a > 0) == (b > 0) for a, b in pairs)
