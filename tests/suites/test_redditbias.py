"""RedditBias: signs by hand, files that are paired by row, and every trap of the data."""

import math
from collections import Counter
from pathlib import Path

import pytest

from bias_suites.social.redditbias import AXES, SUITE
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError
from pytest_bias.records.report import Item
from stand_ins import Pseudo, Texts, records_of, result_of, values

EN = SUITE.configuration("en")


def pair(number: int, first: str, second: str, axis: str = "gender") -> Item:
    name = f"redditbias/{axis}/{number:03d}"
    return Item(name, name, {"first": first, "second": second}, {"axis": axis})


TABLE = {"women cook": -4.0, "men cook": -6.0, "jews lie here": -9.0, "christians lie": -4.0}


# Scores by hand


def test_it_is_log_perplexity_of_the_first_group_minus_the_second():
    items = [pair(0, "women cook", "men cook"), pair(0, "jews lie here", "christians lie", "r")]
    found = result_of(SUITE, Texts(TABLE.get), items)
    # 4/2 - 6/2, a biased phrase that is likelier; 9/3 - 4/2, one that is not.
    assert values(found, "log_perplexity_difference") == {
        (): 0.0,
        ("gender",): -1.0,
        ("r",): 1.0,
    }
    assert found.headline.metric == "log_perplexity_difference"
    detail = {r.item: r.detail for r in found.records}["redditbias/r/000"]
    assert detail == {
        "log_perplexity_first": 3.0,
        "log_perplexity_second": 2.0,
        "tokens_first": 3,
        "tokens_second": 2,
    }


def test_a_causal_model_is_measured_as_published_and_a_masked_one_is_adapted():
    measures = [SUITE.measure_for(m(TABLE.get).capabilities) for m in (Texts, Pseudo)]
    assert [m and m.adapted for m in measures] == [False, True]
    items = [pair(0, "women cook", "men cook")]
    assert result_of(SUITE, Pseudo(TABLE.get), items).headline.value == -1.0


@pytest.mark.parametrize(
    ("score", "reason"), [(None, "empty text"), (math.nan, "non-finite"), (-math.inf, "non-finite")]
)
@pytest.mark.parametrize("side", ["women cook", "men cook"])
def test_a_pair_of_which_one_text_has_no_score_is_unscored(side, score, reason):
    model = Texts((TABLE | {side: score}).get)
    (made,) = records_of(SUITE, model, [pair(0, "women cook", "men cook")]).values()
    assert (made.status, made.reason) == ("unscored", reason)


def test_a_phrase_that_is_there_twice_is_one_for_an_interval():
    again = pair(1, "women cook", "men cook")
    twice = Item(again.id, "redditbias/gender/000", again.texts, again.by)
    found = result_of(SUITE, Texts(TABLE.get), [pair(0, "women cook", "men cook"), twice])
    assert (found.headline.n, found.headline.n_clusters) == (2, 1)


# The data


def test_the_published_test_pairs_are_read_whole(data_dir):
    loaded = EN.load(DataFolder(data_dir, offline=True))
    assert Counter(i.by["axis"] for i in loaded.items) == {
        "gender": 253,
        "orientation": 235,
        "race": 254,
        "religion-jews": 238,
        "religion-muslims": 236,
    }
    assert len({i.id for i in loaded.items}) == loaded.info.n_items == 1216
    found = [DataFolder(data_dir).find(file) for axis in AXES for file in axis.files]
    assert [f.sha256 for f in found] == [f.sha256 for axis in AXES for f in axis.files]


def test_the_row_in_which_nothing_was_exchanged_is_unscored(data_dir):
    (broken,) = [i for i in EN.load(DataFolder(data_dir)).items if i.status]
    assert broken.id == "redditbias/religion-muslims/051"
    assert (broken.status, broken.reason) == ("unscored", "the two sentences are identical")


def test_phrases_that_are_there_twice_share_a_cluster(data_dir):
    items = EN.load(DataFolder(data_dir)).items
    shared = {c for c, n in Counter(i.cluster for i in items).items() if n > 1}
    assert shared == {"redditbias/religion-jews/001", "redditbias/religion-jews/042"}
    assert {i.id[-3:] for i in items if i.cluster in shared} == {"001", "042", "108", "119"}


FIRST = "attribute_in_window,comment,comments_processed,bias_sent,bias_phrase,perplexity\n"
SECOND = "initial_demo,replaced_demo,comments,comments_processed,perplexity\n"


def written(folder: Path, first: str, second: str) -> list[Item]:
    """Write the same two files for every axis, and load the first."""
    for axis in AXES:
        for file, content in zip(axis.files, (first, second), strict=True):
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    items = EN.load(DataFolder(folder, offline=True)).items
    return [i for i in items if i.by["axis"] == "gender"]


@pytest.mark.parametrize("label", ["1", "1.0", "0.0", "", "1 - context needed"])
@pytest.mark.parametrize("targets", ["\"['mom', ' she ']\"", "['mom']", "[]", ""])
def test_labels_and_lists_of_targets_do_not_matter(tmp_path, label, targets):
    (item,) = written(
        tmp_path,
        f"{FIRST}True,whole,a mom cooks,{label},{label},7.5\n",
        f"{SECOND}{targets},{targets},a mom cooks,a dad cooks,9\n",
    )
    assert item.texts == {"first": "a mom cooks", "second": "a dad cooks"}
    assert (item.status, item.by) == (None, {"axis": "gender"})


def test_more_columns_do_not_matter(tmp_path):
    (item,) = written(
        tmp_path,
        "id,attribute_in_window,comment,comments_processed,bias_sent,bias_phrase,Unnamed: 5\n"
        ",True,whole,a mom cooks,1,1,\n",
        f"{SECOND}[],[],a mom cooks,a dad cooks,9\n",
    )
    assert item.status is None


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("True,c,a mom cooks,1,1,7\n", "[],[],a mom cooks,,9\n", "empty sentence"),
        ("True,c, ,1,1,7\n", "[],[], ,a dad cooks,9\n", "empty sentence"),
        ("True,c,a mom,1,1,7\n", "[],[],a mom,a mom ,9\n", "the two sentences are identical"),
        (
            "True,c,a mom,1,1,7\n",
            "[],[],a sister,a brother,9\n",
            "the row of the second group is about another phrase",
        ),
        ("True,c\n", "[],[],a mom,a dad,9\n", "empty sentence"),
    ],
    ids=["no second", "blank", "no exchange", "shifted", "short row"],
)
def test_a_row_that_is_no_pair_says_why(tmp_path, first, second, reason):
    (item,) = written(tmp_path, FIRST + first, SECOND + second)
    assert (item.status, item.reason) == ("unscored", reason)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (FIRST, SECOND, "hold different pairs: 0 in redditbias/gender/.*female.* and 0 in"),
        (FIRST + "True,c,a,1,1,7\n", SECOND, "1 in .*female_biased_test_reduced.csv and 0 in"),
        ("a,b\n1,2\n", SECOND, "female_biased_test_reduced.csv has no comments_processed; it has"),
        (FIRST + "True,c,a,1,1,7\n", "a,b\n1,2\n", "has no comments, comments_processed"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, first, second, message):
    with pytest.raises(DataError, match=message):
        written(tmp_path, first, second)
