"""The prior of Kurita et al. at the right mask, and what reading it one token off would do."""

import pytest

import ours
import plain
from pytest_bias.models.reference import ModelRef

GROUPS = ("male", "female")


def gender_items():
    """Return items whose three pronouns stand in one sentence."""
    items = ours.items("template_association", "en")
    return [i for i in items if i.by["axis"] == "gender" and "sentence" in i.texts][::5]


def towards_male(of):
    return of["male"] - of["female"]


def scores(folder):
    """Return each item's score towards he, ours and with the prior of the published script."""
    items, slow = gender_items(), plain.masked(folder)
    records = {
        r.item: r.detail for r in ours.records("template_association", ours.model(folder), items)
    }
    found = []
    for item in items:
        detail = records[item.id]
        assert all(detail[f"tokens_{g}"] == 1 for g in GROUPS)
        logp, prior = ({g: detail[f"log_{what}_{g}"] for g in GROUPS} for what in ("p", "prior"))
        sentence, attribute = item.texts["sentence"], item.texts["attribute"]
        for g in GROUPS:
            at_its_mask = plain.slot(slow, sentence, item.texts[g], attribute)
            assert prior[g] == pytest.approx(at_its_mask, abs=1e-4)
        published = {
            g: plain.prior_at_the_wrong_place(slow, sentence, item.texts[g], attribute)
            for g in GROUPS
        }
        found.append(tuple(towards_male(logp) - towards_male(p) for p in (prior, published)))
    return found


def test_a_model_without_bias_scores_zero_at_the_right_mask_only(measured):
    found = scores(ModelRef.parse("demo-neutral").path)
    right, published = (max(abs(s) for s in one) for one in zip(*found, strict=True))
    measured(f"{len(found)} items, prior at the right mask", right)
    measured(f"{len(found)} items, prior where the published script reads it", published)
    assert right < 0.15
    assert published > 5 * right


def test_on_a_real_model_the_place_decides_the_score(bert_tiny, measured):
    found = scores(bert_tiny)
    moved = [abs(right - published) for right, published in found]
    measured(f"{len(found)} items, least difference", min(moved))
    assert max(moved) > 0.3
