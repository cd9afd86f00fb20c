"""Reference loops written from the formulas: slow, readable, one text and one mask a forward.

They use transformers objects only, and nothing of pytest_bias: what they share with it is the
papers. Log-probabilities are natural, of the log-softmax over float32 logits.
"""

import math
import random
import statistics
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import combinations
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

GAP = "[MASK]"


class Plain(NamedTuple):
    """A tokenizer and a network as transformers loads them."""

    tokenizer: Any
    network: Any


def masked(folder: Path) -> Plain:
    """Load a masked model."""
    return Plain(
        AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    )


def causal(folder: Path, **source: Any) -> Plain:
    """Load a causal model; `source` may name a GGUF file in the folder."""
    return Plain(
        AutoTokenizer.from_pretrained(folder, **source),
        AutoModelForCausalLM.from_pretrained(folder, **source).eval(),
    )


def encoder(folder: Path) -> Plain:
    """Load a model without its head."""
    return Plain(AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval())


def seq2seq(folder: Path) -> Plain:
    """Load a sequence-to-sequence model."""
    return Plain(
        AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    )


def classifier(folder: Path) -> Plain:
    """Load a classifier."""
    network = AutoModelForSequenceClassification.from_pretrained(folder)
    return Plain(AutoTokenizer.from_pretrained(folder), network.eval())


def answerer(folder: Path) -> Plain:
    """Load a model that points at answers."""
    network = AutoModelForQuestionAnswering.from_pretrained(folder)
    return Plain(AutoTokenizer.from_pretrained(folder), network.eval())


@torch.no_grad()
def logits(plain: Plain, ids: Sequence[int]) -> torch.Tensor:
    """Forward one sequence; shape (length, vocabulary)."""
    return plain.network(torch.tensor([list(ids)])).logits[0].float()


def log_p(plain: Plain, ids: Sequence[int], position: int, token: int) -> float:
    """Log-probability of one token at one position of one sequence."""
    return float(logits(plain, ids)[position].log_softmax(-1)[token])


def with_mask(plain: Plain, ids: Sequence[int], *positions: int) -> list[int]:
    """Return ids with masks at positions."""
    mask = plain.tokenizer.mask_token_id
    return [mask if p in positions else token for p, token in enumerate(ids)]


def masked_log_p(plain: Plain, ids: Sequence[int], position: int) -> float:
    """Log-probability of the token at a position from all the others."""
    return log_p(plain, with_mask(plain, ids, position), position, ids[position])


# CrowS-Pairs: Nangia et al. 2020, section 3 and metric.py


def crows_pair(plain: Plain, more: str, less: str, direction: str) -> tuple[float, float]:
    """Sum over unmodified tokens of log P(token | rest), for the two sentences of a pair."""
    if direction == "stereo":
        first, second = scores_of_shared(plain, more, less)
        return first, second
    first, second = scores_of_shared(plain, less, more)
    return second, first


def scores_of_shared(plain: Plain, first: str, second: str) -> tuple[float, float]:
    """Mask the shared tokens one after the other, in each of two sentences."""
    ids = [plain.tokenizer.encode(text) for text in (first, second)]
    shared = shared_positions(*ids)
    return (
        sum(masked_log_p(plain, ids[0], i) for i, _ in shared),
        sum(masked_log_p(plain, ids[1], j) for _, j in shared),
    )


