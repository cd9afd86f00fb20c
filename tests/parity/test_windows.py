"""Long texts in windows: transformers' documented perplexity, and loops of one mask a forward."""

import math
import random
from itertools import pairwise
from typing import NamedTuple

import pytest
import torch

import ours
import plain
import tiny_models
from loops import threads
from pytest_bias.models.interface import Passage
from pytest_bias.models.windows import around, behind
from pytest_bias.suites.sentences import text_file

RELATIVE = 1e-4
PASSAGES = [
    text
    for passages in text_file("sentences/en/plain_passages.yaml")["registers"].values()
    for text in passages
]
LONG = " ".join(PASSAGES[:2])
SHORT = "The bell is heard for miles."


# Which tokens are scored where


@pytest.mark.parametrize("windows", [behind, around])
@pytest.mark.parametrize("n_tokens", [1, 2, 7, 8, 9, 11, 12, 13, 40])
@pytest.mark.parametrize("stride", [1, 3, 4, 7])
def test_every_token_is_scored_once(windows, n_tokens, stride):
    found = list(windows(n_tokens, 8, stride))
    assert [p for w in found for p in w.scored] == list(range(n_tokens))
    for window in found:
        assert 0 <= window.begin <= window.scored.start
        assert window.scored.stop <= window.end <= n_tokens
        assert window.end - window.begin == min(8, n_tokens) or window.end == n_tokens
    assert all(b.begin - a.begin <= stride for a, b in pairwise(found))


def test_a_masked_token_is_scored_where_its_nearer_cut_is_farthest():
    for stride in (1, 2, 3, 4, 7):
        windows = list(around(29, 8, stride))

        def nearer_cut(window, token, n_tokens=29):
            left = math.inf if window.begin == 0 else token - window.begin
            right = math.inf if window.end == n_tokens else window.end - 1 - token
            return min(left, right)

        for window in windows:
            for token in window.scored:
                there = [w for w in windows if w.begin <= token < w.end]
                assert nearer_cut(window, token) == max(nearer_cut(w, token) for w in there)


# Causal: transformers' page "Perplexity of fixed-length models"


class Documented(NamedTuple):
    """Losses of the windows of the page's loop, with the two counts that go with them."""

    losses: list[float]
    targets: list[int]
    """Labels that are not -100, as the page counts them."""
    averaged: list[int]
    """Labels that the loss is a mean of: one less in the first window alone."""

    @property
    def perplexity(self) -> float:
        """The page's figure: every window counts as its targets less one."""
        weights = [n - 1 for n in self.targets]
        return self.weighted(weights)

    @property
    def exact(self) -> float:
        """Every token counts alike."""
        return self.weighted(self.averaged)

    def weighted(self, weights: list[int]) -> float:
        total = sum(loss * w for loss, w in zip(self.losses, weights, strict=True))
        return math.exp(total / sum(weights))


@torch.no_grad()
def documented(slow: plain.Plain, ids: list[int], max_length: int, stride: int) -> Documented:
    """Run the loop of the page over token ids."""
    found = Documented([], [], [])
    encoded = torch.tensor([ids])
    last = 0
    for begin in range(0, len(ids), stride):
        end = min(begin + max_length, len(ids))
        window = encoded[:, begin:end]
        labels = window.clone()
        labels[:, : -(end - last)] = -100
        found.losses.append(float(slow.network(window, labels=labels).loss))
        found.targets.append(int((labels != -100).sum()))
        found.averaged.append(int((labels[:, 1:] != -100).sum()))
        last = end
        if end == len(ids):
            break
    return found


