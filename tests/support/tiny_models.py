"""Tiny random-weight models of several architectures and tokenizer kinds, built in code.

Every builder writes a folder as ``save_pretrained`` does and returns it. Weights are seeded, and
drawn wide enough that different words get different probabilities.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from pytest_bias.suites.sentences import text_file

VOCABULARY = 600


def corpus() -> Iterator[str]:
    """Yield bundled words and sentences, to train tokenizers on."""
    words = text_file("words/en/association_test.yaml")["sets"]
    yield from (word for listed in words.values() for word in listed)
    yield from text_file("words/en/occupations.yaml")["women_percent"]
    yield from text_file("sentences/en/structure.yaml")["sentences"]
    for part in ("neutral", "control"):
        for template in text_file("sentences/en/gendered_pairs.yaml")[part].values():
            yield template["text"].replace("[MASK]", "he").replace("{", " ").replace("}", " ")


def wordpiece(
    *, mask: bool = True, types: bool = False, pieces: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """Return an uncased WordPiece tokenizer with [CLS] and [SEP], and with token `types`.

    It knows the `pieces`, by default those of the bundled texts and every letter of ASCII.
    """
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(["[MASK]"] if mask else [])]
    vocabulary = [*special, *(pieces or _pieces(VOCABULARY - len(special)))]
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, ids[t]) for t in ("[CLS]", "[SEP]")],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    named: dict[str, Any] = dict(zip(names, special, strict=False))
    if types:
        named["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def _pieces(size: int) -> list[str]:
    """Return every letter and the pieces that save most tokens: the library's trainer is random."""
    words = Counter(re.findall(r"\w+", " ".join(corpus()).lower()))
    saved: Counter[str] = Counter()
    for word, n in words.items():
        for start, end in combinations(range(len(word) + 1), 2):
            saved["##" * (start > 0) + word[start:end]] += n * (end - start - 1)
    first = [prefix + letter for letter in _letters() for prefix in ("", "##")]
    # Pairs of gendered words have to be one token each.
    first += [word for word, n in words.items() if n > 1 and word not in first]
    ranked = sorted(saved.keys() - set(first), key=lambda piece: (-saved[piece], piece))
    return [*first, *ranked[: size - len(first)]]


def byte_level(*, frame: bool, **special: str) -> PreTrainedTokenizerFast:
    """Return a cased byte-level BPE tokenizer; `frame` puts its BOS and EOS around a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[*special.values()],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    if "mask_token" in special:
        # As RoBERTa does: the mask takes the space before it.
        mask = AddedToken(special["mask_token"], lstrip=True, special=True)
        tokenizer.add_special_tokens([mask])
        special = {**special, "mask_token": mask}  # type: ignore[dict-item]
    if frame:
        bos, eos = (str(special[n]) for n in ("bos_token", "eos_token"))
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A {eos}",
            pair=f"{bos} $A {eos} {eos} $B:1 {eos}:1",
            special_tokens=[(t, tokenizer.token_to_id(t)) for t in (bos, eos)],
        )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def unigram(*, single: str, **special: str) -> PreTrainedTokenizerFast:
    """Return a SentencePiece-like unigram tokenizer; `single` is its frame, such as ``<s> $A``."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[*special.values()],
        unk_token=special["unk_token"],
        initial_alphabet=_letters(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    used = [t for t in special.values() if t in single.split()]
    before, behind = single.split("$A")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single,
        pair=f"{before}$A{behind} $B{behind}".strip(),
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in used],
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def _letters() -> list[str]:
    return [chr(c) for c in range(33, 127)] + ["\N{LOWER ONE EIGHTH BLOCK}"]


ROBERTA_SPECIAL = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}

SIZE: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.3,
}


def bert(folder: Path, seed: int = 0, *, mask: bool = True) -> Path:
    """Write a masked model with a WordPiece tokenizer."""
    tokenizer = wordpiece(mask=mask)
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=128, **SIZE)
    return save(BertForMaskedLM, config, tokenizer, folder, seed)


