"""Perturbation: scores by hand, labels, classes, texts of the user's own."""

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bias_suites.robustness.perturbation import SUITE, items_of
from bias_suites.robustness.perturbation_kinds import PERTURBATIONS
from bias_suites.robustness.perturbation_scores import called, divergence
from bias_suites.robustness.perturbing import SHARES
from bias_suites.social.gendered_sentences import OCCUPATIONS
from made import report
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, UsageError
from pytest_bias.models.interface import Outputs
from pytest_bias.records.report import Item
from pytest_bias.reports.comparison import compare
from pytest_bias.settings.settings import read_settings
from pytest_bias.suites.sentences import text_file
from stand_ins import Pseudo, Texts, records_of, result_of, values
from writers import UNREADABLE, Reads

ITEMS = SUITE.configuration("en").load(DataFolder(offline=True)).items
MODELS = pytest.mark.parametrize("kind", [Texts, Pseudo])


# The bundled texts


def test_every_text_has_every_kind_at_every_severity():
    texts = {i.cluster: i.texts["clean"] for i in ITEMS}
    assert len(texts) == len(set(texts.values())) == 64
    assert len(ITEMS) == 64 * len(PERTURBATIONS) * len(SHARES) == len({i.id for i in ITEMS})
    excluded = [i for i in ITEMS if i.status]
    assert {i.by["perturbation"] for i in excluded} == {"contractions"}
    assert {i.reason for i in excluded} == {"nothing in it that contractions may change"}
    assert len(excluded) < len(SHARES) * 32
    assert all((i.texts["clean"] == i.texts["perturbed"]) == bool(i.status) for i in ITEMS)


def test_no_bundled_text_speaks_of_a_group_of_people():
    gendered, occupations = text_file("words/en/gendered_pairs.yaml"), text_file(OCCUPATIONS)
    people = {"people", "person", "persons", "child", "children", "baby", "parents"}
    people |= set(" ".join([*gendered["pairs"], *gendered["filter"]]).replace("/", " ").split())
    people |= {word.lower() for word in occupations["women_percent"]}
    for item in ITEMS:
        assert not set(re.findall(r"\w+", item.texts["clean"].lower())) & people, item.id


def test_numbers_are_those_of_the_clean_text():
    for item in ITEMS:
        if item.by["perturbation"] != "ocr":
            clean, changed = (re.findall(r"\d[\d.]*\d|\d", t) for t in item.texts.values())
            assert clean == changed, item.id


# Language models, by hand


def pair(number, clean, changed, kind="keyboard", severity="1", **by):
    return Item(
        f"perturbation/{number}/{kind}/{severity}",
        f"perturbation/{number}",
        {"clean": clean, "perturbed": changed},
        {"perturbation": kind, "severity": f"severity {severity}", **by},
        {"changes": 1},
    )


LIKELY = {"ab cd": -5.0, "ab cd e": -10.5, "x": -2.0, "xy z": -4.0}
TWO = [pair(0, "ab cd", "ab cd e"), pair(1, "x", "xy z", severity="2")]


@MODELS
def test_log_likelihood_is_for_each_character_of_its_own_text(kind):
    found = result_of(SUITE, kind(LIKELY.get), TWO)
    # -10.5 / 7 + 5 / 5, and -4 / 4 + 2 / 1.
    assert {r.item: r.value for r in found.records} == {TWO[0].id: -0.5, TWO[1].id: 1.0}
    assert values(found, "log_likelihood_change") == {
        (): 0.25,
        ("keyboard",): 0.25,
        ("severity 1",): -0.5,
        ("severity 2",): 1.0,
        ("keyboard", "severity 1"): -0.5,
        ("keyboard", "severity 2"): 1.0,
    }
    assert found.score("log_likelihood").value == (-1.5 - 1.0) / 2
    assert found.score("in_distribution_log_likelihood").value == (-1.0 - 2.0) / 2
    assert (found.headline.metric, found.headline.ideal) == ("log_likelihood_change", 0)


def test_perplexity_is_for_each_token_and_its_ratio_a_geometric_mean():
    found = result_of(SUITE, Texts(LIKELY.get), TWO)
    # A word is a token here: exp(10.5 / 3 - 5 / 2) and exp(4 / 2 - 2 / 1).
    ratios = values(found, "token_perplexity_ratio")
    assert ratios["severity 1",] == pytest.approx(math.exp(1.0))
    assert ratios["severity 2",] == pytest.approx(1.0)
    assert ratios[()] == pytest.approx(math.exp(0.5))
    assert found.score("token_perplexity_ratio").ideal == 1


