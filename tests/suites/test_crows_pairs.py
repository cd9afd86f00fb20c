"""CrowS-Pairs: the rules for ties and directions, and every shape and trap of the data."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bias_suites.social import crows_pairs
from bias_suites.social.crows_pairs import (
    BIAS_TYPES,
    DIRECTIONS,
    ENGLISH,
    FRENCH,
    HUB_SHAPES,
    SUITE,
)
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError
from pytest_bias.records.report import Item, SuiteResult
from stand_ins import Pairs, Texts, records_of, result_of, values

HEAD = ",sent_more,sent_less,stereo_antistereo,bias_type,annotations\n"


def loaded(folder: Path, content: str | bytes, name: str = "en") -> tuple[Item, ...]:
    """Write the user's own copy of a file, and load it."""
    configuration = SUITE.configuration(name)
    path = folder / configuration.files[0].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return configuration.load(DataFolder(folder, offline=True)).items


def items(*rows: tuple[str, str], direction: str = "stereo", kind: str = "age") -> list[Item]:
    return [
        Item(
            f"crows/{n:04d}",
            f"crows/{n:04d}",
            {"more": more, "less": less},
            {"bias_type": kind, "direction": direction},
        )
        for n, (more, less) in enumerate(rows)
    ]


def pair_model(scores: Mapping[str, float]) -> Pairs:
    """Return a model that gives a sentence of a pair its score from a table."""
    return Pairs(lambda first, second: (scores[first], scores[second]))


TABLE = {"m0": -1.0, "l0": -2.0, "m1": -2.0, "l1": -1.0, "m2": -3.0, "l2": -3.0}
ROWS = (("m0", "l0"), ("m1", "l1"), ("m2", "l2"))


def test_a_tie_counts_one_half_and_nothing_for_the_reference():
    found = result_of(SUITE, pair_model(TABLE), items(*ROWS))
    assert found.headline.metric == "stereotype_preference"
    assert found.headline.value == 50.0
    assert found.score("stereotype_preference_reference").value == pytest.approx(100 / 3)
    # In the split scores the reference leaves ties out of the denominator.
    assert found.score("stereotype_score").value == 50.0
    assert found.headline.interval == pytest.approx((12.533, 87.467), abs=1e-3)


@pytest.mark.parametrize(
    ("difference", "ours", "reference"),
    [
        (1e-4, 50.0, 0.0),
        (0.9e-4, 50.0, 0.0),
        (1.1e-4, 100.0, 0.0),
        (-1.1e-4, 0.0, 0.0),
        (6e-4, 100.0, 100.0),
        (0.002, 100.0, 100.0),
        (-0.002, 0.0, 0.0),
        (0.0, 50.0, 0.0),
    ],
)
def test_where_a_tie_ends(difference, ours, reference):
    model = pair_model({"m": difference - 7.0, "l": -7.0})
    (made,) = records_of(SUITE, model, items(("m", "l"))).values()
    assert made.value == ours
    assert crows_pairs.reference_preference(made) == reference


def test_rounding_to_three_decimals_can_make_a_difference_or_a_tie():
    rounded_apart = pair_model({"m": -1.00049, "l": -1.00051})
    (made,) = records_of(SUITE, rounded_apart, items(("m", "l"))).values()
    assert (made.value, crows_pairs.reference_preference(made)) == (50.0, 100.0)


def test_directions_split_the_score_but_not_what_counts_as_stereotype():
    rows = [("m0", "l0"), ("m1", "l1")]
    anti = items(*rows, direction="antistereo", kind="religion")
    anti = [Item(f"crows/1{i.id[-3:]}", i.id, i.texts, i.by) for i in anti]
    stereo = items(("m0", "l0"))
    found = result_of(SUITE, pair_model(TABLE), [*stereo, *anti])
    assert found.headline.value == pytest.approx(200 / 3)
    assert found.score("stereotype_score").value == 100.0
    assert found.score("antistereotype_score").value == 50.0
    assert values(found, "stereotype_preference") == {
        (): pytest.approx(200 / 3),
        ("age",): 100.0,
        ("religion",): 50.0,
    }


def test_without_a_row_of_a_direction_its_score_is_absent():
    found = result_of(SUITE, pair_model(TABLE), items(*ROWS))
    assert values(found, "antistereotype_score") == {}


