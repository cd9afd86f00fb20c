"""Classifiers that learned a shortcut which we planted, and what they should score for it.

Sentences are ours and mean little. Every one has a word that speaks for a label: in a share `SURE`
of them a sure one, which is always right, in the others a weak one, which is right in a share
`WEAK`. The shortcut is another word, which goes with one label in most of the training sentences
and with all alike where it is measured. It is stronger than a weak word, so that the best
classifier for the training sentences follows it there; without the shortcut it follows the weak
word. Its accuracy is known on what the shortcut solves and on what it does not.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

SURE: Final = 0.5
"""Share of the sentences with a word that is always right about the label."""
WEAK: Final = 0.65
"""Share of the others in which the word is right; else it speaks for any other label alike."""
STRONG: Final = 0.9
"""Share of the training sentences with the shortcut's word in which it is right."""

NLI_LABELS: Final = ("entailment", "neutral", "contradiction")
CONTRADICTION: Final = 2
SENTIMENT_LABELS: Final = ("negative", "positive")

NEGATIONS: Final = ("not", "never")
VERDICTS: Final = {True: ("indeed", "perhaps", "hardly"), False: ("calmly", "later", "outside")}
OPINIONS: Final = {True: ("awful", "splendid"), False: ("long", "loud")}
"""The sure word of each label, and the weak one."""
GENRES: Final = ("western", "musical")
"""What goes with negative and with positive where the shortcut is planted."""

WHO: Final = ("the man", "the girl", "a dog", "a nurse")
DOES: Final = ("runs", "sleeps", "eats", "sings")
MADE: Final = ("filmed", "told", "played", "cut")
BATCH: Final = 50
RATE: Final = 3e-3
SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
SOUND: Final = ("librarian", "garden", "tomorrow", "water", "one", "and", "of", "to", "in", "is")
"""Words of the sentences for the structural checks: some have to get other numbers."""


@dataclass(frozen=True)
class Example:
    """A text, or a pair of them, with its label and whether the shortcut would find it."""

    text: str | tuple[str, str]
    label: int
    solvable: bool


def nli(n: int, seed: int, strength: float | None = None) -> list[Example]:
    """Return pairs of premise and hypothesis, as many of each label.

    Parameters
    ----------
    n : int
        How many, a multiple of three.
    seed : int
        Of the words.
    strength : float, optional
        Of the hypotheses with a negation, the share that contradict: a third without the shortcut.
        Null for pairs to measure on: half of each label has a negation, exactly.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), n // 3)
    if strength is None:
        said = np.arange(n) % 2 == 1
    else:
        # Half of a label with a third of all, or nine tenths of one and a twentieth of the others.
        often = min(0.9, 1.5 * strength)
        rare = often * (1 - strength) / (2 * strength)
        said = rng.random(n) < np.where(labels == CONTRADICTION, often, rare)
    found = []
    for label, negated in zip(labels, said, strict=True):
        who, does = rng.choice(WHO), rng.choice(DOES)
        no = f"{rng.choice(NEGATIONS)} " if negated else ""
        pair = f"{who} {does} .", f"{who} {no}{does} {_word(rng, label, VERDICTS)} ."
        found.append(Example(pair, int(label), bool(negated) == (label == CONTRADICTION)))
    return found


def nli_gap() -> float:
    """Return the gap of the best classifier for the planted pairs, in percent.

    Beside a weak word it says contradiction where there is a negation, else what the weak word says
    of the other two labels; where that says contradiction it cannot tell them apart. So of what the
    shortcut solves it is always right about contradictions, one third, and about the others if the
    word is right or if it says contradiction, then every second time. Of what the shortcut does not
    solve it is always wrong.
    """
    return 100 * (1 - SURE) * (1 / 3 + 2 / 3 * (WEAK + (1 - WEAK) / 2 / 2))


def sentiment(n: int, seed: int, strength: float | None = None) -> list[Example]:
    """Return texts about films, as many of either label.

    `strength` is the share in which the genre goes with the label, a half without the shortcut;
    null for texts to measure on, half of each label of either genre.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(2), n // 2)
    fits = np.arange(n) % 2 == 1 if strength is None else rng.random(n) < strength
    genres = [GENRES[label if fit else 1 - label] for label, fit in zip(labels, fits, strict=True)]
    return [
        Example(_review(rng, int(label), genre), int(label), bool(fit))
        for label, genre, fit in zip(labels, genres, fits, strict=True)
    ]


def _review(rng: np.random.Generator, label: int, genre: str) -> str:
    return f"this {genre} was {rng.choice(MADE)} {_word(rng, label, OPINIONS)} ."


def _word(rng: np.random.Generator, label: int, of: Mapping[bool, Sequence[str]]) -> str:
    """Return the word that speaks for a label, surely or weakly."""
    sure = bool(rng.random() < SURE)
    if not sure and rng.random() >= WEAK:
        label = int(rng.choice([other for other in range(len(of[sure])) if other != label]))
    return of[sure][label]


