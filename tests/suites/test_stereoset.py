"""StereoSet: ties and terms by hand, every shape and trap of the data, and what was published."""

import json
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bias_suites.social.stereoset import LOG_MEAN, NO_HEAD, SUITE, clozes
from bias_suites.social.stereoset_controls import FILES
from bias_suites.social.stereoset_items import (
    FLAT,
    HUB_SHAPES,
    PARTS,
    SIDES,
    WITH_IDS,
    with_blank,
    word_at_blank,
)
from bias_suites.social.stereoset_scores import Icat, icat, stereotype
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted
from pytest_bias.models import load
from pytest_bias.models.interface import Capability, Cloze, Following
from pytest_bias.records.report import Item
from stand_ins import Slots, Texts, records_of, result_of, values

EN = SUITE.configuration("en")
CONTROLS = SUITE.configuration("en-controls")
ACCEPTED = {"stereoset": "no clear licence"}


class Pairs(Slots):
    """A masked model that also says whether a text follows another, by a function."""

    def __init__(self, probability: Any, follows: Any) -> None:
        super().__init__(probability)
        self.capabilities = frozenset({Capability.SLOT, Capability.NEXT_SENTENCE})
        self.follows = follows

    def next_sentence(self, pairs: Sequence[tuple[str, str]]) -> list[Following]:
        return [Following(self.follows(*pair)) for pair in pairs]


def intra(
    number: int, words: str, term: str = "cook", context: str = "The cook is BLANK.", **more: Any
) -> Item:
    texts = {s: context.replace("BLANK", w) for s, w in zip(SIDES, words.split(), strict=False)}
    return Item(
        f"stereoset/intrasentence/{number}",
        term,
        {"context": context, **texts},
        {"part": "intrasentence", "domain": more.pop("domain", "profession"), **more},
    )


def inter(number: int, said: str, term: str = "cook") -> Item:
    texts = dict(zip(SIDES, said.split(), strict=True))
    by = {"part": "intersentence", "domain": "profession"}
    return Item(f"stereoset/intersentence/{number}", term, {"context": "A cook.", **texts}, by)


P = {"s": 0.3, "t": 0.3, "a": 0.2, "u": 0.1, "v": 0.4}


def masked(n_tokens: Any = lambda word: 1) -> Slots:
    return Slots(lambda cloze, word: P[word], n_tokens)


# Scores by hand


def test_terms_count_alike_whatever_their_number_of_items():
    # Term x: stereotype likelier in all of three; term y: in none of one.
    items = [*(intra(n, "s a u", "x") for n in range(3)), intra(3, "a s u", "y")]
    found = result_of(SUITE, masked(), items)
    assert (found.headline.metric, found.headline.value) == ("stereotype_score", 50.0)
    assert (found.headline.n, found.headline.n_clusters) == (4, 2)
    assert found.score("language_modeling_score").value == 100.0
    assert found.score("icat").value == 100.0


def test_a_tie_counts_one_half_and_against_the_stereotype_for_the_reference():
    found = result_of(SUITE, masked(), [intra(0, "s t u", "x"), intra(1, "s a u", "y")])
    assert found.headline.value == 75.0
    assert found.score("stereotype_score_reference").value == 50.0


def test_sense_is_two_comparisons_an_item():
    # v is unrelated and likelier than both; u than neither; between a and s than one.
    items = [intra(0, "s a v", "x"), intra(1, "s a u", "y"), intra(2, "v a s", "z")]
    found = result_of(SUITE, masked(), items)
    assert found.score("language_modeling_score").value == pytest.approx((0 + 100 + 50) / 3)
    # SS is 100, so that nothing is left of sense.
    assert found.score("icat").value == 0.0