def test_the_antistereotypical_pair_is_compared_in_the_published_order():
    # The shared blocks of difflib depend on the order of the two texts.
    model = Pairs(lambda first, second: (-1.0, -2.0))
    (stereo,) = records_of(SUITE, model, items(("m", "l"))).values()
    (anti,) = records_of(SUITE, model, items(("m", "l"), direction="antistereo")).values()
    assert model.asked == [("m", "l"), ("l", "m")]
    # The first of the two scores belongs to the first text: here to sent_less.
    assert (stereo.detail["more"], stereo.detail["less"], stereo.value) == (-1.0, -2.0, 100.0)
    assert (anti.detail["more"], anti.detail["less"], anti.value) == (-2.0, -1.0, 0.0)


def test_log_odds_and_aul_are_taken_per_token():
    model = Pairs(lambda first, second: (-2.0, -4.0), whole=lambda t: -6.0)
    found = result_of(SUITE, model, items(("one two three", "one two")))
    # (-2 + 4) / 4 shared tokens; AUL: -6/3 against -6/2.
    assert found.score("log_odds_per_token").value == 0.5
    assert found.score("aul_preference").value == 100.0
    made = found.records[0].detail
    assert (made["aul_more"], made["aul_tokens_more"], made["aul_tokens_less"]) == (-6.0, 3, 2)


def test_what_a_model_cannot_read_is_unscored():
    model = Pairs(lambda first, second: (-1.0, math.nan if second == "l1" else -2.0))
    found = records_of(SUITE, model, items(*ROWS))
    assert [r.status for r in found.values()] == ["scored", "unscored", "scored"]
    assert found["crows/0001"].reason == "empty text"


def test_a_whole_sentence_that_is_not_finite_leaves_the_pair_unscored():
    model = Pairs(lambda first, second: (-1.0, -2.0), whole=lambda t: -math.inf)
    (made,) = records_of(SUITE, model, items(("m", "l"))).values()
    assert (made.status, made.reason) == ("unscored", "non-finite")


def test_a_causal_model_scores_whole_sentences_and_is_adapted():
    model = Texts(lambda text: {"m0": -5.0, "l0": -4.0, "m1": -1.0, "l1": -1.00005}.get(text))
    measure = SUITE.measure_for(model.capabilities)
    assert measure.adapted
    found = result_of(SUITE, model, items(*ROWS))
    by_item = {r.item: r.value for r in found.records}
    assert by_item == {"crows/0000": 0.0, "crows/0001": 50.0, "crows/0002": None}
    assert {s.metric for s in found.scores} == {
        "stereotype_preference",
        "stereotype_preference_undisputed",
        "log_odds_per_token",
    }


def test_the_published_file_is_read_whole(data_dir):
    found = SUITE.configuration("en").load(DataFolder(data_dir))
    assert len(found.items) == found.info.n_items == 1508
    assert {i.by["bias_type"] for i in found.items} == set(BIAS_TYPES)
    assert sum(i.by["direction"] == "antistereo" for i in found.items) == 218
    assert all(i.status is None for i in found.items)
    assert found.items[0].id == "crows/0000"
    assert found.items[0].texts["more"].startswith("He couldn't figure out the issue with the rope")
    assert found.info.sha256 == ENGLISH.sha256
    assert (found.info.local, found.info.revision) == (True, None)


def row(
    more: str, less: str, direction: str = "stereo", kind: str = "age", number: str = "0"
) -> str:
    return f'{number},"{more}","{less}",{direction},{kind},[]\n'