def both_ways(slow, model, text, max_length, stride, measured):
    """Compare ours with the page's loop, over the ids that ours conditions on."""
    tokenizer = slow.tokenizer
    ids = tokenizer.encode(text, add_special_tokens=False)
    # The page takes what the tokenizer writes, and its loop scores no first token. Ours scores the
    # first token of the text where something can be put in front of it, so it is put there.
    prefix = next(
        (t for t in (tokenizer.bos_token_id, tokenizer.eos_token_id) if t is not None), None
    )
    ids = ids if prefix is None else [prefix, *ids]
    slow_found = documented(slow, ids, max_length, stride)
    assert len(slow_found.losses) > 2

    model.body.tokens.max_length = max_length
    (score,) = model.score_long([text], stride=stride)
    assert score.reason is None
    assert score.n_unscored == (prefix is None)
    assert score.n_tokens == len(ids) - 1 == sum(slow_found.averaged)
    mine = math.exp(-score.total / score.n_tokens)
    differs = abs(mine / slow_found.exact - 1)
    measured("every token alike", differs, "relative")
    assert differs < RELATIVE

    # The page's own figure, to the letter, from our sums of the tokens that are new in each window.
    offsets = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
    ends, done = [], 1
    for n_averaged in slow_found.averaged:
        done += n_averaged
        ends.append(offsets["offset_mapping"][done - 1 - (prefix is not None)][1])
    parts = [(a, b) for a, b in pairwise([0, *ends])]
    scores = model.score_long([Passage(text, (part,)) for part in parts], stride=stride)
    assert [s.n_tokens for s in scores] == slow_found.averaged
    losses = [-s.total / s.n_tokens for s in scores]
    of_the_page = slow_found._replace(losses=losses).perplexity
    differs = abs(of_the_page / slow_found.perplexity - 1)
    measured("as documented", differs, "relative")
    assert differs < RELATIVE
    # What the page's weights make of it, which is why both are here.
    measured("page against every token", abs(slow_found.perplexity / mine - 1), "relative")


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("stride", [16, 32, 63])
def test_windows_equal_the_documented_loop(name, stride, checkpoint, measured):
    slow, model = plain.causal(checkpoint(name)), ours.model(checkpoint(name))
    both_ways(slow, model, LONG, 64, stride, measured)


def test_windows_equal_the_documented_loop_where_nothing_is_before_the_first_token(
    tmp_path, measured
):
    folder = tiny_models.gpt2(tmp_path / "bare", end=False)
    both_ways(plain.causal(folder), ours.model(folder), LONG, 64, 32, measured)


@pytest.mark.slow
def test_windows_of_a_real_model_equal_the_documented_loop(checkpoint, measured):
    path = checkpoint("smollm2")
    slow = plain.causal(path.parent, gguf_file=path.name)
    both_ways(slow, ours.model(path), " ".join(PASSAGES[:3]), 128, 64, measured)


# Masked: one mask a forward


def pseudo_loop(slow: plain.Plain, text: str, max_length: int, stride: int) -> float:
    """Sum log P(token | its window), the first of those whose nearer cut is farthest."""
    ids, core = plain.encoded(slow, text)
    room = max_length - (len(ids) - len(core))
    front, back = ids[: core[0]], ids[core[-1] + 1 :]
    text_ids = [ids[p] for p in core]
    last = max(0, len(text_ids) - room)
    begins = sorted({*range(0, last, stride), last})

    def distance(begin: int, token: int) -> float:
        end = begin + room
        left = math.inf if begin == 0 else token - begin
        right = math.inf if end >= len(text_ids) else end - 1 - token
        return min(left, right)

    total = 0.0
    for token in range(len(text_ids)):
        there = [b for b in begins if b <= token < b + room]
        begin = max(there, key=lambda b: (distance(b, token), -b))
        window = [*front, *text_ids[begin : begin + room], *back]
        total += plain.masked_log_p(slow, window, len(front) + token - begin)
    return total


@pytest.mark.parametrize(
    ("name", "stride"), [("wordpiece", 12), ("unigram", 29), ("byte-level", 7), ("bert-tiny", 15)]
)
def test_masked_windows_equal_the_loop(name, stride, checkpoint, measured):
    slow, model = plain.masked(checkpoint(name)), ours.model(checkpoint(name))
    model.body.tokens.max_length = 32
    (short,) = model.score_long([SHORT], stride=stride)
    assert short.total == pytest.approx(plain.pseudo_log_likelihood(slow, SHORT), rel=RELATIVE)
    text = PASSAGES[0][:250]
    (score,) = model.score_long([text], stride=stride)
    wanted = pseudo_loop(slow, text, 32, stride)
    measured("long text", abs(score.total / wanted - 1), "relative")
    assert score.total == pytest.approx(wanted, rel=RELATIVE)
    assert score.n_tokens == len(slow.tokenizer.encode(text, add_special_tokens=False)) > 32