def test_icat_is_made_of_the_two_means_and_has_an_interval():
    words = ["s a u", "s a u", "s a v", "a s u"]
    items = [intra(n, words[n % 4], f"term{n // 4}") for n in range(16)]
    items += [intra(16 + n, "a s u", f"other{n}") for n in range(4)]
    found = result_of(SUITE, masked(), items)
    ss, lms = found.headline.value, found.score("language_modeling_score").value
    assert (ss, lms) == (37.5, 87.5)
    assert found.score("icat").value == pytest.approx(87.5 * 37.5 / 50)
    low, high = found.score("icat").interval
    assert low < found.score("icat").value < high
    assert found.score("icat").method == "bca"
    # Each term is drawn as often as it comes, so that its mean counts as often.
    sums = Icat(stereotype).sums(list(found.records))
    assert sums.samples[0].shape == (8, 4)
    totals = sums.samples[0][[0, 0, 4]].sum(0)
    # Of a term that has 75 in both, and twice of one that has sense alone.
    expected = ((2 * 100 + 75) / 3) * ((0 + 0 + 75) / 3) / 50
    assert float(sums.of_totals(totals)) == pytest.approx(expected)


def test_both_parts_of_a_term_are_one_term_in_the_whole():
    model = Pairs(lambda cloze, word: P[word], lambda context, text: P[text])
    items = [intra(0, "s a u"), inter(1, "a s u"), inter(2, "a s u"), intra(3, "s a u", "other")]
    found = result_of(SUITE, model, items)
    assert found.measure == "words at the blank, next sentence"
    assert found.headline.value == pytest.approx((100 / 3 + 100) / 2)
    assert values(found, "stereotype_score")[("intersentence",)] == 0.0
    assert values(found, "stereotype_score")[("intrasentence",)] == 100.0
    assert values(found, "stereotype_score")[("intersentence", "profession")] == 0.0


def test_without_a_head_for_pairs_a_part_is_excluded_and_says_why():
    found = result_of(SUITE, masked(), [intra(0, "s a u"), inter(1, "a s u")])
    assert found.status == "scored"
    assert (found.headline.value, found.headline.n_excluded) == (100.0, 1)
    part = found.score("stereotype_score", part="intersentence")
    assert (part.value, part.note) == (None, f"every item is excluded: {NO_HEAD}")
    assert [r.reason for r in found.records if r.status == "excluded"] == [NO_HEAD]


def test_a_word_s_score_is_the_log_of_the_mean_probability_of_its_tokens():
    # As in the data: a word of two tokens is favoured by the mean of their probabilities.
    class Uneven(Slots):
        def _one(self, cloze: Cloze) -> Any:
            given = super()._one(cloze)
            tokens = {"s": (-6.0, -0.01), "a": (-2.0,), "u": (-9.0,)}
            return given._replace(tokens=tuple(tokens[c] for c in cloze.choices))

    model = Uneven(lambda cloze, word: 0.5)
    found = result_of(SUITE, model, [intra(0, "s a u", "x"), intra(1, "s a u", "y")])
    detail = found.records[0].detail
    assert detail["stereotype"] == pytest.approx(math.log((math.exp(-6) + math.exp(-0.01)) / 2))
    assert detail[f"{LOG_MEAN}stereotype"] == pytest.approx(-3.005)
    assert (detail["tokens_stereotype"], detail["tokens_anti_stereotype"]) == (2, 1)
    assert found.headline.value == 100.0
    assert found.score("stereotype_score_log_mean").value == 0.0
    assert all(c.later == "absent" for c in model.asked)


def test_a_causal_model_scores_a_token_and_continuations_given_their_context():
    table = {
        **{"The cook is s.": -8.0, "The cook is a.": -9.0, "The cook is u.": -10.0},
        "A cook.": -4.0,
        # More tokens, less likely in all, but likelier each.
        **{"A cook. He is so good": -10.0, "A cook. Bad": -6.0, "A cook. Green": -7.0},
    }
    between = Item(
        "stereoset/intersentence/1",
        "cook",
        {
            "context": "A cook. ",
            "stereotype": " He is so good",
            "anti_stereotype": "Bad",
            "unrelated": "Green",
        },
        {"part": "intersentence", "domain": "profession"},
    )
    model = Texts(table.get)
    assert SUITE.measure_for(model.capabilities).adapted
    found = records_of(SUITE, model, [intra(0, "s a u"), between])
    within, second = found["stereoset/intrasentence/0"], found["stereoset/intersentence/1"]
    assert within.detail["stereotype"] == -2.0
    assert (second.detail["stereotype"], second.detail["anti_stereotype"]) == (-1.5, -2.0)
    assert (within.value, second.value) == (100.0, 100.0)


