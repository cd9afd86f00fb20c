"""Tiny models with random weights of the families that people publish, by model type."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import transformers

from tiny_models import ROBERTA_SPECIAL, SIZE, byte_level, save, unigram, wordpiece

ROPE: Mapping[str, Any] = {**SIZE, "max_position_embeddings": 128}
GROUPED: Mapping[str, Any] = {**ROPE, "num_key_value_heads": 2, "head_dim": 8}
PARTLY_ROTARY: Mapping[str, Any] = {**ROPE, "rotary_pct": 0.5}

MASKED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bert": ("BertForMaskedLM", ROPE),
    "roberta": ("RobertaForMaskedLM", {**ROPE, "max_position_embeddings": 130}),
    "camembert": ("CamembertForMaskedLM", {**ROPE, "max_position_embeddings": 130}),
    "xlm-roberta": ("XLMRobertaForMaskedLM", {**ROPE, "max_position_embeddings": 130}),
    "distilbert": (
        "DistilBertForMaskedLM",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 128},
    ),
    "albert": ("AlbertForMaskedLM", {**ROPE, "embedding_size": 16}),
    "electra": ("ElectraForMaskedLM", {**ROPE, "embedding_size": 16}),
    "mobilebert": (
        "MobileBertForMaskedLM",
        {**ROPE, "embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    ),
    "mpnet": ("MPNetForMaskedLM", {**ROPE, "max_position_embeddings": 130}),
    "deberta": (
        "DebertaForMaskedLM",
        {**ROPE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    ),
    "deberta-v2": (
        "DebertaV2ForMaskedLM",
        {**ROPE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    ),
    "modernbert": (
        "ModernBertForMaskedLM",
        {**ROPE, "global_attn_every_n_layers": 2, "local_attention": 8},
    ),
    "flaubert": (
        "FlaubertWithLMHeadModel",
        {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 128},
    ),
    "xlm": (
        "XLMWithLMHeadModel",
        {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 128},
    ),
}

CAUSAL: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", {"n_positions": 128, "n_embd": 32, "n_layer": 2, "n_head": 4}),
    "gpt_neox": ("GPTNeoXForCausalLM", PARTLY_ROTARY),
    "gptj": (
        "GPTJForCausalLM",
        {"n_positions": 128, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4},
    ),
    "opt": (
        "OPTForCausalLM",
        {**ROPE, "ffn_dim": 64, "word_embed_proj_dim": 32, "max_position_embeddings": 128},
    ),
    "bloom": ("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "falcon": ("FalconForCausalLM", ROPE),
    "llama": ("LlamaForCausalLM", GROUPED),
    "mistral": ("MistralForCausalLM", {**GROUPED, "sliding_window": 8}),
    "qwen2": ("Qwen2ForCausalLM", GROUPED),
    "qwen3": ("Qwen3ForCausalLM", GROUPED),
    "gemma": ("GemmaForCausalLM", GROUPED),
    "gemma2": (
        "Gemma2ForCausalLM",
        {**GROUPED, "sliding_window": 8, "final_logit_softcapping": 5.0},
    ),
    "phi": ("PhiForCausalLM", ROPE),
    "phi3": ("Phi3ForCausalLM", {**ROPE, "num_key_value_heads": 2}),
    "cohere": ("CohereForCausalLM", {**GROUPED, "logit_scale": 0.5}),
    "mamba": ("MambaForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
}


T5: Mapping[str, Any] = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
BART: Mapping[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 128,
    "init_std": 0.3,
}

SEQ2SEQ: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "t5": ("T5ForConditionalGeneration", T5),
    "mt5": (
        "MT5ForConditionalGeneration",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    "umt5": ("UMT5ForConditionalGeneration", T5),
    "longt5": ("LongT5ForConditionalGeneration", {**T5, "local_radius": 7}),
    "bart": ("BartForConditionalGeneration", BART),
    "mbart": ("MBartForConditionalGeneration", BART),
    "m2m_100": ("M2M100ForConditionalGeneration", BART),
    "pegasus": ("PegasusForConditionalGeneration", BART),
    "marian": ("MarianMTModel", BART),
    "blenderbot": ("BlenderbotForConditionalGeneration", BART),
    "plbart": ("PLBartForConditionalGeneration", BART),
    "led": (
        "LEDForConditionalGeneration",
        {
            **{k: v for k, v in BART.items() if k != "max_position_embeddings"},
            "max_encoder_position_embeddings": 128,
            "max_decoder_position_embeddings": 128,
            "attention_window": 8,
        },
    ),
}

DISTIL: Mapping[str, Any] = MASKED["distilbert"][1]
ROBERTA: Mapping[str, Any] = {**ROPE, "max_position_embeddings": 130, "type_vocab_size": 1}
GPT2: Mapping[str, Any] = CAUSAL["gpt2"][1]

CLASSIFIER: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bert": ("BertForSequenceClassification", ROPE),
    "roberta": ("RobertaForSequenceClassification", ROBERTA),
    "xlm-roberta": ("XLMRobertaForSequenceClassification", ROBERTA),
    "distilbert": ("DistilBertForSequenceClassification", DISTIL),
    "deberta-v2": ("DebertaV2ForSequenceClassification", MASKED["deberta-v2"][1]),
    "electra": ("ElectraForSequenceClassification", MASKED["electra"][1]),
    "albert": ("AlbertForSequenceClassification", MASKED["albert"][1]),
    "mpnet": ("MPNetForSequenceClassification", MASKED["mpnet"][1]),
    "modernbert": ("ModernBertForSequenceClassification", MASKED["modernbert"][1]),
    "gpt2": ("GPT2ForSequenceClassification", GPT2),
    "llama": ("LlamaForSequenceClassification", GROUPED),
    "qwen2": ("Qwen2ForSequenceClassification", GROUPED),
    "gemma": ("GemmaForSequenceClassification", GROUPED),
    "opt": ("OPTForSequenceClassification", CAUSAL["opt"][1]),
    "bart": ("BartForSequenceClassification", BART),
    "t5": ("T5ForSequenceClassification", T5),
}

QA: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bert": ("BertForQuestionAnswering", ROPE),
    "roberta": ("RobertaForQuestionAnswering", ROBERTA),
    "xlm-roberta": ("XLMRobertaForQuestionAnswering", ROBERTA),
    "distilbert": ("DistilBertForQuestionAnswering", DISTIL),
    "deberta-v2": ("DebertaV2ForQuestionAnswering", MASKED["deberta-v2"][1]),
    "electra": ("ElectraForQuestionAnswering", MASKED["electra"][1]),
    "albert": ("AlbertForQuestionAnswering", MASKED["albert"][1]),
    "modernbert": ("ModernBertForQuestionAnswering", MASKED["modernbert"][1]),
    "gpt2": ("GPT2ForQuestionAnswering", GPT2),
    "llama": ("LlamaForQuestionAnswering", GROUPED),
    "bart": ("BartForQuestionAnswering", BART),
    "t5": ("T5ForQuestionAnswering", T5),
}

DECODERS = ("gpt2", "llama", "qwen2", "gemma", "opt")
"""Classifiers that look for the last token of a text."""

ENDS = {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "</s>"}
WRITERS = {"bart", "plbart", "led"}
"""Types whose tokenizers put a token before a text; the other encoder-decoders end it only."""


def tokenizer_for(model_type: str) -> Any:
    """Return a tokenizer of the sort that models of a type come with."""
    if model_type in WRITERS or model_type in {"roberta", "xlm-roberta"}:
        return byte_level(frame=True, **ROBERTA_SPECIAL, cls_token="<s>", sep_token="</s>")
    if model_type in SEQ2SEQ:
        return unigram(single="$A </s>", **ENDS)
    if model_type in CAUSAL:
        return byte_level(frame=False, **ROBERTA_SPECIAL)
    return wordpiece(types=True)


def head(
    table: Mapping[str, tuple[str, Mapping[str, Any]]], model_type: str, folder: Path, **more: Any
) -> Path:
    """Write a model of one of the last three tables; `more` goes into its configuration."""
    architecture, sizes = table[model_type]
    tokenizer = tokenizer_for(model_type)
    special = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    if model_type in SEQ2SEQ:
        # As published: M2M-100 counts positions from the padding token and must not begin with it.
        ends = model_type in WRITERS | {"m2m_100"}
        special["decoder_start_token_id"] = (
            tokenizer.eos_token_id if ends else tokenizer.pad_token_id
        )
    config = transformers.AutoConfig.for_model(
        model_type,
        vocab_size=len(tokenizer),
        **{"initializer_range": 0.3, **special, **sizes, **more},
    )
    return save(getattr(transformers, architecture), config, tokenizer, folder, seed=0)


def build(model_type: str, folder: Path, seed: int = 0) -> Path:
    """Write a model of one of the masked or causal types."""
    architecture, sizes = (MASKED | CAUSAL)[model_type]  # type: ignore[operator]
    tokenizer = wordpiece() if model_type in MASKED else byte_level(frame=False, **ROBERTA_SPECIAL)
    config = transformers.AutoConfig.for_model(
        model_type,
        vocab_size=len(tokenizer),
        initializer_range=0.3,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **{k: v for k, v in sizes.items() if k != "initializer_range"},
    )
    return save(getattr(transformers, architecture), config, tokenizer, folder, seed=seed)
