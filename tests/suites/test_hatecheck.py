"""HateCheck: gaps and accuracies by hand, and every trap of the data files."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bias_suites.social.hatecheck import LANGUAGES, SUITE, file_of
from classifiers import Classifier
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.models.interface import Outputs
from pytest_bias.records.report import Item
from stand_ins import records_of, result_of, values

ENGLISH = ("", "functionality", "case_id", "test_case", "label_gold", "target_ident", "direction",
           "templ_id")  # fmt: skip
GROUPS = ("women", "Muslims", "immigrants")


def rows() -> list[dict[str, str]]:
    """Return four templates of three groups, one template of slurs, and a case of no group."""
    found = []
    for template, (functionality, text) in enumerate(
        [
            ("derog_h", "I hate {}. "),
            ("threat_h", "I will hurt {}. "),
            ("ident_nh", "I like {}. "),
            ("counter_nh", "Do not hurt {}. "),
        ],
        start=1,
    ):
        found += [case(functionality, text.format(g), g, template) for g in GROUPS]
    found += [case("slur_h", f"You {n}. ", g, 5) for n, g in enumerate(["women", "women", *GROUPS])]
    found.append(case("profanity_nh", "Oh no. ", "", 6))
    return [row | {"": str(n), "case_id": str(n + 1)} for n, row in enumerate(found)]


def case(functionality: str, text: str, group: str, template: int) -> dict[str, str]:
    hateful = functionality.endswith("_h")
    return {
        "functionality": functionality,
        "test_case": text,
        "label_gold": "hateful" if hateful else "non-hateful",
        "target_ident": group,
        "direction": "general" if hateful else "-",
        "templ_id": str(template),
    }


def write(folder: Path, of: Sequence[Mapping[str, str]], columns: Sequence[str] = ENGLISH) -> Path:
    """Write a file as the original is: lines end with CRLF, the first column has no name."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(of)
    path = folder / "hatecheck/test_suite_cases.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.getvalue().encode())
    return folder


def loaded(folder: Path, configuration: str = "en") -> tuple[Item, ...]:
    return SUITE.configuration(configuration).load(DataFolder(folder, offline=True)).items


@pytest.fixture
def items(tmp_path: Path) -> tuple[Item, ...]:
    return loaded(write(tmp_path, rows()))


def flags(*words: str) -> Classifier:
    """Return a classifier that calls a text hateful if it holds one of the words."""
    return Classifier("hate", lambda text: 0.75 if any(w in text for w in words) else 0.25)


def test_texts_lose_the_space_at_their_end(items: tuple[Item, ...]) -> None:
    model = flags("hurt")
    records_of(SUITE, model, items)
    assert "I hate women." in model.asked
    assert all(t == t.strip() for t in map(str, model.asked))


def test_gap_and_accuracy_by_hand(items: tuple[Item, ...]) -> None:
    # Of the four templates, women are called hateful in four, the others in the two with "hurt".
    found = result_of(SUITE, flags("hurt", "women"), items)
    assert found.headline is not None
    assert (found.headline.value, found.headline.n) == (50.0, 12)
    assert found.headline.note == "greatest in women, least in Muslims"
    assert values(found, "gap") == {(): 50.0, ("hateful",): 50.0, ("non-hateful",): 50.0}
    assert values(found, "gap_to_others") == {
        ("women",): 50.0,
        ("Muslims",): -25.0,
        ("immigrants",): -25.0,
        ("hateful", "women"): 50.0,
        ("hateful", "Muslims"): -25.0,
        ("hateful", "immigrants"): -25.0,
        ("non-hateful", "women"): 50.0,
        ("non-hateful", "Muslims"): -25.0,
        ("non-hateful", "immigrants"): -25.0,
    }
    accuracy = values(found, "accuracy")
    # All 18: the slurs are missed, the harmless case is not flagged.
    assert accuracy[()] == pytest.approx(100 * (4 + 2 + 1) / 18)
    assert accuracy["derog_h",] == pytest.approx(100 / 3)
    assert (accuracy["threat_h",], accuracy["slur_h",], accuracy["profanity_nh",]) == (100, 0, 100)
    assert (accuracy["women",], accuracy["Muslims",]) == (50.0, 50.0)
    # What the accuracy of a group hides: more hate is found and more harmless text is flagged.
    assert (accuracy["hateful", "women"], accuracy["non-hateful", "women"]) == (100.0, 0.0)
    assert (accuracy["hateful", "Muslims"], accuracy["non-hateful", "Muslims"]) == (50.0, 50.0)


def test_half_is_hateful(items: tuple[Item, ...]) -> None:
    found = records_of(SUITE, Classifier("hate", lambda text: 0.5), items)
    assert {r.value for r in found.values()} == {100.0}
    just = records_of(SUITE, Classifier("hate", lambda text: 0.4999), items)
    assert {r.value for r in just.values()} == {0.0}
    assert just["hatecheck/0001"].detail == {"probability": 0.4999, "target": "women"}


def test_only_templates_of_every_group_compare_groups(items: tuple[Item, ...]) -> None:
    with_group = {i.cluster for i in items if "group" in i.by}
    assert with_group == {f"template/{n}" for n in range(1, 5)}
    assert {i.meta["target"] for i in items if i.cluster == "template/5"} == set(GROUPS)
    assert [i.meta for i in items if i.cluster == "template/6"] == [{}]


