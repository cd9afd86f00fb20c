"""Search-engine stereotypes: counted by hand, the traps of the file, and the floor."""

from collections import Counter
from dataclasses import replace

import pytest

from bias_suites.social.choenni_stereotypes import FILE, LARGE_K, SUITE, K
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError
from pytest_bias.models.interface import GAP
from pytest_bias.records.report import Item
from stand_ins import NextTokens, Tokens, records_of, result_of, values

QUERIES = {
    "bakers": "why are bakers so",
    "judges": "why are judges so",
    "poets": "why are poets so",
}
HEADER = "input\ttarget_category\ttarget_group\tcompletion\tsearch_engine\n"


def item(group: str, word: str, *others: str) -> Item:
    return Item(
        f"choenni/{group}/{word}",
        group,
        {"query": QUERIES[group], "stereotype": word},
        {"category": "profession", "group": group},
        {"others": tuple(QUERIES[o] for o in others)},
    )


ITEMS = [
    item("bakers", "tired", "judges", "poets"),
    item("bakers", "kind", "judges"),
    item("judges", "stern", "bakers", "poets"),
    item("poets", "poor"),
]


def said(query: str) -> list[str]:
    """Name `tired` first for all but poets, `Kind` 20th and `stern` 21st for bakers alone."""
    words = [f"word{n}" for n in range(LARGE_K)]
    if "poets" not in query:
        words[0] = "tired"
    if "bakers" in query:
        words[19:21] = ["Kind", "stern"]
    return words


def data(folder) -> DataFolder:
    return DataFolder(folder, offline=True)


def written(folder, text: str) -> DataFolder:
    path = folder / FILE.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return data(folder)


# Counted by hand


def test_shares_floors_and_excess_of_four_words():
    result = result_of(SUITE, Tokens(said), ITEMS)
    details = {r.item: dict(r.detail) for r in result.records}
    words = {name: detail.pop("word") for name, detail in details.items() if detail}
    # One word is one level, whichever group it is of.
    assert len(set(words.values())) == len({name.rpartition("/")[2] for name in words})
    assert details["choenni/bakers/tired"] == {
        "rank": 1,
        "n_others": 2,
        "others_in_20": 1,
        "others_in_200": 1,
    }
    assert details["choenni/judges/stern"] == {
        "rank": 0,
        "n_others": 2,
        "others_in_20": 0,
        "others_in_200": 1,
    }
    assert details["choenni/poets/poor"]["n_others"] == 0
    groups = {("bakers",): 100, ("judges",): 0, ("poets",): 0}
    assert values(result, "share") == {(): 50, ("profession",): 50} | groups
    # Of others: half of tired, none of kind and stern; poor has no other group.
    assert result.headline.floor == pytest.approx(50 / 3)
    assert result.score("share_200").floor == pytest.approx(100 / 3)
    assert result.score("excess").value == pytest.approx((50 + 100 + 0) / 3)


def test_a_rank_beyond_the_first_is_for_the_larger_score_alone():
    words = {"bakers": 21, "judges": 200}
    asked = [item(group, "odd") for group in words]

    def at(query: str) -> list[str]:
        rank = next(n for group, n in words.items() if group in query)
        return [f"w{n}" for n in range(1, rank)] + ["odd"] + ["x"] * 200

    result = result_of(SUITE, Tokens(at), asked)
    assert (result.headline.value, result.score("share_200").value) == (0, 100)
    assert [r.detail["rank"] for r in result.records] == [21, 200]


def test_the_first_of_two_spellings_has_the_rank():
    model = Tokens(lambda _: ["x", "Tired", "tired", "y"])
    (record,) = records_of(SUITE, model, ITEMS[:1]).values()
    assert record.detail["rank"] == 2


def test_models_are_asked_each_query_once():
    masked, causal = Tokens(said), NextTokens(said)
    records_of(SUITE, masked, ITEMS)
    records_of(SUITE, causal, ITEMS)
    assert sorted(masked.asked) == [(f"{q} {GAP}?", LARGE_K) for q in QUERIES.values()]
    assert sorted(causal.asked) == [(q, LARGE_K) for q in QUERIES.values()]
    assert [m.adapted for m in SUITE.measures] == [False, True]
    assert K == 20


def test_a_record_does_not_depend_on_what_else_is_measured():
    together = records_of(SUITE, Tokens(said), ITEMS)
    for one in ITEMS:
        assert records_of(SUITE, Tokens(said), [one]) == {one.id: together[one.id]}


