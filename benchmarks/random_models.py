"""Models with random weights, of real sizes: speed does not depend on the weights.

    python benchmarks/random_models.py bert-base FOLDER
    python benchmarks/random_models.py gpt2 FOLDER [--data CSV]

A masked model has the tokenizer of BERT-tiny. A causal one has a byte-level BPE that is trained
here on the sentences of CrowS-Pairs, so that no file but the data is needed.
"""

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from crows import DATA, ROOT, sentences
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

BERT_TINY = ROOT / "models" / "bert-tiny"
END_OF_TEXT = "<|endoftext|>"


def bert_base(tokenizer_folder: Path, folder: Path, **sizes: int) -> tuple[Any, Any]:
    """Write a BERT, by default of the size base, and return it with its tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    torch.manual_seed(0)
    network = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes)).eval()
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return tokenizer, network


def gpt2(texts: Iterable[str], folder: Path, **sizes: int) -> None:
    """Write a GPT-2, by default of 124 M parameters, and a tokenizer trained on the texts."""
    config = GPT2Config(**sizes)
    config.bos_token_id = config.eos_token_id = _bpe(texts, folder, config.n_positions)
    torch.manual_seed(0)
    GPT2LMHeadModel(config).save_pretrained(folder)


def llama(texts: Iterable[str], folder: Path, **sizes: int) -> None:
    """Write a LLaMA in bfloat16, and a tokenizer trained on the texts."""
    config = LlamaConfig(vocab_size=50_257, max_position_embeddings=2048, **sizes)
    config.bos_token_id = config.eos_token_id = _bpe(texts, folder, 2048)
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        LlamaForCausalLM(config).save_pretrained(folder)
    finally:
        torch.set_default_dtype(before)


def _bpe(texts: Iterable[str], folder: Path, longest: int) -> int:
    """Write a byte-level BPE of GPT-2's size; returns the id of the token that ends a text."""
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts, 50_257, special_tokens=[END_OF_TEXT])
    PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        model_max_length=longest,
    ).save_pretrained(folder)
    return int(bpe.token_to_id(END_OF_TEXT))


MODELS: dict[str, Callable[[Path, Path], object]] = {
    "bert-base": lambda data, folder: bert_base(BERT_TINY, folder),
    "bert-tiny": lambda data, folder: bert_base(
        BERT_TINY,
        folder,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
    ),
    "gpt2": lambda data, folder: gpt2(sentences(data, 10**6), folder),
    "gpt2-tiny": lambda data, folder: gpt2(
        sentences(data, 10**6), folder, n_embd=128, n_layer=2, n_head=2
    ),
    "llama-1b": lambda data, folder: llama(
        sentences(data, 10**6),
        folder,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=16,
        num_attention_heads=32,
        num_key_value_heads=8,
    ),
    "llama-7b": lambda data, folder: llama(sentences(data, 10**6), folder),
}


def main() -> None:
    """Write one model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    MODELS[options.model](options.data, options.folder)


if __name__ == "__main__":
    main()