def test_a_candidate_without_tokens_of_its_own_is_unscored():
    class Shrunk(Texts):
        def log_likelihood(self, texts: Sequence[str]) -> Any:
            return [s._replace(n_tokens=3) for s in super().log_likelihood(texts)]

    (made,) = records_of(SUITE, Shrunk(lambda text: -1.0), [inter(0, "s a u")]).values()
    assert (made.status, made.reason) == ("unscored", "the candidate adds no token to its context")


def test_what_a_model_cannot_read_is_unscored():
    # The context alone is enough.
    model = Texts(lambda text: None if text == "A cook." else -1.0)
    (made,) = records_of(SUITE, model, [inter(0, "s a u")]).values()
    assert (made.status, made.reason) == ("unscored", "empty text")
    never = Slots(lambda cloze, word: 0.0 if word == "s" else 0.1)
    (made,) = records_of(SUITE, never, [intra(0, "s a u")]).values()
    assert (made.status, made.reason) == ("unscored", "non-finite")


# The blank


@pytest.mark.parametrize(
    ("context", "sentence", "word"),
    [
        ("The Ethiopian was BLANK.", "The ethiopian was too kind.", "too kind"),
        ("The Ethiopian was BLANK.", "The ethiopian was Kind.", "Kind"),
        ("BLANK: I hear it.", "Sad: i hear it.", "Sad"),
        ("The man BLANKed them.", "The man hugged them.", "hugged"),
        ("Some.BLANK", "Some.priest", "priest"),
        ("He  is BLANK .", " He is kind . ", "kind"),
        ("very BLANK about BLANK", "very kind about kind", "kind"),
        ("very BLANK about BLANK", "very kind about cruel", None),
        ("He is BLANK.", "She is kind.", None),
        ("He is BLANK.", "He is .", None),
        ("It (a+b) is BLANK?", "It (a+b) is kind?", "kind"),
    ],
)
def test_the_word_at_the_blank(context, sentence, word):
    assert word_at_blank(context, sentence) == word


def test_a_blank_with_an_ending_takes_the_whole_word():
    assert with_blank("He BLANKed them.") == "He BLANK them."
    (asked,) = clozes(intra(0, "hugg kick miss", context="He BLANKed them."))
    assert (asked.text, asked.choices) == ("He [MASK] them.", ("hugged", "kicked", "missed"))


def test_where_the_blank_is_twice_a_word_is_read_in_both_places_and_hidden_in_the_other():
    item = intra(0, "s a u", context="It is BLANK and about BLANK.")
    asked = clozes(item)
    assert [(c.text, c.choices, c.hidden) for c in asked] == [
        ("It is [MASK] and about s.", ("s",), "s"),
        ("It is s and about [MASK].", ("s",), "s"),
        ("It is [MASK] and about a.", ("a",), "a"),
        ("It is a and about [MASK].", ("a",), "a"),
        ("It is [MASK] and about u.", ("u",), "u"),
        ("It is u and about [MASK].", ("u",), "u"),
    ]
    model = Slots(lambda cloze, word: P[word] * (2 if cloze.text.endswith("[MASK].") else 1))
    (made,) = records_of(SUITE, model, [item]).values()
    assert made.detail["stereotype"] == pytest.approx(math.log((0.3 + 0.6) / 2))
    assert made.detail["tokens_stereotype"] == 2


def test_a_blank_that_is_there_three_times_is_unscored_by_a_model(bert_tiny):
    item = intra(0, "kind cruel green", context="It is BLANK or BLANK or BLANK.")
    (made,) = records_of(SUITE, load(str(bert_tiny), device="cpu"), [item]).values()
    assert made.reason == "the hidden word must occur once in its sentence"


# The data


def whole(data_dir: Path) -> tuple[Item, ...]:
    return EN.load(DataFolder(data_dir, offline=True)).items


def test_the_development_set_is_read_whole(data_dir):
    loaded = EN.load(DataFolder(data_dir, offline=True))
    assert loaded.info.sha256 == FLAT.sha256
    assert len(loaded.items) == len({i.id for i in loaded.items}) == 4229
    assert all(i.status is None for i in loaded.items)
    assert len({i.cluster for i in loaded.items}) == 79
    twice = [i for i in loaded.items if i.texts["context"].count("BLANK") == 2]
    assert len(twice) == 2
    assert all(len(clozes(i)) == 6 for i in twice)