def test_a_text_that_cannot_be_read_is_not_zero(items: tuple[Item, ...]) -> None:
    def no_muslims(text: str) -> float | None:
        return None if "Muslims" in text else 0.9

    found = result_of(SUITE, Classifier("hate", no_muslims), items)
    assert found.status == "inconclusive"
    score = found.score("gap", gold="hateful")
    assert (score.value, score.n, score.n_unscored) == (None, 4, 2)


def test_values_of_a_regression_have_no_threshold(items: tuple[Item, ...]) -> None:
    found = result_of(SUITE, Classifier("hate", lambda t: 0.9, Outputs.REGRESSION), items)
    assert found.status == "inconclusive"
    assert "the head gives values, no probabilities" in str(found.reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"test_case": "  "}, "empty text"),
        ({"label_gold": "hate"}, "label_gold is 'hate', not one of hateful, non-hateful"),
        (
            {"label_gold": "non-hateful"},
            "label_gold is 'non-hateful', but the functionality is 'derog_h'",
        ),
    ],
)
def test_a_malformed_case_is_unscored(change: dict[str, str], reason: str, tmp_path: Path) -> None:
    made = rows()
    made[0] |= change
    first = loaded(write(tmp_path, made))[0]
    assert (first.status, first.reason) == ("unscored", reason)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"test_suite_cases\.csv"):
        loaded(tmp_path)
    with pytest.raises(DataError, match="has no templ_id"):
        loaded(write(tmp_path, [{"case_id": "1"}], ENGLISH[:-1]))
    with pytest.raises(DataError, match="holds no cases"):
        loaded(write(tmp_path, []))


def test_ids_that_are_not_unique_are_numbers_of_rows(tmp_path: Path) -> None:
    made = rows()
    made[1]["case_id"] = "1"
    assert [i.id for i in loaded(write(tmp_path, made))][:2] == [
        "hatecheck/row0000",
        "hatecheck/row0001",
    ]


def test_addresses_of_the_other_languages_are_quoted() -> None:
    url = file_of("ar").url
    assert url is not None
    assert url.endswith("/MHC%20Final%20Cases/hatecheck_cases_final_arabic.csv")
    assert " " not in url


# With the real files


def test_the_english_file(data_dir: Path) -> None:
    items = loaded(data_dir)
    assert len(items) == 3728
    assert {i.status for i in items} == {None}
    assert len({i.by["functionality"] for i in items}) == 29
    assert Counter(i.by["gold"] for i in items) == {"hateful": 2563, "non-hateful": 1165}
    groups = Counter(i.by["group"] for i in items if "group" in i.by)
    assert len(groups) == 7
    assert set(groups.values()) == {421}
    assert sum("target" not in i.meta for i in items) == 292
    data = SUITE.configuration("en").load(DataFolder(data_dir, offline=True)).info
    assert data.sha256 == SUITE.configuration("en").files[0].sha256


PAIRED = {"ar": 434, "de": 434, "es": 429, "fr": 429, "hi": 435, "it": 435, "nl": 435, "pl": 435,
          "pt": 433, "zh": 398}  # fmt: skip
CASES = {"ar": 3570, "de": 3645, "es": 3745, "fr": 3718, "hi": 3565, "it": 3690, "nl": 3765,
         "pl": 3815, "pt": 3691, "zh": 3378}  # fmt: skip
DISAGREED = {"ar": 245, "de": 153, "es": 90, "fr": 789, "hi": 174, "it": 27, "nl": 362, "pl": 78,
             "pt": 152, "zh": 387}  # fmt: skip


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_the_other_files(language: str, data_dir: Path) -> None:
    configuration = SUITE.configuration(language)
    found = configuration.load(DataFolder(data_dir, offline=True))
    assert found.info.sha256 == configuration.files[0].sha256
    assert len(found.items) == CASES[language]
    assert {i.status for i in found.items} == {None}
    groups = Counter(i.by["group"] for i in found.items if "group" in i.by)
    assert len(groups) == 7
    assert set(groups.values()) == {PAIRED[language]}
    assert Counter(i.by["agreed"] for i in found.items)["no"] == DISAGREED[language]
    targets = {i.meta["target"] for i in found.items if i.meta}
    assert targets == set(groups)
    assert not targets & {"immigrant", "jews", "Black people"}
    assert all(t == t.strip() != "" for i in found.items for t in i.texts.values())
    assert [i.id for i in found.items[:2]] == ["hatecheck/0001", "hatecheck/0002"]


def test_what_annotators_contradict_can_be_left_out(data_dir: Path) -> None:
    items = loaded(data_dir, "fr")
    found = result_of(SUITE, Classifier("hate", lambda text: 0.9), items, config="fr")
    accuracy, agreed = found.score("accuracy"), found.score("accuracy_agreed")
    assert accuracy.value == pytest.approx(100 * 2600 / 3718)
    assert agreed.n == 3718 - 789
    assert agreed.value is not None
    # 680 harmless cases that most annotators call hateful are gone, and 109 the other way round.
    assert agreed.value == pytest.approx(100 * (2600 - 109) / agreed.n)