@pytest.mark.all_draws
def test_a_ratio_has_an_interval_and_a_test_around_its_mean():
    items = [pair(n, f"clean {n}", f"changed {n}") for n in range(20)]
    model = Texts(lambda t: -8.0 - (t.startswith("changed")) * (1 + int(t.split()[1]) % 5) / 5)
    score = result_of(SUITE, model, items).score("token_perplexity_ratio")
    low, high = score.interval
    assert score.value == pytest.approx(math.exp(0.3))
    assert 1 < low < score.value < high
    assert score.p_value < 0.001
    same = result_of(SUITE, Texts(lambda t: -8.0), items).score("token_perplexity_ratio")
    assert (same.value, same.interval_reason) == (1.0, "all values are equal")


@MODELS
def test_a_text_that_cannot_be_scored_is_unscored_with_its_reason(kind):
    found = records_of(SUITE, kind(lambda t: None if t == "x" else -3.0), TWO)
    assert [(r.status, r.reason) for r in found.values()] == [
        ("scored", None),
        ("unscored", "empty text"),
    ]
    found = records_of(SUITE, kind(lambda t: math.nan if t == "x" else -3.0), TWO)
    assert found[TWO[1].id].reason == "non-finite"
    found = records_of(SUITE, kind(lambda t: 0.0), [pair(0, " ", "a")])
    assert [r.reason for r in found.values()] == ["no token has a probability"]


def test_every_text_is_asked_once():
    asked = []

    class Counting(Texts):
        def log_likelihood(self, texts):
            asked.extend(texts)
            return super().log_likelihood(texts)

    found = records_of(SUITE, Counting(lambda t: -float(len(t))), ITEMS)
    assert len(asked) == len(set(asked))
    assert set(asked) == {t for i in ITEMS if not i.status for t in i.texts.values()}
    assert sum(r.status == "excluded" for r in found.values()) == sum(bool(i.status) for i in ITEMS)


def test_neither_order_nor_batch_matters():
    def of(items):
        return records_of(SUITE, Texts(lambda t: -float(sum(map(ord, t)) % 97)), items)

    whole = of(ITEMS)
    assert of(random.Random(1).sample(ITEMS, len(ITEMS))) == whole
    parts = [of([i for i in ITEMS if i.cluster == c]) for c in {i.cluster for i in ITEMS}]
    assert {k: v for part in parts for k, v in part.items()} == whole


# Classifiers, by hand

SAYS = {
    "good": (0.75, 0.25),
    "goood": (0.5, 0.5),
    "bad": (0.25, 0.75),
    "baad": (0.75, 0.25),
    "meh": (0.0, 1.0),
    "meeh": (0.0, 1.0),
}
THREE = [
    pair(0, "good", "goood", gold="pos"),
    pair(1, "bad", "baad", severity="2", gold="pos"),
    pair(2, "meh", "meeh", gold="neg"),
]


def test_flips_divergence_and_accuracy():
    found = result_of(SUITE, Reads(("pos", "neg"), SAYS.get), THREE)
    # Of equal probabilities the first label counts: goood is still called pos.
    assert [r.value for r in found.records] == [0.0, 100.0, 0.0]
    assert [(r.detail["class"], r.detail["called"]) for r in found.records] == [
        ("pos", "pos"),
        ("neg", "pos"),
        ("neg", "neg"),
    ]
    assert found.headline.metric == "flip_rate"
    assert found.headline.value == pytest.approx(100 / 3)
    assert values(found, "flip_rate")["keyboard", "severity 2"] == 100.0
    assert found.score("flip_rate", severity="severity 1").method == "wilson"
    # The second was wrong and came right.
    assert found.score("accuracy_drop").value == pytest.approx(-100 / 3)
    assert found.score("accuracy").value == 100.0
    assert found.score("in_distribution_accuracy").value == pytest.approx(200 / 3)
    bits = [r.detail["divergence"] for r in found.records]
    middle = -(0.625 * math.log2(0.625) + 0.375 * math.log2(0.375))
    sure = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert bits == pytest.approx([middle - (sure + 1) / 2, 1 - sure, 0.0])
    assert found.score("divergence").value == pytest.approx(np.mean(bits))


