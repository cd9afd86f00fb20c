"""On a GPU: the same run gives the same bits, another batch and the CPU the same numbers."""

import random

import pytest
import torch

import ours
from gpu_numbers import SPLIT_NOISE, gap, numbers
from pytest_bias.models import load, noise
from pytest_bias.records.report import records_digest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this PyTorch sees no GPU"),
]

NOISE = 1e-3
"""Nats a sentence, or cosine, between the devices."""
SUITES = {
    "bert-tiny": ("crows_pairs", "gendered_pair_entropy", "template_association", "seat"),
    "byte-level": ("crows_pairs", "template_association", "seat"),
    "gpt2": ("crows_pairs", "gendered_pair_entropy", "seat"),
    "llama": ("crows_pairs", "gendered_pair_entropy", "seat"),
}
CASES = [(name, suite) for name, suites in SUITES.items() for suite in suites]


@pytest.mark.parametrize(("name", "suite"), CASES)
def test_the_numbers_of_a_gpu(name, suite, checkpoint, data_dir, measured):
    items = ours.items(suite, "en", data_dir)
    items = items[:: -(-len(items) // 400)]
    folder = str(checkpoint(name))
    shuffled = random.Random(7).sample(items, len(items))
    first, again, *others = (
        ours.records(suite, load(folder, device="cuda", dtype="float32", budget=budget), order)
        for budget, order in ((0, items), (0, items), (64, shuffled), (2048, items))
    )
    assert records_digest(first) == records_digest(again)
    on_cpu = ours.records(suite, ours.model(checkpoint(name)), items)
    for what, records, most in (
        ("budget 64", others[0], SPLIT_NOISE),
        ("budget 2048", others[1], SPLIT_NOISE),
        ("CPU", on_cpu, NOISE),
    ):
        there = {r.item: r for r in records}
        assert {r.item: r.status for r in first} == {i: r.status for i, r in there.items()}
        largest = 0.0
        for record in first:
            for key, ours_, theirs in numbers(record, there[record.item]):
                largest = max(largest, abs(ours_ - theirs))
                if key == "value" and suite == "crows_pairs":
                    margins = [abs(gap(r)) for r in (record, there[record.item])]
                    assert ours_ == theirs or max(margins) <= most
                    continue
                assert abs(ours_ - theirs) < most, (what, record.item, key)
        measured(f"{suite}, {what} against the default", largest, "")


def test_a_full_memory_costs_time_and_no_number(checkpoint, data_dir):
    items = ours.items("crows_pairs", "en", data_dir)
    model = load(str(checkpoint("bert-tiny")), device="cuda", dtype="float32", budget=2**20)
    said = []
    model.meter.on_notice = said.append
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    expected = {r.item: r for r in ours.records("crows_pairs", model, items)}
    assert not said
    needed = torch.cuda.max_memory_allocated() - before
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(0).total_memory
    allowed = torch.cuda.memory_reserved() + needed // 2
    torch.cuda.set_per_process_memory_fraction(allowed / whole)
    try:
        found = ours.records("crows_pairs", model, items)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert said
    assert all("out of memory" in text for text in said)
    for record in found:
        for key, mine, other in numbers(record, expected[record.item]):
            assert key == "value" or abs(mine - other) < SPLIT_NOISE


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_samples_of_a_gpu_are_those_of_the_cpu(name, checkpoint, measured):
    prompts = [f"{'he works ' * k}as a nurse {w}" for k in (0, 1, 5) for w in ("and", "but he")]
    how = {"max_new_tokens": 8, "sample": True, "n": 20}
    model = load(str(checkpoint(name)), device="cuda", dtype="float32")
    found = model.generate(prompts, **how)
    assert model.generate(prompts, **how) == found
    pairs = zip(found, ours.model(checkpoint(name)).generate(prompts, **how), strict=True)
    different = sum(ours_ != theirs for ours_, theirs in pairs)
    measured(f"{name}, samples that differ from the CPU's", different, f"of {len(found)}")
    assert different <= 1


def test_the_noise_of_a_gpu_is_that_of_the_cpu():
    keys = [noise.key(0, k, "a prompt") for k in range(32)]
    there = noise.gumbel(keys, 50_000, "cuda").cpu()
    assert torch.equal(noise.uniform(keys, 50_000, "cuda").cpu(), noise.uniform(keys, 50_000))
    assert torch.allclose(there, noise.gumbel(keys, 50_000), atol=1e-5)