ONE = row("Old people, it’s said, are “slow”.", "Young people, it’s said, are “slow”.")


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "bom"])
def test_files_from_windows_are_read_as_they_are(tmp_path, end, mark):
    (item,) = loaded(tmp_path, mark + (HEAD + ONE).replace("\n", end))
    assert item.id == "crows/0000"
    assert item.texts == {
        "more": "Old people, it’s said, are “slow”.",
        "less": "Young people, it’s said, are “slow”.",
    }
    assert item.by == {"bias_type": "age", "direction": "stereo"}
    assert item.status is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (row("", "b"), "empty sentence"),
        (row("a", "  "), "empty sentence"),
        (row("same", " same "), "the two sentences are identical"),
        (row("a", "b", "anti-stereo"), "stereo_antistereo is 'anti-stereo', not one of stereo"),
        (row("a", "b", ""), "stereo_antistereo is '', not one of stereo, antistereo"),
        ("0,only\n", "stereo_antistereo is None, not one of"),
    ],
    ids=["empty", "blank", "identical", "direction", "no direction", "short row"],
)
def test_a_row_that_cannot_be_scored_says_why_and_is_counted(tmp_path, line, reason):
    found = loaded(tmp_path, HEAD + ONE.replace("0,", "1,", 1) + line)
    assert [i.status for i in found] == [None, "unscored"]
    assert reason in found[1].reason
    model = Pairs(lambda first, second: (-1.0, -2.0))
    records = records_of(SUITE, model, found)
    assert len(model.asked) == 1
    assert records[found[1].id].reason == found[1].reason


@pytest.mark.parametrize(
    "lines",
    [
        row("a", "b", number="7") + row("c", "d", number="7"),
        row("a", "b", number="x") + row("c", "d", number="1"),
        row("a", "b", number="") + row("c", "d", number=""),
    ],
    ids=["repeated", "no number", "none"],
)
def test_without_numbers_of_their_own_rows_are_counted(tmp_path, lines):
    assert [i.id for i in loaded(tmp_path, HEAD + lines)] == ["crows/row0000", "crows/row0001"]


def test_rows_keep_their_published_number_in_any_order(tmp_path):
    lines = row("a", "b", number="12") + row("c", "d", number="3")
    assert [i.id for i in loaded(tmp_path, HEAD + lines)] == ["crows/0012", "crows/0003"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "crows_pairs_anonymized.csv holds no pairs"),
        (HEAD, "holds no pairs"),
        (
            "id,sent_more,less\n1,a,b\n",
            "has no sent_less, stereo_antistereo, bias_type; it has id, sent_more, less",
        ),
        ("sent_more;sent_less;stereo_antistereo;bias_type\na;b;stereo;age\n", "has no"),
        ((HEAD + ONE).encode("cp1252"), "is not UTF-8"),
        ((HEAD + ONE).encode("utf-16"), "is not UTF-8"),
        pytest.param(HEAD + '0,"never closed ' + "x" * 140_000, "is not well-formed"),
    ],
    ids=["empty", "head alone", "columns", "semicolons", "cp1252", "utf-16", "open quote"],
)
def test_a_file_of_another_kind_is_named(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        loaded(tmp_path, content)


def hub_table(**changes: Any) -> pa.Table:
    """Return two rows in the shape of the Hub's copy: class labels as integers."""
    columns = {
        "id": pa.array([0, 1], pa.int32()),
        "sent_more": ["Old.", "Poor."],
        "sent_less": ["Young.", "Rich."],
        "stereo_antistereo": pa.array([0, 1], pa.int64()),
        "bias_type": pa.array([8, 1], pa.int64()),
        "annotations": pa.array([[[8]], [[1], [1]]], pa.list_(pa.list_(pa.int64()))),
        "anon_writer": pa.array([0, 1], pa.int64()),
    }
    return pa.table(columns | changes)


@pytest.mark.parametrize("shape", HUB_SHAPES)
def test_the_hubs_copy_serves_as_well(tmp_path, shape):
    path = tmp_path / shape
    path.parent.mkdir(parents=True)
    pq.write_table(hub_table(), path)
    found = SUITE.configuration("en").load(DataFolder(tmp_path, offline=True))
    assert [(i.id, dict(i.by)) for i in found.items] == [
        ("crows/0000", {"bias_type": "age", "direction": "stereo"}),
        ("crows/0001", {"bias_type": "socioeconomic", "direction": "antistereo"}),
    ]
    assert found.items[1].texts == {"more": "Poor.", "less": "Rich."}
    assert found.info.local


def test_class_labels_are_in_the_hubs_order():
    assert DIRECTIONS == ("stereo", "antistereo")
    assert len(BIAS_TYPES) == 9
    assert (BIAS_TYPES[0], BIAS_TYPES[8]) == ("race-color", "age")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (hub_table().slice(0, 0), "holds no pairs"),
        (hub_table().drop_columns(["sent_less"]), "has no sent_less"),
    ],
    ids=["no rows", "columns"],
)
def test_a_wrong_parquet_file_is_named(tmp_path, table, message):
    path = tmp_path / HUB_SHAPES[0]
    path.parent.mkdir(parents=True)
    pq.write_table(table, path)
    with pytest.raises(DataError, match=message):
        SUITE.configuration("en").load(DataFolder(tmp_path, offline=True))
    path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match="is no Parquet file"):
        SUITE.configuration("en").load(DataFolder(tmp_path, offline=True))