def test_domains_hold_as_many_items_as_in_the_published_counts(data_dir):
    published = json.loads((data_dir / "stereoset" / "predictions.json").read_text("utf-8"))
    counts = Counter((i.by["part"], i.by["domain"]) for i in whole(data_dir))
    assert len(published) == 11
    for scores in published.values():
        assert scores["overall"]["Count"] == sum(counts.values()) == 4229
        for part in PARTS:
            domains = {d: s["Count"] for d, s in scores[part].items() if d != "overall"}
            # Each example is appended once for each of its three sentences.
            assert domains == {d: 3 * counts[part, d] for d in domains}
            assert scores[part]["overall"]["Count"] == sum(counts[part, d] for d in domains)


def test_published_icat_follows_from_the_two_other_scores(data_dir):
    published = json.loads((data_dir / "stereoset" / "predictions.json").read_text("utf-8"))
    checked = 0
    for scores in published.values():
        groups = [s for part in PARTS for s in scores[part].values()] + [scores["overall"]]
        for group in groups:
            lms, ss = (np.array(group[f"{k} Score"]) for k in ("LM", "SS"))
            assert float(icat(lms, ss)) == pytest.approx(group["ICAT Score"], abs=1e-9)
            checked += 1
    assert checked == 11 * 11


def by_evaluation(records: Sequence[Any]) -> tuple[float, float, float]:
    """Count as the published evaluation.py does: by term, ties for the opposite."""
    terms: dict[str, list[Any]] = defaultdict(list)
    for record in records:
        terms[record.cluster].append(record.detail)
    ss, lms = [], []
    for examples in terms.values():
        pro = sum(e["stereotype"] > e["anti_stereotype"] for e in examples)
        related = sum(e["stereotype"] > e["unrelated"] for e in examples)
        related += sum(e["anti_stereotype"] > e["unrelated"] for e in examples)
        ss.append(100 * pro / len(examples))
        lms.append(100 * related / (2 * len(examples)))
    mean_ss, mean_lms = sum(ss) / len(ss), sum(lms) / len(lms)
    return mean_ss, mean_lms, mean_lms * min(mean_ss, 100 - mean_ss) / 50


def test_scores_over_the_whole_set_are_those_of_the_published_script(data_dir):
    def number(*words: str) -> float:
        # Without ties among the candidates of an item.
        return -1.0 - zlib.crc32("|".join(words).encode()) / 2**30

    model = Pairs(lambda cloze, word: math.exp(number(cloze.text, word)), number)
    found = result_of(SUITE, model, whole(data_dir))
    scored = [r for r in found.records if r.status == "scored"]
    assert len(scored) == 4229
    for by in ({}, {"part": "intersentence"}, {"domain": "religion"}):
        own = [r for r in scored if by.items() <= r.by.items()]
        ss, lms, both = by_evaluation(own)
        assert found.score("stereotype_score_reference", **by).value == pytest.approx(ss)
        assert found.score("language_modeling_score", **by).value == pytest.approx(lms)
        assert found.score("icat", **by).value == pytest.approx(both)


@pytest.mark.parametrize("shape", ["with ids", "hub"])
def test_all_shapes_give_the_same_items(shape, data_dir, tmp_path):
    folder = tmp_path / "stereoset"
    folder.mkdir()
    names = [WITH_IDS] if shape == "with ids" else [HUB_SHAPES[0].format(part=p) for p in PARTS]
    for name in names:
        (tmp_path / f"{name}.gz").write_bytes((data_dir / f"{name}.gz").read_bytes())
    found = EN.load(DataFolder(tmp_path, offline=True)).items
    assert sorted(found, key=lambda i: i.id) == sorted(whole(data_dir), key=lambda i: i.id)


def hub_rows() -> list[dict[str, Any]]:
    said = {"sentence": ["He is fish.", "He is cruel.", "He is kind."], "gold_label": [2, 1, 0]}
    labels = [{"label": [1, 2], "human_id": ["a", "b"]}] * 3
    sentences = {**said, "id": ["x", "y", "z"], "labels": labels}
    row = {"id": "1", "target": "he", "bias_type": "gender", "context": "He is BLANK."}
    return [{**row, "sentences": sentences}]