def test_divergence_is_that_of_scipy_and_has_its_ends():
    from scipy.spatial.distance import jensenshannon

    rng = np.random.default_rng(1)
    for _ in range(50):
        one, other = rng.dirichlet(np.ones(4), 2)
        wanted = jensenshannon(one, other, base=2) ** 2
        assert divergence(one, other, Outputs.SINGLE_LABEL) == pytest.approx(wanted)
    ends = np.array([1.0, 0.0])
    assert divergence(ends, ends[::-1], Outputs.SINGLE_LABEL) == pytest.approx(1)
    assert divergence(ends, ends, Outputs.SINGLE_LABEL) == 0
    # Of two labels one turns round, the other stays.
    assert divergence(ends, np.array([0.0, 0.0]), Outputs.MULTI_LABEL) == pytest.approx(0.5)


def test_labels_that_do_not_exclude_one_another_are_a_set():
    labels = ("toxic", "threat")
    assert called(np.array([0.5, 0.75]), labels, Outputs.MULTI_LABEL) == labels
    assert called(np.array([0.49, 0.25]), labels, Outputs.MULTI_LABEL) == ()
    says = {"a": (0.5, 0.75), "b": (0.6, 0.4), "c": (0.1, 0.2), "d": (0.2, 0.1)}
    items = [pair(0, "a", "b", gold="toxic"), pair(1, "c", "d", gold="toxic")]
    found = result_of(SUITE, Reads(labels, says.get, Outputs.MULTI_LABEL), items)
    assert [r.value for r in found.records] == [100.0, 0.0]
    assert [r.detail["class"] for r in found.records] == ["toxic + threat", "no label"]
    # Right is a text that is called by its label alone.
    assert found.score("accuracy").value == 50.0
    assert found.score("in_distribution_accuracy").value == 0.0


def test_values_of_a_regression_have_no_label():
    found = result_of(SUITE, Reads(("value",), lambda t: (1.5,), Outputs.REGRESSION), THREE_UNNAMED)
    assert found.status == "inconclusive"
    assert "the head gives values, no probabilities" in found.reason


def test_what_a_classifier_cannot_read_is_unscored():
    says = {**SAYS, "baad": None, "meeh": (math.nan, 0.5)}
    found = records_of(SUITE, Reads(("pos", "neg"), says.get), THREE)
    assert [(r.status, r.reason) for r in found.values()] == [
        ("scored", None),
        ("unscored", UNREADABLE),
        ("unscored", "non-finite"),
    ]


THREE_UNNAMED = [pair(n, *i.texts.values()) for n, i in enumerate(THREE)]


def test_without_labels_there_is_no_accuracy():
    found = result_of(SUITE, Reads(("pos", "neg"), SAYS.get), THREE_UNNAMED)
    assert {s.metric for s in found.scores} == {"flip_rate", "divergence", "worst_class"}


def test_a_label_that_the_model_does_not_give_is_an_error_that_lists_them():
    with pytest.raises(UsageError, match=r"labelled pos, which is no label of the model") as caught:
        records_of(SUITE, Reads(("LABEL_0", "neg"), SAYS.get), THREE)
    assert "it gives LABEL_0, neg" in caught.value.message
    assert "leave out `label`" in caught.value.message


def classes(flips):
    """Return items of which the class and the flip are said by their texts."""
    return [
        pair(n, f"{name} {n}", f"{name if stays else 'other'} changed {n}")
        for n, (name, stays) in enumerate(flips)
    ]


def by_first_word(text):
    names = ("one", "two", "other")
    return [float(text.split()[0] == name) for name in names]


@pytest.mark.all_draws
def test_the_worst_class_is_named_and_stands_beside_chance():
    items = classes([("one", True)] * 20 + [("one", False)] * 4 + [("two", False)] * 6)
    found = result_of(SUITE, Reads(("one", "two", "other"), by_first_word), items)
    worst = found.score("worst_class")
    assert worst.value == 100.0
    assert worst.note == "in two (6 of 30 texts)"
    assert (worst.interval, worst.interval_reason) == (None, "6 clusters on a side; it takes 8")
    # All are flipped in a third of the cases; the small class by chance in a bit more.
    assert 100 / 3 < worst.floor < 60
    assert worst.p_value < 0.01
    assert values(found, "worst_class") == {(): 100.0, ("keyboard",): 100.0}


