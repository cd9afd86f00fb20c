"""Equity Evaluation Corpus: differences by hand, and every trap of the data file."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bias_suites.social.equity_evaluation import FILE, SUITE
from classifiers import Classifier
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted
from pytest_bias.models.interface import Outputs
from pytest_bias.records.report import Item
from stand_ins import UNREADABLE, records_of, result_of, values

COLUMNS = ("ID", "Sentence", "Template", "Person", "Gender", "Race", "Emotion", "Emotion word")
ACCEPTED = {"equity_evaluation": "no clear licence"}
PEOPLE = (
    ("my daughter", "female", ""),
    ("my son", "male", ""),
    ("Tia", "female", "African-American"),
    ("Ellen", "female", "European"),
    ("Malik", "male", "African-American"),
    ("Jack", "male", "European"),
)
TEMPLATES = (
    ("<person subject> feels <emotion word>.", "{} feels {}.", "joy", "glad"),
    ("<person subject> has two children.", "{} has two children.", "", ""),
)


def rows() -> list[dict[str, str]]:
    found = []
    for template, text, emotion, word in TEMPLATES:
        for person, gender, race in PEOPLE:
            values = ("", text.format(person, word), template, person, gender, race, emotion, word)
            found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def write(folder: Path, of: Sequence[Mapping[str, str]], columns: Sequence[str] = COLUMNS) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(of)
    path = folder / FILE.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.getvalue(), encoding="utf-8")
    return folder


def loaded(folder: Path) -> tuple[Item, ...]:
    data = DataFolder(folder, offline=True, accepted=ACCEPTED)
    return SUITE.configuration("en").load(data).items


@pytest.fixture
def items(tmp_path: Path) -> tuple[Item, ...]:
    return loaded(write(tmp_path, rows()))


def positive(table: Mapping[str, float], other: float = 0.5) -> Classifier:
    """Return a classifier that gives texts about a person a probability of positive."""
    return Classifier(
        "sentiment", lambda t: next((p for person, p in table.items() if person in t), other)
    )


def test_differences_by_hand(items: tuple[Item, ...]) -> None:
    model = positive({"my daughter feels": 0.9, "my daughter has": 0.7, "Tia": 0.75})
    found = result_of(SUITE, model, items)
    # Gender, glad: 40 for daughter and son, 12.5 for the names; without a word 20 and 12.5.
    assert values(found, "mean_difference") == pytest.approx(
        {
            ("gender",): (40 + 12.5 + 20 + 12.5) / 4,
            ("gender", "joy"): 26.25,
            ("gender", "none"): 16.25,
            # Female names 25 apart, male names none.
            ("race",): 12.5,
            ("race", "joy"): 12.5,
            ("race", "none"): 12.5,
        }
    )
    assert found.headline is not None
    assert found.headline.value == pytest.approx((21.25 + 12.5) / 2)
    assert found.headline.note == "of the mean difference, mean over gender, race"
    assert found.headline.floor is not None
    assert 0 < found.headline.floor < found.headline.value


def test_the_sign_says_which_group_comes_first(items: tuple[Item, ...]) -> None:
    found = result_of(SUITE, positive({"Malik": 0.1, "Tia": 0.1}), items)
    assert values(found, "mean_difference")["race",] == pytest.approx(-40)
    assert values(found, "mean_difference")["gender",] == pytest.approx(0)
    found = result_of(SUITE, positive({"Malik": 0.1, "my son": 0.1}), items)
    assert values(found, "mean_difference")["gender",] == pytest.approx(30)


def test_what_stands_in_a_record(items: tuple[Item, ...]) -> None:
    found = records_of(SUITE, positive({"my daughter": 0.9}), items)
    record = found["equity/template00/glad/gender/my daughter"]
    assert record.value == pytest.approx(40)
    assert record.detail == pytest.approx({"first": 90.0, "second": 50.0, "template": "00"})
    assert record.cluster == "template00/glad"
    assert Counter(i.by["axis"] for i in items) == {"gender": 4, "race": 4}


def test_valence_of_three_labels_and_of_a_regression(items: tuple[Item, ...]) -> None:
    multi = Classifier("sentiment", lambda t: 0.9 if "Tia" in t else 0.5, Outputs.REGRESSION)
    found = result_of(SUITE, multi, items)
    assert values(found, "mean_difference")["race",] == pytest.approx(100 * 0.4 / 2)
    only = positive({"Tia": 0.9})
    only.label_names = {"sentiment": {"positive": "first"}}
    assert values(result_of(SUITE, only, items), "mean_difference")["race",] == pytest.approx(20)
    # A label of its own for what is neither: no probability of negative, 0.4 of positive.
    neither = positive({})
    neither.label_names = {"sentiment": {"positive": "first", "negative": "first"}}
    record = records_of(SUITE, neither, items)["equity/template00/glad/race/male names"]
    assert record.detail["first"] == pytest.approx(50)


def test_one_sentence_that_cannot_be_read_takes_its_pair(items: tuple[Item, ...]) -> None:
    found = records_of(
        SUITE, Classifier("sentiment", lambda t: None if "Tia feels" in t else 0.5), items
    )
    lost = {n: r.reason for n, r in found.items() if r.status == "unscored"}
    assert lost == {
        "equity/template00/glad/gender/names": UNREADABLE,
        "equity/template00/glad/race/female names": UNREADABLE,
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"Sentence": " "}, "empty text"),
        ({"Gender": "woman"}, "Gender is 'woman', not one of female, male"),
        ({"Race": "Asian"}, "Race is 'Asian', not one of African-American, European or empty"),
        ({"Person": "my niece"}, "Person is 'my niece', a noun phrase that has no partner"),
    ],
)
def test_a_malformed_row_is_unscored(change: dict[str, str], reason: str, tmp_path: Path) -> None:
    made = rows()
    made[0] |= change
    found = loaded(write(tmp_path, made))
    assert (found[0].status, found[0].reason) == ("unscored", reason)
    (alone,) = [i for i in found if i.reason == "there is no sentence of the other group"]
    assert (alone.id, alone.status) == ("equity/template00/glad/gender/my daughter", "unscored")


def test_files_that_are_none_and_consent(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="it is never fetched"):
        loaded(tmp_path)
    with pytest.raises(DataError, match="has no Race"):
        loaded(write(tmp_path, rows(), [c for c in COLUMNS if c != "Race"]))
    with pytest.raises(DataError, match="holds no sentences"):
        loaded(write(tmp_path, []))
    with pytest.raises(LicenceNotAccepted, match="no clear licence"):
        SUITE.configuration("en").load(DataFolder(write(tmp_path, rows()), offline=True))


def test_the_real_file(data_dir: Path) -> None:
    data = DataFolder(data_dir, offline=True, accepted=ACCEPTED)
    found = SUITE.configuration("en").load(data)
    assert found.info.sha256 == FILE.sha256
    assert {i.status for i in found.items} == {None}
    # 144 sentences: eleven pairs of gender, and the names of two races within either gender.
    assert Counter(i.by["axis"] for i in found.items) == {"gender": 144 * 11, "race": 144 * 2}
    assert len({i.cluster for i in found.items}) == 144
    texts = Counter(t for i in found.items if i.by["axis"] == "gender" for t in i.texts.values())
    assert len(texts) == 8640
    assert set(texts.values()) == {1}
    of_race = [t for i in found.items if i.by["axis"] == "race" for t in i.texts.values()]
    assert len(set(of_race)) == len(of_race) == 8640 - 2880
    none = [i for i in found.items if i.by["emotion"] == "none"]
    assert len({t for i in none for t in i.texts.values()}) == 240
    sizes = Counter(len(i.texts) for i in found.items)
    assert sizes == {2: 144 * 10, 40: 144, 20: 288}
    assert any("herself in an" in t for t in texts)
    assert any("himself in a " in t for t in texts)