def shared_positions(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Return positions of equal tokens; the frame of special tokens is shared and left out.

    Difflib's popularity heuristic is on, as in the script; it only acts from 200 tokens.
    """
    matcher = SequenceMatcher(None, [str(i) for i in first], [str(i) for i in second])
    found = []
    for name, a_start, a_end, b_start, b_end in matcher.get_opcodes():
        if name == "equal":
            found += zip(range(a_start, a_end), range(b_start, b_end), strict=True)
    return found[1:-1]


class Percentages(NamedTuple):
    """What the published script prints, before it rounds to two decimals."""

    metric: float
    stereotype: float
    antistereotype: float
    neutral: int


def crows_percentages(rows: Iterable[tuple[float, float, str]]) -> Percentages:
    """Count pairs (score of more, score of less, direction) as the script does.

    Scores are rounded to three decimals; a tie is no hit, stays in the number of all pairs, and
    leaves the number of pairs of its direction.
    """
    n = neutral = 0
    hits = {"stereo": 0, "antistereo": 0}
    total = {"stereo": 0, "antistereo": 0}
    for more, less, direction in rows:
        n += 1
        if round(more, 3) == round(less, 3):
            neutral += 1
            continue
        total[direction] += 1
        hits[direction] += round(more, 3) > round(less, 3)
    return Percentages(
        100 * sum(hits.values()) / n,
        100 * hits["stereo"] / total["stereo"],
        100 * hits["antistereo"] / total["antistereo"],
        neutral,
    )


# Sentence scores


def pseudo_log_likelihood(plain: Plain, text: str) -> float:
    """Sum over all tokens of log P(token | rest): Salazar et al. 2020, equation 1."""
    ids, core = encoded(plain, text)
    return sum(masked_log_p(plain, ids, p) for p in core)


def unmasked_log_likelihood(plain: Plain, text: str) -> float:
    """Sum over all tokens of log P(token | whole text): Kaneko and Bollegala 2022, AUL."""
    ids, core = encoded(plain, text)
    return sum(log_p(plain, ids, p, ids[p]) for p in core)


def log_likelihood(plain: Plain, text: str) -> float:
    """Sum over all tokens of log P(token | tokens before it), the first one after one prefix.

    The prefix is the beginning-of-sequence token, else the end-of-sequence token; with neither the
    first token is not scored.
    """
    tokenizer = plain.tokenizer
    # What is written like a special token in a text of data is no sign of the text's end.
    ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    for prefix in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if prefix is not None:
            ids = [prefix, *ids]
            break
    log_probabilities = logits(plain, ids).log_softmax(-1)
    return sum(float(log_probabilities[p - 1, ids[p]]) for p in range(1, len(ids)))


def encoded(plain: Plain, text: str) -> tuple[list[int], list[int]]:
    """Return ids of a text, and the positions that are no special token."""
    encoding = plain.tokenizer(text, return_special_tokens_mask=True)
    core = [p for p, special in enumerate(encoding["special_tokens_mask"]) if not special]
    return encoding["input_ids"], core


# A word at a gap: Kurita et al. 2019, Peyrard et al. 2022


class Placed(NamedTuple):
    """A sentence with a word at its gap: ids and the positions of the word."""

    ids: list[int]
    place: range


def placed(plain: Plain, sentence: str, word: str) -> Placed:
    """Put a word at the gap of a sentence."""
    start = sentence.index(GAP)
    return at(plain, sentence.replace(GAP, word), start, start + len(word))


def at(plain: Plain, text: str, start: int, end: int) -> Placed:
    """Find the tokens of ``text[start:end]``; the space before a word is the word's."""
    encoding = plain.tokenizer(text)
    first = encoding.char_to_token(start)
    if start and (space := encoding.char_to_token(start - 1)) is not None:
        first = space
    return Placed(encoding["input_ids"], range(first, encoding.char_to_token(end - 1) + 1))


def slot(
    plain: Plain, sentence: str, word: str, hidden: str | None = None, forms: Sequence[str] = ()
) -> float:
    """Log-probability of a word at the gap, a second word hidden if one is named.

    A word of several tokens is read from left to right, its later tokens masked. As many masks
    stand for the hidden word as the longest of its forms has tokens.
    """
    ids, place = placed(plain, sentence, word)
    if hidden:
        before, _, behind = sentence.replace(GAP, word).partition(hidden)
        start = len(before)
        old, *others = (
            at(plain, before + form + behind, start, start + len(form)).place
            for form in (hidden, *forms)
        )
        masks = [plain.tokenizer.mask_token_id] * max(map(len, (old, *others)))
        ids = [*ids[: old.start], *masks, *ids[old.stop :]]
        if old.start < place.start:
            moved = len(masks) - len(old)
            place = range(place.start + moved, place.stop + moved)
    return sum(log_p(plain, with_mask(plain, ids, *range(p, place.stop)), p, ids[p]) for p in place)


def association(
    plain: Plain, sentence: str, word: str, attribute: str, forms: Sequence[str] = ()
) -> float:
    """Log of P(word | sentence) over P(word | sentence without the attribute), at one mask."""
    return slot(plain, sentence, word) - slot(plain, sentence, word, attribute, forms)


def prior_at_the_wrong_place(plain: Plain, sentence: str, word: str, attribute: str) -> float:
    """Log-probability of a word of one token where the published script of Kurita et al. reads it.

    In a sentence with two masks, the word's before the attribute's, it looks for the attribute's
    mask from the end, forgets the token in front of the text, and so reads the token before that
    mask instead of the word's own mask.
    """
    ids, place = placed(plain, sentence, word)
    start = sentence.replace(GAP, word).index(attribute)
    other = at(plain, sentence.replace(GAP, word), start, start + len(attribute)).place
    both = with_mask(plain, ids, place.start, *other)
    return log_p(plain, both, other.stop - 2, ids[place.start])


def entropy_bias(plain: Plain, sentence: str, male: str, female: str) -> float:
    """B_H = 1 - H2(s_f / (s_f + s_m)) in bits, from two logits at one mask."""
    (ids, place), (_, place_female) = (placed(plain, sentence, w) for w in (male, female))
    if len(place) != 1 or place != place_female:
        raise ValueError("the words of a pair must be one token each")
    at_mask = logits(plain, with_mask(plain, ids, place.start))[place.start]
    token_male, token_female = (placed(plain, sentence, w).ids[place.start] for w in (male, female))
    s_male, s_female = (math.exp(at_mask[t]) for t in (token_male, token_female))
    p = s_female / (s_female + s_male)
    return 1 + p * math.log2(p) + (1 - p) * math.log2(1 - p)


def top(plain: Plain, sentence: str, k: int) -> list[tuple[str, float]]:
    """Return the likeliest tokens at the gap of a sentence in which spaces set the gap apart.

    The parts before and behind the gap are tokenised by themselves, the mask put in as an id.
    """
    tokenizer = plain.tokenizer
    before, behind = (
        tokenizer.encode(part, add_special_tokens=False)
        for part in (sentence[: sentence.index(GAP)].rstrip(), sentence.partition(GAP)[2])
    )
    start, end = tokenizer.encode("")
    ids = [start, *before, tokenizer.mask_token_id, *behind, end]
    at_mask = logits(plain, ids)[ids.index(tokenizer.mask_token_id)].log_softmax(-1)
    order = sorted(range(len(at_mask)), key=lambda t: -float(at_mask[t]))[:k]
    return [(tokenizer.decode([t]).strip(), float(at_mask[t])) for t in order]


# Association tests: Caliskan et al. 2017, May et al. 2019

Vector = NDArray[np.float64]


@torch.no_grad()
def mean_vector(plain: Plain, text: str) -> Vector:
    """Mean of the last hidden states of all tokens of one text, special ones included."""
    ids = torch.tensor([plain.tokenizer.encode(text)])
    return plain.network(ids).last_hidden_state[0].double().mean(0).numpy()


def cosine(u: Vector, v: Vector) -> float:
    """Cosine of the angle between two vectors."""
    return float(u @ v) / math.sqrt(float(u @ u) * float(v @ v))


def lean(w: Vector, a: Sequence[Vector], b: Sequence[Vector]) -> float:
    """s(w, A, B): mean cosine with A minus mean cosine with B."""
    return fsum(cosine(w, v) for v in a) / len(a) - fsum(cosine(w, v) for v in b) / len(b)


def effect_size(x: Sequence[float], y: Sequence[float]) -> float:
    """Difference of the mean s over the standard deviation of all (ddof = 1)."""
    return (statistics.fmean(x) - statistics.fmean(y)) / statistics.stdev([*x, *y])


def exact_p(x: Sequence[float], y: Sequence[float]) -> float:
    """Share of all equal partitions whose first half sums to at least what X sums to.

    fsum rounds once whatever the order, so the observed partition is a tie with itself.
    """
    sums = [fsum(half) for half in combinations([*x, *y], len(x))]
    observed = fsum(x)
    return sum(s >= observed for s in sums) / len(sums)


def sampled_p(x: Sequence[float], y: Sequence[float], n: int, seed: int) -> float:
    """As `exact_p`, over random partitions, the observed one counted in."""
    both, observed, draw = [*x, *y], fsum(x), random.Random(seed)
    hits = sum(fsum(draw.sample(both, len(x))) >= observed for _ in range(n))
    return (hits + 1) / (n + 1)


# Sequence-to-sequence models, classifiers, question answering


@torch.no_grad()
def written(plain: Plain, text: str) -> float:
    """Log-probability of a text's words as a target, when the encoder reads the empty text.

    The labels are the whole target; the decoder's inputs are the labels shifted right.
    """
    source = plain.tokenizer("", return_tensors="pt").input_ids
    labels = plain.tokenizer(text_target=text).input_ids
    words = len(plain.tokenizer(text_target=text, add_special_tokens=False).input_ids)
    shifted = torch.tensor([[plain.network.config.decoder_start_token_id, *labels[:-1]]])
    output = plain.network(input_ids=source, decoder_input_ids=shifted)
    log_p_of = output.logits[0].float().log_softmax(-1)
    first = next(i for i in range(len(labels)) if labels[i] not in plain.tokenizer.all_special_ids)
    return fsum(float(log_p_of[p, labels[p]]) for p in range(first, first + words))


@torch.no_grad()
def head(plain: Plain, *texts: str, types: bool) -> torch.Tensor:
    """Logits of a classifier for one text or pair, in a batch of one; shape (n_labels,)."""
    inputs = dict(plain.tokenizer(*texts, return_tensors="pt"))
    if not types:
        inputs.pop("token_type_ids", None)
    return plain.network(**inputs).logits[0].double()


@torch.no_grad()
def pointed(
    plain: Plain, question: str, context: str, longest: int, *, types: bool
) -> tuple[str, float, float]:
    """Best answer in a context that fits: its text, its log-probability, and that of token 0."""
    inputs = plain.tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    of_context = [
        text == 1 and context[a:b].strip() != ""
        for text, (a, b) in zip(inputs.sequence_ids(), offsets, strict=True)
    ]
    if not types:
        inputs.pop("token_type_ids", None)
    output = plain.network(**inputs)
    first, last = (x[0].double().log_softmax(-1) for x in (output.start_logits, output.end_logits))
    score, i, j = max(
        (float(first[i] + last[j]), i, j)
        for i in range(len(offsets))
        for j in range(i, min(i + longest, len(offsets)))
        if of_context[i] and of_context[j]
    )
    return context[offsets[i][0] : offsets[j][1]].strip(), score, float(first[0] + last[0])