def test_the_worst_class_of_another_model_is_compared_without_an_interval():
    def of(texts):
        names = ("one", "two", "other")
        found = result_of(SUITE, Reads(names, by_first_word), classes(texts))
        return report(replace(found, language="en"))

    now = of([("one", True)] * 10 + [("two", False)] * 2)
    then = of([("one", False)] * 6 + [("one", True)] * 6)
    assert then.suites[0].score("worst_class").value is None
    then = of([("one", False)] * 6 + [("other", True)] * 6)
    # The texts differ here as well; of the same texts the class alone may.
    texts = {r.item: r.text_sha256 for r in now.suites[0].records}
    (suite,) = then.suites
    records = tuple(replace(r, text_sha256=texts[r.item]) for r in suite.records)
    then = report(replace(suite, records=records))
    changes = [c for s in compare(now, then).suites for c in s.changes]
    worst = next(c for c in changes if c.current.metric == "worst_class" and not c.current.by)
    assert (worst.current.value, worst.baseline.value) == (100.0, 100.0)
    assert worst.change.interval is None
    assert "no value for single items" in worst.change.interval_reason


def test_classes_that_flip_alike_are_at_chance():
    even = [(name, n % 4 > 0) for name in ("one", "two") for n in range(24)]
    worst = result_of(SUITE, Reads(("one", "two", "other"), by_first_word), classes(even))
    worst = worst.score("worst_class")
    assert worst.value == 25.0 < worst.floor
    assert worst.note is None
    assert worst.p_value == 1.0


def test_one_class_alone_has_no_worst():
    model = Reads(("one", "two", "other"), by_first_word)
    worst = result_of(SUITE, model, classes([("one", True)] * 5)).score("worst_class")
    assert worst.value is None
    assert worst.interval_reason == "all clean texts are of one class"


# Texts of the user's own


def own(folder: Path, content: str, name: str = "tickets.csv", **source):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    given = {"perturbation": {"tickets": {"path": str(path), **source}}}
    settings = folder / "pytest-bias.yaml"
    settings.write_text(json.dumps({"texts": given}), encoding="utf-8")
    texts = read_settings({"config": settings}).texts
    return SUITE.configuration("own").load(DataFolder(suite="perturbation", texts=texts))


def test_own_texts_have_a_source_a_label_and_protected_words(tmp_path):
    content = "body,queue\nPlease close ticket 77 soon,open\nIt is broken,\n"
    loaded = own(tmp_path, content, text="body", label="queue", protect=["ticket", "broken"])
    assert len(loaded.items) == 2 * 24
    first = loaded.items[0]
    assert first.id == "perturbation/tickets/000000/keyboard/1"
    assert dict(first.by) == {
        "perturbation": "keyboard",
        "severity": "severity 1",
        "source": "tickets",
        "gold": "open",
    }
    assert "gold" not in loaded.items[24].by
    assert loaded.info.local
    for item in loaded.items:
        kept = "ticket 77" if "000000" in item.id else "broken"
        assert re.sub(r"\s+", " ", item.texts["perturbed"]).find(kept) >= 0, item


def test_an_empty_own_text_is_unscored_and_counted(tmp_path):
    loaded = own(tmp_path, "text\nSome words here\n \n")
    assert {i.reason for i in loaded.items[24:]} == {"empty text"}
    assert {i.status for i in loaded.items[24:]} == {"unscored"}


def test_own_texts_that_are_no_unicode_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"texts of tickets, row 0, is no valid Unicode"):
        own(tmp_path, '{"text": "a \\ud800 b"}\n', "tickets.jsonl")


def test_texts_in_another_script_are_excluded_where_nothing_applies():
    items = list(items_of("he", "שלום, מה שלומך?"))
    scored = {i.by["perturbation"] for i in items if i.status is None}
    assert scored == {"punctuation", "whitespace"}
    assert {i.reason for i in items if i.by["perturbation"] == "ocr"} == {
        "nothing in it that ocr may change"
    }


def test_without_texts_in_the_settings_the_lines_to_write_are_named():
    with pytest.raises(UsageError) as caught:
        SUITE.configuration("own").load(DataFolder(suite="perturbation"))
    assert "texts: {perturbation: {mine: {path: texts.txt}}}" in str(caught.value)
