"""Suites for classifiers of texts against one plain forward a text, on three kinds of tokenizer."""

import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import ours
import plain
from pytest_bias.models.interface import Model
from pytest_bias.records.report import Item, Record
from tiny_architectures import CLASSIFIER, head

TOKENIZERS = {"bert": "wordpiece", "roberta": "byte-level", "t5": "unigram"}
PROBABILITY = 1e-5

CORPUS = "equity_evaluation_corpus/Equity-Evaluation-Corpus.csv.gz"
PARTNERS = {
    "she": "he",
    "her": "him",
    **{f"this {a}": f"this {b}" for a, b in (("woman", "man"), ("girl", "boy"))},
    "my sister": "my brother",
    "my daughter": "my son",
    "my wife": "my husband",
    "my girlfriend": "my boyfriend",
    "my mother": "my father",
    "my aunt": "my uncle",
    "my mom": "my dad",
}

Forwarded = tuple[Model, plain.Plain, bool]


@pytest.fixture(params=TOKENIZERS, ids=TOKENIZERS.values())
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Forwarded:
    """Return a random classifier of three labels as we load it and as transformers does."""
    labels = {0: "hateful", 1: "positive", 2: "negative"}
    folder = head(CLASSIFIER, request.param, tmp_path / request.param, id2label=labels)
    model = ours.model(folder)
    model.label_names = {
        "hate": {"hateful": "hateful"},
        "toxicity": {"toxic": "hateful"},
        "sentiment": {"positive": "positive", "negative": "negative"},
    }
    return model, plain.classifier(folder), request.param == "bert"


def probabilities(slow: plain.Plain, texts: Sequence[str], *, types: bool) -> np.ndarray:
    return np.array([plain.head(slow, t, types=types).softmax(-1).numpy() for t in texts])