def greek(folder: Path, seed: int = 0) -> Path:
    """Write a masked model whose tokenizer knows Greek letters, and marks, and no Latin letter."""
    letters = [chr(c) for c in range(0x3B1, 0x3CA)]
    tokenizer = wordpiece(pieces=[*".,!?", *letters, *(f"##{c}" for c in letters)])
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=128, **SIZE)
    return save(BertForMaskedLM, config, tokenizer, folder, seed)


def roberta(folder: Path, seed: int = 0) -> Path:
    """Write a masked model with a byte-level BPE tokenizer."""
    tokenizer = byte_level(frame=True, **ROBERTA_SPECIAL)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=130,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **SIZE,
    )
    return save(RobertaForMaskedLM, config, tokenizer, folder, seed)


def xlm_roberta(folder: Path, seed: int = 0) -> Path:
    """Write a masked model with a unigram tokenizer."""
    tokenizer = unigram(single="<s> $A </s>", **ROBERTA_SPECIAL)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=130,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **SIZE,
    )
    return save(XLMRobertaForMaskedLM, config, tokenizer, folder, seed)


def gpt2(folder: Path, seed: int = 0, *, end: bool = True, begin: bool = False) -> Path:
    """Write a causal model with a byte-level BPE tokenizer, no pad token and no BOS.

    Without `end` it has no special token at all; with `begin` it has a BOS.
    """
    special = {"eos_token": "<|end|>"} if end else {}
    special |= {"bos_token": "<|begin|>"} if begin else {}
    tokenizer = byte_level(frame=False, **special)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=128,
        n_embd=32,
        n_layer=2,
        n_head=4,
        initializer_range=0.3,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return save(GPT2LMHeadModel, config, tokenizer, folder, seed)


def llama(folder: Path, seed: int = 0) -> Path:
    """Write a causal model with a unigram tokenizer that puts a BOS before a text."""
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    tokenizer = unigram(single="<s> $A", **special)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=128,
        num_key_value_heads=2,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **SIZE,
    )
    return save(LlamaForCausalLM, config, tokenizer, folder, seed)


def encoder(folder: Path, seed: int = 0) -> Path:
    """Write a bare encoder with a WordPiece tokenizer."""
    tokenizer = wordpiece()
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=128, **SIZE)
    return save(BertModel, config, tokenizer, folder, seed)


MASKED: dict[str, Callable[[Path], Path]] = {
    "wordpiece": bert,
    "byte-level": roberta,
    "unigram": xlm_roberta,
}
CAUSAL: dict[str, Callable[[Path], Path]] = {"byte-level": gpt2, "unigram": llama}


def save(
    model: Any, config: Any, tokenizer: PreTrainedTokenizerFast, folder: Path, seed: int
) -> Path:
    """Write a model with seeded random weights and its tokenizer."""
    torch.manual_seed(seed)
    network = model(config)
    network.save_pretrained(folder)
    tokenizer.model_max_length = 10**9
    tokenizer.save_pretrained(folder)
    return folder


def bert_with_pairs(folder: Path, follows: int = 0, seed: int = 0, *, tells: bool = True) -> Path:
    """Write a BERT with its head for pairs of texts, in which class `follows` means "follows".

    The head is set by hand: it leans to the mean pooled vector of known pairs that follow, away
    from that of pairs that do not; unless it `tells` it says the same of all.
    """
    from pytest_bias.models.next_sentence import PROBES

    tokenizer = wordpiece(types=True)
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=128, **SIZE)
    torch.manual_seed(seed)
    network = BertForPreTraining(config).eval()
    second = [b for _, b in PROBES]
    apart = [(a, second[(n + 3) % 6]) for n, (a, _) in enumerate(PROBES)]

    def pooled(pairs: Any) -> torch.Tensor:
        vectors = []
        for pair in pairs:
            inputs = tokenizer(*pair, return_tensors="pt", return_token_type_ids=True)
            vectors.append(network.bert(**inputs).pooler_output[0])
        return torch.stack(vectors).mean(0)

    with torch.no_grad():
        lean = pooled(PROBES) - pooled(apart)
        head = network.cls.seq_relationship
        head.weight.zero_()
        head.bias.zero_()
        if tells:
            head.weight[follows] = 2 * lean / lean.norm() ** 2
    network.save_pretrained(folder)
    tokenizer.model_max_length = 10**9
    tokenizer.save_pretrained(folder)
    return folder