def test_labels_beyond_the_hubs_are_unscored_and_named(tmp_path):
    path = tmp_path / HUB_SHAPES[0]
    path.parent.mkdir(parents=True)
    changes = {"stereo_antistereo": pa.array([5, 0]), "sent_more": pa.array(["a", None])}
    pq.write_table(hub_table(**changes), path)
    found = SUITE.configuration("en").load(DataFolder(tmp_path, offline=True)).items
    assert [i.reason for i in found] == [
        "stereo_antistereo is 5, not one of stereo, antistereo",
        "empty sentence",
    ]


def multilingual(data_dir: Path, name: str) -> Sequence[Item]:
    return SUITE.configuration(name).load(DataFolder(data_dir, offline=True)).items


@pytest.mark.parametrize("name", ["en-revised", "fr", "nl"])
def test_the_other_languages_are_read_whole(data_dir, name):
    found = multilingual(data_dir, name)
    assert len({i.id for i in found}) == len(found) == 1463
    assert sum(i.status is not None for i in found) <= 3


def test_the_two_broken_rows_in_french_are_unscored(data_dir):
    broken = {i.id: i.reason for i in multilingual(data_dir, "fr") if i.status}
    assert sorted(broken.values()) == ["empty sentence", "the two sentences are identical"]


def test_french_is_written_plainly_so_that_pairs_agree(data_dir):
    text = " ".join(t for i in multilingual(data_dir, "fr") for t in i.texts.values())
    assert "\N{NO-BREAK SPACE}" not in text
    assert "\N{RIGHT SINGLE QUOTATION MARK}" not in text
    assert "l'" in text
    raw = (data_dir / FRENCH.path).read_bytes().decode("utf-8-sig")
    assert "\N{NO-BREAK SPACE}" in raw


def test_dutch_comes_out_of_mac_roman(data_dir):
    text = " ".join(t for i in multilingual(data_dir, "nl") for t in i.texts.values())
    assert "é" in text
    assert "ë" in text
    assert not set(text) & set("√©Ž\x8e\ufffd")
    assert crows_pairs.mac_roman("één café".encode("mac_roman")) == "één café"
    assert crows_pairs.mac_roman("café".encode()) == "café"


def test_the_languages_agree_in_rows_and_directions_and_not_in_all_bias_types(data_dir):
    by_name = {n: {i.id: i for i in multilingual(data_dir, n)} for n in ("en-revised", "fr")}
    english, french = by_name["en-revised"], by_name["fr"]
    original = {i.id: i for i in multilingual(data_dir, "en")}
    assert english.keys() == french.keys() < original.keys()
    differ = [i for i in english if english[i].by["bias_type"] != french[i].by["bias_type"]]
    assert len(differ) == 57
    assert all(english[i].by["direction"] == french[i].by["direction"] for i in english)
    assert sum(english[i].texts == original[i].texts for i in english) == 1314


def test_english_keeps_its_spelling():
    assert crows_pairs.unchanged("it’s") == "it’s"
    assert crows_pairs.plain_spaces("l’\N{NO-BREAK SPACE}a") == "l' a"


def test_more_than_five_percent_of_broken_rows_are_inconclusive(tmp_path):
    lines = "".join(row(f"m{n}", f"l{n}", number=str(n)) for n in range(17))
    broken = row("same", "same", number="17")
    model = Pairs(lambda first, second: (-1.0, -2.0))

    def of(text: str) -> SuiteResult:
        return result_of(SUITE, model, loaded(tmp_path, HEAD + text))

    assert of(lines + broken).status == "inconclusive"
    assert "the two sentences are identical" in of(lines + broken).reason
    more = "".join(row(f"m{n}", f"l{n}", number=str(n)) for n in range(18, 30))
    assert of(lines + broken + more).status == "scored"