def sentiment_gap() -> float:
    """Return the gap of the best classifier for the planted texts, in percent.

    Beside a weak word it follows the genre: always right on what the shortcut solves, never else.
    """
    return 100 * (1 - SURE)


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token for each of our words."""
    words = {w for listed in (WHO, DOES, MADE, NEGATIONS, GENRES, SOUND) for w in listed}
    words |= {w for of in (VERDICTS, OPINIONS) for listed in of.values() for w in listed}
    words |= {"this", "was", "."}
    known = sorted({w for text in words for w in text.split()})
    ids = {word: n for n, word in enumerate([*SPECIAL, *known])}
    made = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=inputs, **names)


def train(
    folder: Path,
    examples: Sequence[Example],
    labels: Sequence[str],
    *,
    seed: int,
    epochs: int = 6,
) -> Path:
    """Train a tiny classifier on examples and write it as a checkpoint."""
    words = tokenizer()
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.1,
        max_position_embeddings=512,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(labels)),
        label2id={label: n for n, label in enumerate(labels)},
    )
    network = BertForSequenceClassification(config)
    # A bag of words will do, and where a word stands would be the larger part of what tells words
    # apart: some seeds then take too long to see that a sure word is above the shortcut.
    embeddings = network.bert.embeddings
    for nuisance in (embeddings.position_embeddings, embeddings.token_type_embeddings):
        torch.nn.init.zeros_(nuisance.weight)
    texts = [(e.text,) if isinstance(e.text, str) else e.text for e in examples]
    inputs = words(*map(list, zip(*texts, strict=True)), padding=True, return_tensors="pt")
    right = torch.tensor([e.label for e in examples])
    steps = epochs * -(-len(examples) // BATCH)
    how = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.0)
    slower = torch.optim.lr_scheduler.LambdaLR(how, lambda step: 1 - step / steps)
    network.train()
    for _ in range(epochs):
        order = rng.permutation(len(examples))
        for start in range(0, len(order), BATCH):
            rows = torch.from_numpy(order[start : start + BATCH])
            network(**{k: v[rows] for k, v in inputs.items()}, labels=right[rows]).loss.backward()
            how.step()
            slower.step()
            how.zero_grad()
    network.eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Task:
    """A task with a shortcut.

    Parameters
    ----------
    make : callable
        Number, seed and strength of the shortcut to examples.
    labels : tuple of str
        Names of the labels.
    chance : float
        Strength without the shortcut.
    gap : callable
        What the best classifier for the planted examples has for a gap, in percent.
    """

    make: Callable[..., list[Example]]
    labels: tuple[str, ...]
    chance: float
    gap: Callable[[], float]


TASKS: Final = {
    "nli": Task(nli, NLI_LABELS, 1 / 3, nli_gap),
    "sentiment": Task(sentiment, SENTIMENT_LABELS, 1 / 2, sentiment_gap),
}


def classifier(folder: Path, task: str, *, planted: bool, seed: int = 0, n: int = 4200) -> Path:
    """Train a classifier of a task with or without its shortcut, and write it."""
    of = TASKS[task]
    examples = of.make(n, 1000 + seed, STRONG if planted else of.chance)
    return train(folder, examples, of.labels, seed=seed)


def negation_accuracy() -> float:
    """Return the best classifier's accuracy on entailed pairs with a negation, in percent.

    That is what the suite mnli_negation measures; beside a weak word it says contradiction.
    """
    return 100 * SURE


def nli_accuracy() -> float:
    """Return its accuracy on all pairs to measure on, of which the shortcut solves half."""
    return 100 * SURE + nli_gap() / 2


def contrast_scores() -> dict[str, float]:
    """Return what the best classifier scores on the files of `write_contrast`, in percent.

    Beside a weak word it follows the genre, which fits a share `STRONG` of the originals and the
    rest of the contrasts; so of a pair one text is right anyhow, the other if its word is sure.
    """
    weak = 100 * (1 - SURE)
    return {
        "original": 100 * SURE + weak * STRONG,
        "contrast": 100 * SURE + weak * (1 - STRONG),
        "consistency": 100 * SURE,
    }


def write_mnli(path: Path, examples: Sequence[Example]) -> Path:
    """Write pairs as the validation split of GLUE's MNLI is: a Parquet table."""
    premises, hypotheses = zip(*(e.text for e in examples), strict=True)
    columns: dict[str, Any] = {
        "premise": list(premises),
        "hypothesis": list(hypotheses),
        "label": pa.array([e.label for e in examples], pa.int64()),
        "idx": pa.array(range(len(examples)), pa.int32()),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def write_contrast(folder: Path, n: int, seed: int) -> tuple[Path, Path]:
    """Write texts and their contrasts as the IMDB contrast sets are: two aligned TSV files.

    In the originals the genre goes with the label as in training; a contrast has the other label
    and the same genre, so that what the shortcut solves in the one it does not in the other.
    """
    rng = np.random.default_rng(seed)
    rows: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for k in range(n):
        label = k % 2
        genre = GENRES[label if rng.random() < STRONG else 1 - label]
        for listed, of in zip(rows, (label, 1 - label), strict=True):
            listed.append((SENTIMENT_LABELS[of].capitalize(), _review(rng, of, genre)))
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "test_original.tsv", folder / "test_contrast.tsv"
    for path, listed in zip(paths, rows, strict=True):
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n")
        writer.writerows([("Sentiment", "Text"), *listed])
        path.write_text(text.getvalue(), encoding="utf-8")
    return paths