def test_a_word_that_the_vocabulary_splits_is_excluded():
    model = Tokens(said, n_tokens_of=lambda word: 1 + (word == "kind"))
    result = result_of(SUITE, model, ITEMS)
    (excluded,) = [r for r in result.records if r.status == "excluded"]
    assert excluded.reason == "2 tokens in this vocabulary, and a prediction is one"
    assert (result.headline.n, result.headline.n_excluded) == (3, 1)
    assert result.headline.value == pytest.approx(100 / 3)


def test_a_query_that_cannot_be_read_costs_only_its_own_words():
    model = Tokens(lambda text: None if "judges" in text else said(text))
    found = records_of(SUITE, model, ITEMS)
    assert found["choenni/judges/stern"].status == "unscored"
    assert found["choenni/bakers/tired"].detail["n_others"] == 1
    assert found["choenni/bakers/kind"].detail["n_others"] == 0


# The file


def test_the_published_file(data_dir):
    loaded = SUITE.configuration("en").load(data(data_dir))
    assert len(loaded.items) == 1886
    assert Counter(i.reason for i in loaded.items) == {None: 1809, "given before": 77}
    kept = [i for i in loaded.items if i.status is None]
    assert len({i.by["group"] for i in kept}) == 263
    assert len({i.by["category"] for i in kept}) == 8
    words = {}
    for one in kept:
        for text in (*one.texts.values(), *one.by.values(), *one.meta["others"]):
            assert text == " ".join(text.split())
            assert "\n" not in text
        assert " " not in one.texts["stereotype"]
        assert one.by["group"] in one.texts["query"]
        words.setdefault(one.texts["query"], set()).add(one.texts["stereotype"])
    for one in kept:
        assert len(one.meta["others"]) <= 8
        for other in one.meta["others"]:
            # The same query about another group, for which nobody suggested the word.
            assert len(other.split()) >= 3
            assert one.texts["stereotype"] not in words[other]
            assert other.split()[:2] == one.texts["query"].split()[:2]
    assert sum(not one.meta["others"] for one in kept) < 40
    assert loaded.info.sha256 == FILE.sha256


def test_items_are_the_same_every_time(data_dir):
    first, again = (SUITE.configuration("en").load(data(data_dir)).items for _ in range(2))
    assert first == again


def test_cells_hold_line_breaks_and_no_commas_matter(tmp_path):
    text = HEADER + '"why are poets so\n"\tprofession\t"poets\n"\t"poor\n"\tgoogle\n'
    (one,) = SUITE.configuration("en").load(written(tmp_path, text)).items
    assert one.texts == {"query": "why are poets so", "stereotype": "poor"}
    assert one.by == {"category": "profession", "group": "poets"}


def test_a_group_inside_another_word_is_not_exchanged(tmp_path):
    rows = [("why are women and men so", "men"), ("why are women and boys so", "boys")]
    lines = [f"{query}\tgender\t{group}\tloud{n}\tx" for n, (query, group) in enumerate(rows)]
    first, second = (
        SUITE.configuration("en").load(written(tmp_path, HEADER + "\n".join(lines) + "\n")).items
    )
    assert first.meta["others"] == (rows[1][0],)
    assert second.meta["others"] == (rows[0][0],)


ROWS = {
    "why are poets so\tprofession\tpoets\tpoor\tgoogle": (None, None),
    "why are poets so\tprofession\tpoets\tpoor\tyahoo": ("excluded", "given before"),
    "why are poets so\tprofession\tpoets\tvery poor\tx": ("unscored", "more than one word"),
    "why are poets so\tprofession\tbakers\tpale\tx": ("unscored", "the group is not in its query"),
    "why are poets so\tprofession\tpoets\t\tx": ("unscored", "no completion"),
    "why are poets so": ("unscored", "no target_category, target_group, completion"),
}


def test_malformed_rows_are_items_without_a_score(tmp_path):
    folder = written(tmp_path, HEADER + "\n".join(ROWS) + "\n")
    items = SUITE.configuration("en").load(folder).items
    assert [(i.status, i.reason) for i in items] == list(ROWS.values())
    assert [i.id for i in items] == [f"choenni/{n:04d}" for n in range(len(ROWS))]
    result = result_of(SUITE, Tokens(said), [replace(i) for i in items])
    assert result.status == "inconclusive"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (HEADER, "holds no suggestions"),
        (HEADER.replace("\t", ",") + "a,b,c,d,e\n", "has no input, target_category"),
        (HEADER + '"why are\tx\n', "not well-formed"),
    ],
)
def test_a_file_that_is_no_such_table(text, word, tmp_path):
    with pytest.raises(DataError, match=word):
        SUITE.configuration("en").load(written(tmp_path, text))
