"""A real classifier whose answers are known: does a text hold one of a few words?

The weights of a BERT are set by hand: attention is an even mean over the text, one dimension counts
the words, and the head is steep. A text with one of the words gets a probability above 0.999 for
the first label, any other text one below 0.001.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
STEEP = 1e4
LOGIT = 8.0


def word_classifier(
    folder: Path, words: Sequence[str], labels: Sequence[str] = ("toxic", "other")
) -> Path:
    """Write a classifier of texts that hold one of the words, lower-cased, as a whole word.

    Of two texts that are read together either may hold it. A text without one gets the second
    label; labels behind these two are never the likeliest.
    """
    # Whole words are tokens of their own; all others are read by their letters.
    assert all(len(word) > 1 for word in words), "a letter is no token of its own"
    letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(WordPiece({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_tokens([AddedToken(w, single_word=True) for w in sorted(set(words))])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=2048,
        id2label=dict(enumerate(labels)),
        label2id={label: n for n, label in enumerate(labels)},
    )
    network = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for name, weights in network.named_parameters():
            weights.fill_(1.0 if "LayerNorm.weight" in name else 0.0)
        # Dimensions 0 and 1 count the words, 2 and 3 keep the norm of all other tokens.
        network.bert.embeddings.word_embeddings.weight[:] = torch.tensor([0.0, 0.0, 1.0, -1.0])
        network.bert.embeddings.word_embeddings.weight[len(pieces) :] = torch.tensor(
            [3.0, -3.0, 1.0, -1.0]
        )
        (layer,) = network.bert.encoder.layer
        layer.attention.self.value.weight[:] = torch.eye(4)
        layer.attention.output.dense.weight[:] = torch.eye(4)
        network.bert.pooler.dense.weight[0, 0] = STEEP
        network.classifier.weight[0, 0] = 2 * LOGIT
        network.classifier.bias[0] = -LOGIT
        network.classifier.bias[2:] = -LOGIT / 2
    network.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
