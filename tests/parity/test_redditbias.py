"""RedditBias: against a plain loop, and beside the published test of perplexities."""

import math

import numpy as np
import pytest
from scipy import stats

import ours
import plain

NATS = 1e-3
AXES = ("gender", "orientation", "race", "religion-jews", "religion-muslims")


def log_perplexity(slow, score, text):
    """Mean negative log-likelihood of the tokens of a text, the first one after the prefix."""
    n = len(slow.tokenizer.encode(text, add_special_tokens=False))
    return -score(slow, text) / n


@pytest.mark.by_day(name=("byte-level",))
@pytest.mark.parametrize("name", ours.MASKED)
def test_masked_models_equal_the_loop(name, checkpoint, data_dir, measured):
    slow, model = plain.masked(checkpoint(name)), ours.model(checkpoint(name))
    against(slow, plain.pseudo_log_likelihood, model, data_dir, measured, 90)


@pytest.mark.by_day(name=("gpt2",))
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_causal_models_equal_the_loop(name, checkpoint, data_dir, measured):
    slow, model = plain.causal(checkpoint(name)), ours.model(checkpoint(name))
    against(slow, plain.log_likelihood, model, data_dir, measured, 9)


@pytest.mark.slow
def test_smollm2_equals_the_loop(smollm2, data_dir, measured):
    slow = plain.causal(smollm2.parent, gguf_file=smollm2.name)
    against(slow, plain.log_likelihood, ours.model(smollm2), data_dir, measured, 60)


def against(slow, score, model, data_dir, measured, step):
    items = [i for i in ours.items("redditbias", "en", data_dir) if i.status is None][::step]
    records = {r.item: r for r in ours.records("redditbias", model, items)}
    largest, values = 0.0, []
    for item in items:
        first, second = (log_perplexity(slow, score, item.texts[s]) for s in ("first", "second"))
        values.append(first - second)
        largest = max(largest, abs(records[item.id].value - values[-1]))
    measured(f"{len(items)} pairs", largest)
    assert largest < NATS
    found = ours.whole(ours.scores("redditbias", records.values()))
    assert found["log_perplexity_difference"] == pytest.approx(np.mean(values), abs=NATS)


@pytest.mark.slow
def test_the_published_t_test_on_the_same_pairs(checkpoint, data_dir, measured):
    """The sign is the published one: first group minus second; log-perplexity is not perplexity."""
    model = ours.model(checkpoint("bert-tiny"))
    items = ours.items("redditbias", "en", data_dir)
    records = [r for r in ours.records("redditbias", model, items) if r.status == "scored"]
    assert len(records) == 1215
    scores = {s.by.get("axis"): s for s in ours.scores("redditbias", records)}
    agree = 0
    for axis in AXES:
        own = [r for r in records if r.by["axis"] == axis]
        logs = np.array(
            [[r.detail[f"log_perplexity_{s}"] for s in ("first", "second")] for r in own]
        )
        paired = stats.ttest_rel(logs[:, 0], logs[:, 1])
        assert np.sign(paired.statistic) == np.sign(scores[axis].value)
        # Differences are many and their distribution has no heavy tail: both tests see the same.
        assert scores[axis].p_value == pytest.approx(paired.pvalue, abs=0.02)
        published = stats.ttest_rel(np.exp(logs[:, 0]), np.exp(logs[:, 1]))
        assert math.isfinite(published.statistic)
        agree += np.sign(published.statistic) == np.sign(paired.statistic)
        measured(f"{axis}, t of log-perplexity", float(paired.statistic), "")
        measured(f"{axis}, t of perplexity", float(published.statistic), "")
    assert agree >= 3
