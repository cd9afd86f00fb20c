"""The head for pairs of texts: which checkpoints have it, and how its classes are told apart."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

import tiny_models
from pytest_bias.errors import ModelError
from pytest_bias.models import describe, load
from pytest_bias.models.interface import Capability
from pytest_bias.models.next_sentence import PROBES

PAIRS = [*PROBES, *[(a, PROBES[(n + 3) % 6][1]) for n, (a, _) in enumerate(PROBES)]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    return [tiny_models.bert_with_pairs(folder / str(n), n) for n in (0, 1)]


def test_the_class_that_follows_is_found_by_asking(folders):
    odds = []
    for follows, folder in enumerate(folders):
        model = load(str(folder), device="cpu")
        assert model.following.follows == follows
        found = model.next_sentence(PAIRS)
        assert all(f.reason is None for f in found)
        odds.append([f.log_odds for f in found])
    # The same model, its classes exchanged.
    assert odds[0] == pytest.approx(odds[1])
    assert sum(odds[0][:6]) > sum(odds[0][6:])


def test_the_capability_is_known_before_weights_and_by_the_class_alone(folders, tiny):
    assert Capability.NEXT_SENTENCE in describe(str(folders[0])).capabilities
    assert Capability.NEXT_SENTENCE not in describe(str(tiny("bert"))).capabilities
    model = load(str(tiny("bert")), device="cpu")
    with pytest.raises(TypeError, match="no next_sentence"):
        model.next_sentence(PAIRS)


def test_a_head_that_does_not_tell_leaves_pairs_without_an_answer(tmp_path):
    folder = tiny_models.bert_with_pairs(tmp_path / "same", tells=False)
    found = load(str(folder), device="cpu").next_sentence(PAIRS[:2])
    why = "the model's head does not tell sentences that follow from others"
    assert [f.reason for f in found] == [why, why]


def test_a_pair_that_cannot_be_read_has_a_reason(folders):
    model = load(str(folders[0]), device="cpu")
    found = model.next_sentence([("A", ""), ("a " * 100, "b " * 100), PROBES[0]])
    assert [f.reason for f in found] == ["empty text", "203 tokens, the model takes 128", None]


def test_a_pair_does_not_depend_on_its_company(folders):
    model = load(str(folders[0]), device="cpu")
    alone = [model.next_sentence([pair])[0] for pair in PAIRS]
    assert model.next_sentence(PAIRS) == alone
    assert load(str(folders[0]), device="cpu", budget=64).next_sentence(PAIRS[::-1])[::-1] == alone


def test_a_checkpoint_without_the_head_of_its_class_is_refused(folders, tmp_path):
    folder = tmp_path / "cut"
    folder.mkdir()
    for path in folders[0].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    weights = load_file(folder / "model.safetensors")
    kept = {k: v for k, v in weights.items() if "seq_relationship" not in k}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"not a complete BertForPreTraining.*seq_relationship"):
        load(str(folder), device="cpu")
    # By the name of what it holds it is a masked model.
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["architectures"] = ["BertForMaskedLM"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert Capability.NEXT_SENTENCE not in load(str(folder), device="cpu").capabilities


def test_words_at_a_mask_are_the_same_with_and_without_the_head(folders):
    from transformers import BertForMaskedLM

    model = load(str(folders[0]), device="cpu")
    text = "The cook sang a song."
    network = BertForMaskedLM.from_pretrained(folders[0]).eval()
    tokenizer = model.body.tokens.tokenizer
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.no_grad():
        logp = network(ids).logits[0].log_softmax(-1)
    expected = sum(float(logp[p, ids[0, p]]) for p in range(1, ids.shape[1] - 1))
    assert model.unmasked_log_likelihood([text])[0].total == pytest.approx(expected, abs=1e-4)
