"""BOLD: its files and their traps, the sample, and gaps within a domain by hand."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bias_suites.social import bold
from bias_suites.social.bold import SAMPLE, SUITE, K
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError
from pytest_bias.records.report import Item
from stand_ins import result_of, values
from writers import Reads, Writes

DOMAINS = ("gender", "political_ideology", "profession", "race", "religious_ideology")


def written(folder: Path, **domains: object) -> DataFolder:
    (folder / "bold" / "prompts").mkdir(parents=True)
    for name in DOMAINS:
        content = domains.get(name, {})
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / "bold" / "prompts" / f"{name}_prompt.json").write_text(text)
    return DataFolder(folder, offline=True)


def loaded(data: DataFolder, name: str = "en") -> tuple[Item, ...]:
    return SUITE.configuration(name).load(data).items


def test_the_files_are_the_pinned_ones(data_dir: Path) -> None:
    data = DataFolder(data_dir, offline=True)
    assert [data.find(f).sha256 for f in bold.FILES] == [f.sha256 for f in bold.FILES]


def test_every_prompt_is_there_without_the_space_at_its_end(data_dir: Path) -> None:
    of = loaded(DataFolder(data_dir, offline=True), "en-full")
    assert len(of) == len({i.id for i in of}) == 23_679
    assert Counter(i.by["domain"] for i in of) == {
        "gender": 3204,
        "political_ideology": 1984,
        "profession": 10195,
        "race": 7657,
        "religious_ideology": 639,
    }
    assert not any(i.texts["prompt"].endswith(" ") for i in of)
    # Five prompts are empty.
    assert Counter(i.reason for i in of if i.status) == {"empty prompt": 5}
    # Entities with several prompts are one cluster each.
    atheism = Counter(i.cluster for i in of if i.by["group"] == "atheism")
    assert list(atheism.values()) == [29]


def test_the_sample_is_balanced_over_groups_and_takes_entities_in_turn(data_dir: Path) -> None:
    data = DataFolder(data_dir, offline=True)
    of = [i for i in loaded(data) if i.status is None]
    n = Counter((i.by["domain"], i.by["group"]) for i in of)
    assert len(n) == 43
    assert {many for group, many in n.items() if group[1] != "hinduism"} == {SAMPLE}
    assert 10 <= n["religious_ideology", "hinduism"] <= 12
    actors = [i.cluster for i in of if i.by["group"] == "American_actors"]
    assert len(set(actors)) == SAMPLE
    assert {i.texts["prompt"] for i in of} <= {
        i.texts["prompt"] for i in loaded(data, "en-sentiment")
    }


def test_gaps_are_within_a_domain_by_hand(tmp_path: Path) -> None:
    data = written(
        tmp_path,
        gender={"actors": {"a": ["A was "], "b": ["B was "]}, "actresses": {"c": ["C was "]}},
        race={"one": {"d": ["D was"]}, "two": {"e": ["E was", "F was"]}},
    )
    of = loaded(data)
    assert [i.texts["prompt"] for i in of if i.by["group"] == "actors"] == ["A was", "B was"]
    most = {"A": 0.2, "B": 0.4, "C": 0.9, "D": 0.1, "E": 0.2, "F": 0.6}
    model = Writes(lambda p, k: f" {most[p[0]] if k == K - 1 else 0.0}")
    reads = Reads(("toxic",), lambda text: (float(text),))
    found = result_of(SUITE, model.scored_by("toxicity", reads), of)
    maximum = values(found, "expected_maximum")
    gender, race = (0.2 + 0.4 + 0.9) / 3, (0.1 + 0.2 + 0.6) / 3
    assert maximum[("gender",)] == pytest.approx(gender)
    assert maximum[()] == pytest.approx((gender + race) / 2)
    assert maximum["race", "two"] == pytest.approx(0.4)
    assert values(found, "gap") == {
        (): pytest.approx((0.6 + 0.3) / 2),
        ("gender",): pytest.approx(0.6),
        ("race",): pytest.approx(0.3),
    }
    assert values(found, "difference")["gender", "actors"] == pytest.approx(0.3 - 0.9)
    assert values(found, "probability_any")["gender", "actresses"] == 100


def test_sentiment_takes_the_negative_label(tmp_path: Path) -> None:
    of = loaded(written(tmp_path, gender={"actors": {"a": ["A was"]}}), "en-sentiment")
    model = Writes(lambda p, k: " sad" if k else " glad")
    reads = Reads(("positive", "negative"), lambda t: (0.1, 0.9) if t == "sad" else (0.9, 0.1))
    found = result_of(SUITE, model.scored_by("sentiment", reads), of, config="en-sentiment")
    assert found.headline is not None
    assert found.headline.value == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "is no table of groups"),
        ('{"actors": ["a"]}', "is no table of groups"),
        ('{"actors": {"a": "A was"}}', "its prompts are no list of texts"),
        ('{"actors": {"a": [5]}}', "its prompts are no list of texts"),
        ("{", "is not JSON"),
    ],
)
def test_a_file_of_another_shape_is_refused(content: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=why):
        loaded(written(tmp_path, gender=content))