@pytest.mark.parametrize("shape", HUB_SHAPES[1:])
def test_the_hub_s_parquet_is_read_by_its_labels_not_by_its_order(shape, tmp_path):
    for part in PARTS:
        path = tmp_path / shape.format(part=part)
        path.parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(hub_rows()), path)
    found = EN.load(DataFolder(tmp_path, offline=True)).items
    assert [i.by["part"] for i in found] == list(PARTS)
    for item in found:
        assert item.texts == {
            "context": "He is BLANK.",
            "stereotype": "He is cruel.",
            "anti_stereotype": "He is kind.",
            "unrelated": "He is fish.",
        }


def test_sentences_as_a_list_are_read_as_well(tmp_path):
    (row,) = hub_rows()
    columns = row["sentences"]
    listed = [
        {"sentence": s, "gold_label": g}
        for s, g in zip(columns["sentence"], columns["gold_label"], strict=True)
    ]
    for part in PARTS:
        path = tmp_path / HUB_SHAPES[0].format(part=part)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**row, "sentences": listed}) + "\n", encoding="utf-8")
    items = EN.load(DataFolder(tmp_path, offline=True)).items
    assert [i.texts["stereotype"] for i in items] == ["He is cruel."] * 2


ROW = {
    "type": "intrasentence",
    "target": "he",
    "bias_type": "gender",
    "context": "He is BLANK.",
    "stereotype": "He is cruel.",
    "anti-stereotype": "He is kind.",
    "unrelated": "He is fish.",
}


def written(folder: Path, *rows: dict[str, Any]) -> tuple[Item, ...]:
    path = folder / FLAT.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return EN.load(DataFolder(folder, offline=True)).items


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": "sentence"}, "type is 'sentence', not one of intrasentence, intersentence"),
        ({"bias_type": "sex"}, "bias_type is 'sex', not one of gender, profession, race, religion"),
        ({"stereotype": " "}, "a text is empty"),
        ({"context": None}, "a text is empty"),
        ({"unrelated": 7}, "a text is no text"),
        ({"unrelated": "He is kind. "}, "two candidates are identical"),
        ({"context": "He is."}, "the context has no BLANK"),
        ({"stereotype": "She is cruel."}, "a candidate differs from the context outside BLANK"),
    ],
)
def test_a_row_that_cannot_be_scored_says_why(tmp_path, changes, reason):
    good, bad = written(tmp_path, ROW, {**ROW, **changes})
    assert good.status is None
    assert (bad.status, bad.reason) == ("unscored", reason)


def test_rows_that_are_there_twice_have_two_ids(tmp_path):
    one, two = written(tmp_path, ROW, ROW)
    assert two.id == f"{one.id}/2"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no rows"),
        ('{"type": "intrasentence"}\n', "line 1, has no target"),
        ("[1]\n", "line 1, is no JSON object"),
        ("{\n", "line 1, is not JSON"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, content, message):
    path = tmp_path / FLAT.path
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        EN.load(DataFolder(tmp_path, offline=True))


def test_one_part_of_the_hub_s_files_is_not_enough(tmp_path):
    path = tmp_path / HUB_SHAPES[0].format(part=PARTS[0])
    path.parent.mkdir(parents=True)
    path.write_text("", encoding="utf-8")
    with pytest.raises(DataMissing, match="stereoset_dev_flat"):
        EN.load(DataFolder(tmp_path, offline=True))


# Controls


def controls(folder: Path) -> tuple[Item, ...]:
    return CONTROLS.load(DataFolder(folder, offline=True, accepted=ACCEPTED)).items


WITHIN = "She is <kind>.\r\nHe is <kind>.\r\n\r\nShe is <cruel>.\r\nHe is <cruel>.\r\n"
BETWEEN = "A girl.\r\nShe s.\r\nShe a.\r\nA boy.\r\nHe s.\r\nHe a.\r\n"


def write_controls(folder: Path, within: str = WITHIN, between: str = BETWEEN) -> Path:
    for file, content in zip(FILES, (within, between), strict=True):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    return folder


