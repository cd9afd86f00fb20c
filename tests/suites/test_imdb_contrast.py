"""Pairs of reviews: both files in their published shapes, and the four numbers by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bias_suites.robustness.imdb_contrast import SUITE
from classifiers import Classifier
from pair_classifiers import table
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, LicenceNotAccepted
from pytest_bias.models.labels import labels_for
from pytest_bias.records.report import Item
from stand_ins import records_of, result_of, values
from writers import Reads

REVIEWS = (
    ("A good film.", "A bad film."),
    ('A "good" horror, I say.<br /><br />See it.', 'A "bad" horror, I say.<br /><br />Leave it.'),
    ("Bad, even for a comedy.", "Good, even for a comedy."),
    ("A western, and bad.", "A western, and good."),
)
"""Originals and what became of them; the first two were positive."""
ACCEPTED = {"imdb_contrast": "no clear licence"}


def sentiment(text: str) -> str:
    return "Positive" if "good" in text.lower() else "Negative"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for side, name in enumerate(("original", "contrast")):
        rows = [{"Sentiment": sentiment(r[side]), "Text": r[side]} for r in REVIEWS]
        table(tmp_path / f"imdb_contrast_sets/test_{name}.tsv", rows, "\t")
    pairs = [
        {"Sentiment": sentiment(text), "Text": text, "batch_id": str(n)}
        for n, review in enumerate(REVIEWS)
        for text in review
    ]
    table(tmp_path / "counterfactual_imdb/test_paired.tsv", pairs, "\t")
    return tmp_path


def loaded(folder: Path, configuration: str = "en") -> tuple[Item, ...]:
    data = DataFolder(folder, offline=True, accepted=ACCEPTED)
    return SUITE.configuration(configuration).load(data).items


def says(words: Callable[[str], bool]) -> Classifier:
    return Classifier("sentiment", lambda text: 0.9 if words(text) else 0.1)


@pytest.mark.parametrize("configuration", ["en", "en-counterfactual"])
def test_both_files_give_the_same_pairs(folder: Path, configuration: str) -> None:
    items = loaded(folder, configuration)
    assert [tuple(i.texts.values()) for i in items] == list(REVIEWS)
    assert [i.by["label"] for i in items] == ["negative"] * 2 + ["positive"] * 2


def test_the_four_numbers_by_hand(folder: Path) -> None:
    # It knows what is good, but takes every western for bad and every horror for good.
    def right(text: str) -> bool:
        return "horror" in text or ("good" in text.lower() and "western" not in text)

    found = result_of(SUITE, says(right), loaded(folder))
    assert found.headline is not None
    assert (found.headline.value, found.headline.n) == (50.0, 4)
    assert values(found, "in_distribution_accuracy")[()] == 100.0
    assert values(found, "gap")[()] == 50.0
    assert values(found, "consistency")[()] == 50.0
    assert values(found, "accuracy")["negative",] == 50.0
    assert found.score("consistency").floor == 25.0


def test_who_ignores_the_change_is_never_right_on_both(folder: Path) -> None:
    found = result_of(SUITE, says(lambda text: True), loaded(folder))
    assert values(found, "consistency")[()] == 0.0
    assert values(found, "accuracy")[()] == values(found, "in_distribution_accuracy")[()] == 50.0
    assert values(found, "gap") == {(): 0.0, ("negative",): 100.0, ("positive",): -100.0}


def test_a_review_that_cannot_be_read_takes_its_pair_with_it(folder: Path) -> None:
    model = Classifier("sentiment", lambda text: None if "comedy" in text else 0.9)
    found = records_of(SUITE, model, loaded(folder))
    assert [r.status for r in found.values()].count("unscored") == 1
    assert found["imdb/002"].reason
    assert result_of(SUITE, model, loaded(folder)).status == "inconclusive"


def test_a_third_label_is_left_aside(folder: Path) -> None:
    numbers = {"negative": 0.3, "neutral": 0.6, "positive": 0.1}
    model = Reads(tuple(numbers), lambda text: list(numbers.values()))
    model.label_names = {"sentiment": labels_for("sentiment", model.labels, {}, "model")}
    found = records_of(SUITE, model, loaded(folder))
    assert found["imdb/000"].value == 100.0
    assert found["imdb/000"].detail["contrast_p_negative"] == 0.3


def test_pairs_have_to_be_pairs(folder: Path) -> None:
    with pytest.raises(LicenceNotAccepted, match="no clear licence"):
        SUITE.configuration("en").load(DataFolder(folder, offline=True))
    path = folder / "counterfactual_imdb/test_paired.tsv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(DataError, match="does not hold pairs"):
        loaded(folder, "en-counterfactual")
    rows = [{"Sentiment": "Positive", "Text": "A good film."}]
    table(folder / "imdb_contrast_sets/test_contrast.tsv", rows, "\t")
    with pytest.raises(DataError, match="not of the same pairs: 4 and 1"):
        loaded(folder)


def test_two_reviews_of_one_label_are_unscored(folder: Path) -> None:
    path = folder / "imdb_contrast_sets/test_contrast.tsv"
    path.write_text(path.read_text().replace("Negative", "Positive"))
    found = [(i.status, i.reason) for i in loaded(folder)[:2]]
    reason = "the labels of the two reviews are not one positive and one negative"
    assert found == [("unscored", reason)] * 2