# Of every kind


KINDS = ("gpt2", "llama", "wordpiece", "unigram", "byte-level")


@pytest.mark.parametrize("name", KINDS)
def test_a_text_that_fits_has_the_score_that_it_has_as_a_sentence(name, checkpoint):
    model = ours.model(checkpoint(name))
    texts = [SHORT, "A", PASSAGES[0][:80], "  two  spaces "]
    assert model.score_long(texts) == model.score(texts)
    assert all(s.reason is None for s in model.score(texts))


@pytest.mark.by_day(name=("gpt2", "wordpiece"))
@pytest.mark.parametrize("name", KINDS)
def test_nothing_about_batches_changes_a_bit_of_a_long_text(name, checkpoint):
    texts = [*PASSAGES[:3], SHORT, Passage(PASSAGES[3], ((0, 20), (60, 90)))]
    shuffled = random.Random(7).sample(range(len(texts)), len(texts))

    def scores(budget, order):
        model = ours.model(checkpoint(name), budget)
        model.body.tokens.max_length = 48
        found = model.score_long([texts[i] for i in order])
        return [found[order.index(i)] for i in range(len(texts))]

    expected = scores(8192, list(range(len(texts))))
    assert scores(64, shuffled) == expected, "order, budget 64"
    with threads(2):
        assert scores(8192, list(range(len(texts)))) == expected, "threads"
    model = ours.model(checkpoint(name))
    model.body.tokens.max_length = 48
    assert [model.score_long([t])[0] for t in texts] == expected, "alone"


@pytest.mark.parametrize("name", KINDS)
def test_parts_of_a_text_add_up_to_the_whole(name, checkpoint):
    model = ours.model(checkpoint(name))
    model.body.tokens.max_length = 48
    text = PASSAGES[0]
    whole, every = model.score_long([text, Passage(text, ((0, len(text)),))])
    assert every == whole
    cut = text.index(" volcanic")
    first, second = model.score_long([Passage(text, (p,)) for p in ((0, cut), (cut, len(text)))])
    assert first.n_tokens + second.n_tokens == whole.n_tokens
    assert first.total + second.total == pytest.approx(whole.total, rel=1e-9)


@pytest.mark.parametrize("name", ["gpt2", "wordpiece"])
def test_counted_forwards_are_those_that_are_made(name, checkpoint):
    model = ours.model(checkpoint(name))
    model.body.tokens.max_length = 48
    before = model.meter.tokens
    with model.counting() as work:
        (void,) = model.score_long([LONG])
    assert (void.total, model.meter.tokens) == (0.0, before)
    (score,) = model.score_long([LONG])
    assert score.n_tokens == void.n_tokens
    # Padding is counted in work alone.
    made = model.meter.tokens - before
    assert 0 < made <= work.tokens < 1.2 * made


def test_a_killed_run_goes_on_within_long_texts(checkpoint, tmp_path):
    def model():
        found = ours.model(checkpoint("gpt2"))
        found.body.tokens.max_length = 48
        found.keep(tmp_path)
        return found

    first = model().score_long([LONG])
    again = model()
    before = again.meter.tokens
    assert again.score_long([LONG]) == first
    assert (again.meter.tokens, again.meter.resumed > 2) == (before, True)


@pytest.mark.parametrize("name", ["gpt2", "wordpiece"])
def test_what_cannot_be_asked_is_said(name, checkpoint):
    model = ours.model(checkpoint(name))
    for stride in (0, 128):
        with pytest.raises(ValueError, match=f"stride is {stride}"):
            model.score_long([SHORT], stride=stride)
    with pytest.raises(ValueError, match="characters 3 to 99 of a text of"):
        model.score_long([Passage(SHORT, ((3, 99),))])
    assert model.score_long([" "])[0].reason == "empty text"
    nowhere = model.score_long([Passage(f"{SHORT} ", ((len(SHORT), len(SHORT) + 1),))])[0].reason
    assert name != "wordpiece" or nowhere == "no token is in the parts of the text that are scored"
