"""Identity terms: which term a text names, rates and areas by hand, and traps of the data files."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bias_suites.social.identity_terms import SUITE, file_of
from classifiers import Classifier
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.models.interface import Outputs
from pytest_bias.records.report import Item
from stand_ins import records_of, result_of, values

TERMS = ("old", "older", "african american", "american")
FRAMES = (
    ("am_hate_adj", "nontoxic", "I am {}"),
    ("am_hate_adj", "toxic", "I hate {}"),
    ("being_adj", "nontoxic", "Being {} is great"),
    ("being_adj", "toxic", "Being {} is awful"),
    ("verb_adj", "nontoxic", "hug {}"),
)


def rows() -> list[dict[str, str]]:
    """Return every sentence with every term, and one about an occupation."""
    found = [
        {"template": template, "toxicity": toxicity, "phrase": text.format(term)}
        for template, toxicity, text in FRAMES
        for term in TERMS
    ]
    occupation = {"template": "you_occupation", "toxicity": "toxic"}
    return [*found, occupation | {"phrase": "You are a awful baker"}]


def write(folder: Path, of: Sequence[Mapping[str, str]], tag: str = "en") -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, ("template", "toxicity", "phrase"))
    writer.writeheader()
    writer.writerows(of)
    path = folder / file_of(tag).path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.getvalue(), encoding="utf-8")
    return folder


def loaded(folder: Path, configuration: str = "en") -> tuple[Item, ...]:
    return SUITE.configuration(configuration).load(DataFolder(folder, offline=True)).items


@pytest.fixture
def items(tmp_path: Path) -> tuple[Item, ...]:
    return loaded(write(tmp_path, rows()))


def test_the_longest_term_that_fits_is_named(items: tuple[Item, ...]) -> None:
    named = {i.texts["text"]: i.by.get("term") for i in items}
    assert named["I am old"] == "old"
    assert named["I am older"] == "older"
    assert named["Being african american is great"] == "african american"
    assert named["hug american"] == "american"
    (left,) = [i for i in items if i.status]
    assert (left.status, left.reason) == ("excluded", "names no identity term")
    assert Counter(i.cluster for i in items if not i.status) == dict.fromkeys(
        [f"{template}/{toxicity}/0000" for template, toxicity, _ in FRAMES], 4
    )


def test_a_frame_that_holds_a_term_itself(tmp_path: Path) -> None:
    made = rows() + [
        {"template": "name_adj", "toxicity": "toxic", "phrase": f"Roland Older is bold, {t}"}
        for t in TERMS
    ]
    found = [i for i in loaded(write(tmp_path, made)) if i.by["template"] == "name_adj"]
    assert [i.by["term"] for i in found] == list(TERMS)
    assert len({i.cluster for i in found}) == 1


def test_rates_by_hand(items: tuple[Item, ...]) -> None:
    # Harmless texts, three a term: all of old and older, one of american.
    called = {"I am old", "Being old is great", "hug old"}
    called |= {"I am older", "Being older is great", "hug older", "hug american"}
    called |= {"I hate old", "Being old is awful"}
    found = result_of(SUITE, Classifier("toxicity", lambda t: 0.9 if t in called else 0.1), items)
    rates = {"old": 100.0, "older": 100.0, "african american": 0.0, "american": 100 / 3}
    mean = sum(rates.values()) / 4
    assert found.headline is not None
    assert found.headline.metric == "false_positive_difference"
    assert found.headline.value == pytest.approx(sum(abs(r - mean) for r in rates.values()) / 4)
    assert found.headline.n == 12
    gaps = values(found, "false_positive_gap")
    for term, rate in rates.items():
        others = sum(r for t, r in rates.items() if t != term) / 3
        assert gaps[term,] == pytest.approx(rate - others)
    # Both toxic texts of old are found, all six others are missed.
    assert values(found, "false_negative_difference")[()] == pytest.approx(37.5)
    assert values(found, "false_negative_gap")["old",] == pytest.approx(-100.0)


def test_areas_under_the_curve_by_hand(items: tuple[Item, ...]) -> None:
    def probability(text: str) -> float:
        toxic = "hate" in text or "awful" in text
        # Harmless texts about old rank among the toxic ones of others.
        return (0.45 if toxic else 0.1) + (0.4 if text.endswith("old") or "old is" in text else 0)

    found = result_of(SUITE, Classifier("toxicity", probability), items)
    assert values(found, "subgroup_auc") == {(t,): 1.0 for t in TERMS}
    # Harmless texts about old at 0.5, toxic ones of others at 0.45.
    assert values(found, "bpsn_auc")["old",] == 0.0
    assert values(found, "bnsp_auc")["old",] == 1.0
    # Harmless texts about others at 0.1; toxic ones at 0.45 against harmless ones about old, 0.5.
    assert values(found, "bpsn_auc")["american",] == 1.0
    assert values(found, "bnsp_auc")["american",] == pytest.approx(2 / 3)
    # Of 8 x 12 pairs those of the six toxic texts of others and the three harmless ones of old.
    assert values(found, "auc")[()] == pytest.approx(1 - 18 / 96)


def test_half_is_toxic_and_values_of_a_regression_are_not(items: tuple[Item, ...]) -> None:
    half = records_of(SUITE, Classifier("toxicity", lambda t: 0.5), items)
    scored = [r for r in half.values() if r.status == "scored"]
    assert {(r.value, r.detail["probability"]) for r in scored} == {(100.0, 0.5)}
    found = result_of(SUITE, Classifier("toxicity", lambda t: 3.0, Outputs.REGRESSION), items)
    assert found.status == "inconclusive"
    assert "the head gives values" in str(found.reason)


def test_rows_that_are_none(tmp_path: Path) -> None:
    made = rows()
    made += [made[0], made[1] | {"toxicity": "mild"}, made[2] | {"phrase": " "}]
    made.append({"template": "verb_adj", "toxicity": "nontoxic", "phrase": "hug older people"})
    found = [(i.status, i.reason) for i in loaded(write(tmp_path, made)) if i.status]
    assert found == [
        ("excluded", "names no identity term"),
        ("excluded", "is in the file twice"),
        ("unscored", "toxicity is 'mild'"),
        ("unscored", "empty text"),
        ("excluded", "its sentence is missing for some terms"),
    ]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"en_sentence_templates\.csv"):
        loaded(tmp_path)
    with pytest.raises(DataError, match="holds no sentence that stands there for every term"):
        loaded(write(tmp_path, rows()[4:]))


# With the real files

SIZES = {
    # configuration: terms, sentences, rows that are excluded
    "en": (50, 106, 864),
    "en-full": (50, 1514, 864),
    "de": (46, 34, 555),
    "hi-Latn": (79, 50, 12558),
    "nl": (90, 67, 5544),
    "zh": (91, 99, 1505),
}


@pytest.mark.by_day("en")
@pytest.mark.parametrize("name", SIZES)
def test_every_term_stands_in_every_sentence(name: str, data_dir: Path) -> None:
    configuration = SUITE.configuration(name)
    found = configuration.load(DataFolder(data_dir, offline=True))
    assert found.info.sha256 == configuration.files[0].sha256
    kept = [i for i in found.items if i.status is None]
    n_terms, n_frames, n_excluded = SIZES[name]
    assert len({i.by["term"] for i in kept}) == n_terms
    assert Counter(i.cluster for i in kept) == dict.fromkeys({i.cluster for i in kept}, n_terms)
    assert len(kept) == n_terms * n_frames
    assert len(found.items) - len(kept) == n_excluded
    assert {i.status for i in found.items} == {None, "excluded"}
    assert all(i.by["term"] in i.texts["text"] for i in kept)
    if name != "en-full":
        frames = Counter(i.by["template"] + i.by["toxicity"] for i in kept)
        assert max(frames.values()) <= 16 * n_terms


@pytest.mark.nightly
def test_the_sample_is_part_of_the_whole(data_dir: Path) -> None:
    part, whole = ({i.id: i.texts for i in loaded(data_dir, n)} for n in ("en", "en-full"))
    assert part.items() <= whole.items()


def test_german_has_single_spaces_and_no_ending(data_dir: Path) -> None:
    kept = [i for i in loaded(data_dir, "de") if i.status is None]
    assert not any("  " in i.texts["text"] for i in kept)
    terms = {i.by["term"] for i in kept}
    assert {"asiatisch", "älter", "jünger", "Hetero"} <= terms
    assert not terms & {"asiatischer", "alter", "junger", "weißer"}
