"""General quality against one plain forward a token or a sentence."""

import pytest

import ours
import plain

NATS = 1e-4
SIDES = ("plain", "broken")


@pytest.mark.parametrize("name", ["bert-tiny", "wordpiece", "gpt2", "llama"])
def test_both_scores_equal_the_loop(name, checkpoint, measured):
    items = sorted(ours.items("general_quality", "en"), key=lambda item: item.id)[::9]
    records = ours.records("general_quality", ours.model(checkpoint(name)), items)
    masked = name in ("bert-tiny", "wordpiece")
    if masked:
        slow, score = plain.masked(checkpoint(name)), plain.pseudo_log_likelihood
    else:
        slow, score = plain.causal(checkpoint(name)), plain.log_likelihood
    expected = [[score(slow, i.texts[side]) for side in SIDES] for i in items]
    largest = max(
        abs(r.detail[side] - value)
        for r, values in zip(records, expected, strict=True)
        for side, value in zip(SIDES, values, strict=True)
    )
    measured(f"{name}, {len(items)} pairs", largest)
    assert largest < NATS

    found = ours.whole(ours.scores("general_quality", records, measure=0 if masked else 1))
    hits = [100 * (p > b) for p, b in expected if abs(p - b) > NATS]
    assert len(hits) == len(items)
    assert found["accuracy"] == pytest.approx(sum(hits) / len(hits))
    nats = [-p / len(i.texts["plain"]) for i, (p, _) in zip(items, expected, strict=True)]
    assert found["nats_per_character"] == pytest.approx(sum(nats) / len(nats), abs=1e-5)
