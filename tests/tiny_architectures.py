"""Tiny models with random weights of the families that people publish, by model type."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import transformers

from tiny_models import ROBERTA_SPECIAL, SIZE, byte_level, save, wordpiece

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


def build(model_type: str, folder: Path) -> Path:
    """Write a model of one of the types above."""
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
    return save(getattr(transformers, architecture), config, tokenizer, folder, seed=0)