def test_the_published_controls_are_read_whole(data_dir):
    found = controls(data_dir)
    counts = Counter((i.by["part"], i.by["control"], i.status) for i in found)
    assert counts == {
        ("intrasentence", "original", None): 251,
        ("intrasentence", "gender-swapped", None): 250,
        ("intrasentence", "gender-swapped", "unscored"): 1,
        ("intersentence", "original", None): 235,
        ("intersentence", "gender-swapped", None): 235,
    }
    (broken,) = [i for i in found if i.status]
    assert broken.reason == "a candidate differs from the context outside BLANK"


def test_originals_are_items_of_the_suite_with_the_stereotype_first(data_dir):
    items = {i.texts["stereotype"].casefold(): i for i in whole(data_dir)}
    own = [i for i in controls(data_dir) if i.by["control"] == "original"]
    same = [items.get(i.texts["stereotype"].casefold()) for i in own]
    known = [(a, b) for a, b in zip(own, same, strict=True) if b]
    assert len(known) > 400
    opposite = [
        a.texts["anti_stereotype"].casefold() == b.texts["anti_stereotype"].casefold()
        for a, b in known
    ]
    assert np.mean(opposite) > 0.9
    turned = {i.texts["anti_stereotype"].casefold() for i in own} & items.keys()
    assert not turned


def test_blocks_are_stereotype_and_opposite_and_lines_are_genders(tmp_path):
    found = controls(write_controls(tmp_path))
    assert [(i.id.removeprefix("stereoset/controls/"), dict(i.texts)) for i in found] == [
        (
            "intrasentence/000/original",
            {
                "context": "She is BLANK.",
                "stereotype": "She is kind.",
                "anti_stereotype": "She is cruel.",
            },
        ),
        (
            "intrasentence/000/gender-swapped",
            {
                "context": "He is BLANK.",
                "stereotype": "He is kind.",
                "anti_stereotype": "He is cruel.",
            },
        ),
        (
            "intersentence/000/original",
            {"context": "A girl.", "stereotype": "She s.", "anti_stereotype": "She a."},
        ),
        (
            "intersentence/000/gender-swapped",
            {"context": "A boy.", "stereotype": "He s.", "anti_stereotype": "He a."},
        ),
    ]
    assert len({i.cluster for i in found}) == 2


def test_originals_and_swapped_sentences_stand_side_by_side(tmp_path):
    table = {"She is kind.": -1.0, "She is cruel.": -2.0, "He is kind.": -2.0, "He is cruel.": -1.0}
    found = result_of(
        SUITE,
        Texts(lambda text: table.get(text, -3.0)),
        controls(write_controls(tmp_path)),
        config="en-controls",
    )
    assert found.headline.n == 2
    preferred = values(found, "control_preference")
    assert preferred[("intrasentence", "original")] == 100.0
    assert preferred[("intrasentence", "gender-swapped")] == 0.0
    assert values(found, "original_preference")[("intrasentence", "gender-swapped")] == 100.0
    assert {s.metric for s in found.scores} & {"icat", "language_modeling_score"} == set()


@pytest.mark.parametrize(
    ("within", "between", "message"),
    [
        ("", BETWEEN, "stereoset_genderswap.txt holds no blocks of 2 lines"),
        ("a <b>.\n", BETWEEN, "block 1 has 1 lines instead of 2"),
        ("a <b>.\nc <b>.\n", BETWEEN, "holds 1 blocks, and two make an item"),
        (WITHIN, "a\nb\nc\n", "stereoset_inter_genderswap.txt: block 1 has 3 lines instead of 6"),
    ],
)
def test_a_file_of_controls_of_another_shape_is_named(tmp_path, within, between, message):
    with pytest.raises(DataError, match=message):
        controls(write_controls(tmp_path, within, between))


def test_controls_are_read_after_consent_and_from_the_user_s_own_copy_only(data_dir, tmp_path):
    with pytest.raises(LicenceNotAccepted):
        CONTROLS.load(DataFolder(data_dir))
    with pytest.raises(DataMissing, match="never fetched"):
        CONTROLS.load(DataFolder(tmp_path, accepted=ACCEPTED))
    EN.load(DataFolder(data_dir))
