"""Which class is which kind."""

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bias.errors import ModelError
from pytest_bias.models.kind_table import CHECKPOINTS, KINDS, Capability, ModelKind
from pytest_bias.models.kinds import SUPPORT, kind_of


def kind(architecture: str, model_type: str = "bert", **more: Any) -> ModelKind:
    about = {"architectures": [architecture], "model_type": model_type, **more}
    return kind_of(SimpleNamespace(**about), "org/name")[0]


@pytest.mark.parametrize(
    ("architecture", "model_type", "expected"),
    [
        ("BertForMaskedLM", "bert", "masked"),
        ("BertForPreTraining", "bert", "masked"),
        ("GPT2LMHeadModel", "gpt2", "causal"),
        ("BertModel", "bert", "encoder"),
        ("XLMRobertaForSequenceClassification", "xlm-roberta", "classifier"),
        ("DebertaV2ForSequenceClassification", "deberta-v2", "classifier"),
        ("LlamaForSequenceClassification", "llama", "classifier"),
        ("DistilBertForQuestionAnswering", "distilbert", "question-answering"),
    ],
)
def test_the_class_decides(architecture: str, model_type: str, expected: str) -> None:
    assert kind(architecture, model_type) == expected


@pytest.mark.parametrize(
    ("architecture", "model_type"),
    [
        # These stand in the library's table of masked models as well.
        ("BartForConditionalGeneration", "bart"),
        ("MBartForConditionalGeneration", "mbart"),
        ("T5ForConditionalGeneration", "t5"),
        ("MarianMTModel", "marian"),
        ("EncoderDecoderModel", "encoder-decoder"),
    ],
)
def test_seq2seq_comes_first(architecture: str, model_type: str) -> None:
    assert kind(architecture, model_type, is_encoder_decoder=True) == "seq2seq"


OWN = {
    "AutoModel": "own.OwnModel",
    "AutoModelForMaskedLM": "own.OwnForMaskedLM",
    "AutoModelForCausalLM": "own.OwnForCausalLM",
    "AutoModelForSeq2SeqLM": "own.OwnForCausalLM",
    "AutoModelForSequenceClassification": "own.OwnForSequenceClassification",
}


@pytest.mark.parametrize(
    ("architecture", "more", "expected"),
    [
        ("OwnForMaskedLM", {}, "masked"),
        ("OwnForSequenceClassification", {}, "classifier"),
        ("OwnModel", {}, "encoder"),
        ("OwnForCausalLM", {}, "causal"),
        ("OwnForCausalLM", {"is_encoder_decoder": True}, "seq2seq"),
        ("OwnForSomethingElse", {}, "masked"),
    ],
)
def test_own_classes(architecture: str, more: dict[str, Any], expected: str) -> None:
    assert kind(architecture, "own", auto_map=OWN, **more) == expected


@pytest.mark.parametrize(
    ("architecture", "model_type"),
    [
        ("BertForTokenClassification", "bert"),
        ("Qwen2AudioForConditionalGeneration", "qwen2_audio"),
        ("XLNetForQuestionAnswering", "xlnet"),
    ],
)
def test_others_are_refused_with_what_is_measured(architecture: str, model_type: str) -> None:
    with pytest.raises(ModelError, match=architecture) as refused:
        kind(architecture, model_type, is_encoder_decoder=False)
    for name in CHECKPOINTS:
        assert name.value in str(refused.value)


def test_every_kind_has_its_support_and_every_capability_its_words() -> None:
    assert set(KINDS) == set(ModelKind)
    asked = {ModelKind.APPLICATION, ModelKind.ANSWERS}
    assert set(SUPPORT) == set(CHECKPOINTS) == set(ModelKind) - asked
    assert all(c.words for c in Capability)
