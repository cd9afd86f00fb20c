"""The same bits whatever the batch: budget, order, padding side, number of threads, second load."""

import random

import pytest
import torch

import ours
import plain
import tiny_models
from loops import threads
from pytest_bias.errors import MeasurementError
from pytest_bias.records.report import records_digest

ENTROPY, ASSOCIATION, SEAT = "gendered_pair_entropy", "template_association", "seat"
QUALITY, PERTURBATION = "general_quality", "perturbation"
SUITES = {
    "bert-tiny": ("crows_pairs", ENTROPY, ASSOCIATION, SEAT, "stereoset", "winobias"),
    "wordpiece": ("crows_pairs", ENTROPY, ASSOCIATION, SEAT, QUALITY, PERTURBATION),
    # Their 600 tokens hold no pair of gendered words, so that every item would be excluded.
    "byte-level": ("crows_pairs", ASSOCIATION, SEAT),
    "unigram": ("crows_pairs", ASSOCIATION, SEAT),
    "gpt2": ("crows_pairs", ENTROPY, SEAT, QUALITY, "winobias", PERTURBATION),
    "llama": ("crows_pairs", ENTROPY, SEAT),
    "encoder": (SEAT,),
    "minilm": (SEAT,),
}
CASES = [
    pytest.param(name, suite, marks=pytest.mark.slow if name == "minilm" else ())
    for name, suites in SUITES.items()
    for suite in suites
]
LARGE = 8192
AT_MOST = {"crows_pairs": 14, ENTROPY: 90, ASSOCIATION: 40, "stereoset": 16, "winobias": 24}
AT_MOST |= {PERTURBATION: 14, SEAT: 250}


def items_of(suite, data_dir):
    found = ours.items(suite, "en", data_dir)
    return found[:: -(-len(found) // AT_MOST.get(suite, len(found)))]


def digest(suite, model, items):
    records = ours.records(suite, model, items)
    assert any(r.status == "scored" for r in records)
    return records_digest(records)


@pytest.mark.by_day("encoder-seat", "byte-level-template_association")
@pytest.mark.parametrize(("name", "suite"), CASES)
def test_nothing_about_batches_changes_a_bit(name, suite, checkpoint, data_dir):
    items = items_of(suite, data_dir)
    shuffled = random.Random(7).sample(items, len(items))
    expected = digest(suite, ours.model(checkpoint(name), LARGE), items)

    assert digest(suite, ours.model(checkpoint(name), 64), shuffled) == expected, "order, budget 64"

    left = ours.model(checkpoint(name), 512)
    left.body.tokens.tokenizer.padding_side = "left"
    assert digest(suite, left, items) == expected, "padding side, budget 512"

    with threads(2):
        assert digest(suite, ours.model(checkpoint(name), LARGE), items) == expected, "threads"


@pytest.mark.by_day(
    name=(
        "wordpiece",
        "gpt2",
        "encoder",
    )
)
@pytest.mark.parametrize("name", ["wordpiece", "byte-level", "unigram", "gpt2", "llama", "encoder"])
def test_a_text_alone_gives_the_bits_that_it_gives_among_others(name, checkpoint):
    model = ours.model(checkpoint(name))
    texts = [f"{'he works ' * n}as a nurse." for n in (0, 1, 5, 20, 35, 80)]
    # Every length from well below the 128 tokens that these models take to above.
    texts += ["a " * n for n in range(110, 131)]
    if name == "encoder":
        together = model.embed(texts)
        for i, text in enumerate(texts):
            alone = model.embed([text])
            assert alone.reasons[0] == together.reasons[i]
            assert together.reasons[i] or (alone.vectors[0] == together.vectors[i]).all()
        assert sum(map(bool, together.reasons)) >= 2
        return
    together = model.score(texts)
    assert [model.score([text])[0] for text in texts] == together
    assert sum(s.reason is not None for s in together) >= 2
    assert max(s.n_tokens for s in together) >= 126


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["wordpiece", "gpt2", "encoder"])
def test_another_load_gives_the_same_digest_and_other_weights_another(
    name, checkpoint, data_dir, tmp_path
):
    load = {"wordpiece": plain.masked, "gpt2": plain.causal, "encoder": plain.encoder}[name]
    tokenizer, network = load(checkpoint(name))
    other = tiny_models.save(type(network), network.config, tokenizer, tmp_path / "other", seed=1)
    for suite in SUITES[name]:
        items = items_of(suite, data_dir)[:30]
        first, second = (digest(suite, ours.model(checkpoint(name)), items) for _ in range(2))
        assert first == second
        assert digest(suite, ours.model(other), items) != first


@pytest.mark.parametrize(("name", "suite"), [("wordpiece", "crows_pairs"), ("encoder", SEAT)])
def test_memory_that_runs_out_costs_no_number(name, suite, checkpoint, data_dir):
    items = items_of(suite, data_dir)
    expected = digest(suite, ours.model(checkpoint(name), LARGE), items)
    model, said = ours.model(checkpoint(name), LARGE), []

    def full(_module, _inputs, named):
        if named["input_ids"].numel() > 600:
            raise torch.OutOfMemoryError("600 tokens fit")

    model.body.network.register_forward_pre_hook(full, with_kwargs=True)
    model.meter.on_notice = said.append
    assert digest(suite, model, items) == expected
    # 8192, 4096, 2048, 1024, 512
    assert len(said) == 4
    assert "at most 512 tokens" in said[-1]


def test_memory_that_never_suffices_is_an_error(checkpoint, data_dir):
    model = ours.model(checkpoint("wordpiece"))

    def full(_module, _inputs):
        raise torch.OutOfMemoryError("nothing fits")

    model.body.network.register_forward_pre_hook(full)
    with pytest.raises(MeasurementError, match="out of memory on the smallest batch"):
        model.score(["He is a nurse."])