def clusters(items: Sequence[Item], n: int) -> list[Item]:
    """Return the items of about `n` clusters, spread over the file."""
    names = list(dict.fromkeys(i.cluster for i in items))
    taken = set(names[:: max(1, len(names) // n)])
    return [i for i in items if i.cluster in taken]


def percent(flags: Sequence[bool]) -> float:
    return 100 * sum(flags) / len(flags)


def test_hatecheck(both: Forwarded, data_dir: Path, measured) -> None:
    model, slow, types = both
    items = clusters(ours.items("hatecheck", "en", data_dir), 40)
    found = {r.item: r for r in ours.records("hatecheck", model, items)}
    hateful = probabilities(slow, [i.texts["text"] for i in items], types=types)[:, 0]
    records = [found[i.id] for i in items]
    difference = max(
        abs(float(r.detail["probability"] or 0) - p) for r, p in zip(records, hateful, strict=True)
    )
    measured("hatecheck", difference, "of 1")
    assert difference < PROBABILITY
    # A threshold that divides the texts of a random model says more than one half.
    called = dict(zip(found, [r.value == 100 for r in found.values()], strict=True))
    assert [called[i.id] for i in items] == [p >= 0.5 for p in hateful]
    again = [middle(r, float(np.median(hateful))) for r in records]
    scores = {(s.metric, *s.by.values()): s.value for s in ours.scores("hatecheck", again)}
    called = {r.item: r.value == 100 for r in again}
    assert 0.3 < np.mean(list(called.values())) < 0.7
    right = {i.id: called[i.id] == (i.by["gold"] == "hateful") for i in items}
    assert scores["accuracy",] == pytest.approx(percent(list(right.values())))
    for functionality in {i.by["functionality"] for i in items}:
        of = [right[i.id] for i in items if i.by["functionality"] == functionality]
        assert scores["accuracy", functionality] == pytest.approx(percent(of))
    groups = sorted({i.by["group"] for i in items if "group" in i.by})
    share = {g: percent([called[i.id] for i in items if i.by.get("group") == g]) for g in groups}
    assert len(groups) == 7
    assert scores["gap",] == pytest.approx(max(share.values()) - min(share.values()))
    for g in groups:
        # All groups have as many cases.
        others = np.mean([share[o] for o in groups if o != g])
        assert scores["gap_to_others", g] == pytest.approx(share[g] - others)


@pytest.mark.by_day(both=("bert",))
def test_identity_terms(both: Forwarded, data_dir: Path, measured) -> None:
    model, slow, types = both
    items = [i for i in ours.items("identity_terms", "en", data_dir) if i.status is None]
    terms = sorted({i.by["term"] for i in items})[::10]
    items = clusters([i for i in items if i.by["term"] in terms], 50)
    found = {r.item: r for r in ours.records("identity_terms", model, items)}
    toxic = probabilities(slow, [i.texts["text"] for i in items], types=types)[:, 0]
    records = [found[i.id] for i in items]
    difference = max(
        abs(float(r.detail["probability"] or 0) - p) for r, p in zip(records, toxic, strict=True)
    )
    measured("identity_terms", difference, "of 1")
    assert difference < PROBABILITY
    assert [r.value == 100 for r in records] == [p >= 0.5 for p in toxic]
    again = [middle(r, float(np.median(toxic))) for r in records]
    scores = {(s.metric, *s.by.values()): s.value for s in ours.scores("identity_terms", again)}
    called = {r.item: r.value == 100 for r in again}
    rate = {
        t: percent([called[i.id] for i in items if i.by["term"] == t and harmless(i)])
        for t in terms
    }
    overall = percent([called[i.id] for i in items if harmless(i)])
    assert 0 < overall < 100
    expected = sum(abs(overall - r) for r in rate.values()) / len(terms)
    assert scores["false_positive_difference",] == pytest.approx(expected)
    p = dict(zip([i.id for i in items], toxic, strict=True))
    for t in terms:
        own = [i for i in items if i.by["term"] == t]
        others = [i for i in items if i.by["term"] != t]
        for name, positives, negatives in (
            ("subgroup_auc", own, own),
            ("bpsn_auc", others, own),
            ("bnsp_auc", own, others),
        ):
            first = [p[i.id] for i in positives if not harmless(i)]
            second = [p[i.id] for i in negatives if harmless(i)]
            pairs = [(a > b) + (a == b) / 2 for a in first for b in second]
            # A pair whose numbers are equal but for rounding may fall either way.
            assert scores[name, t] == pytest.approx(sum(pairs) / len(pairs), abs=5e-4)


@pytest.mark.by_day(both=("bert",))
def test_equity_evaluation(both: Forwarded, data_dir: Path, measured) -> None:
    model, slow, types = both
    content = gzip.decompress((data_dir / CORPUS).read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    words = ("angry", "happy", "dreadful", "")
    rows = [r for r in rows if r["Emotion word"] in words and "school" not in r["Sentence"]]
    p = probabilities(slow, [r["Sentence"] for r in rows], types=types)
    value = {r["ID"]: 50 * (1 + p[n, 1] - p[n, 2]) for n, r in enumerate(rows)}
    # Straight from the rows: pairs of phrases and the two means over names, a sentence at a time.
    expected: dict[str, list[float]] = {"gender": [], "race": []}
    for template, word in dict.fromkeys((r["Template"], r["Emotion word"]) for r in rows):
        of = [r for r in rows if (r["Template"], r["Emotion word"]) == (template, word)]

        def mean(of: list[dict[str, str]] = of, **wanted: str) -> float:
            found = [value[r["ID"]] for r in of if wanted.items() <= r.items()]
            return sum(found) / len(found)

        named = [r for r in of if r["Race"]]
        expected["gender"].append(mean(named, Gender="female") - mean(named, Gender="male"))
        for first, second in PARTNERS.items():
            if any(r["Person"] == first for r in of):
                expected["gender"].append(mean(Person=first) - mean(Person=second))
        for gender in ("female", "male"):
            african, european = (
                mean(named, Gender=gender, Race=race) for race in ("African-American", "European")
            )
            expected["race"].append(african - european)
    ids = {i.id: i for i in ours.items("equity_evaluation", "en", data_dir)}
    texts = {r["Sentence"] for r in rows}
    items = [i for i in ids.values() if set(i.texts.values()) <= texts]
    records = ours.records("equity_evaluation", model, items)
    scores = {(s.metric, *s.by.values()): s for s in ours.scores("equity_evaluation", records)}
    for axis, values in expected.items():
        found = scores["mean_difference", axis]
        assert found.n == len(values)
        measured(axis, abs(found.value - np.mean(values)), "points")
        assert found.value == pytest.approx(np.mean(values), abs=1e-3)
    assert scores["mean_absolute_difference",].value == pytest.approx(
        np.mean([abs(np.mean(v)) for v in expected.values()]), abs=1e-3
    )


def harmless(item: Item) -> bool:
    return item.by["toxicity"] == "nontoxic"


def middle(record: Record, threshold: float) -> Record:
    """Return a record as a threshold of its own would make it."""
    from dataclasses import replace

    called = float(record.detail["probability"] or 0) >= threshold
    return replace(record, value=100.0 * called)
