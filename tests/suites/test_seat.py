"""SEAT: association and effect size by hand, and what an unreadable text costs."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bias_suites.social import seat_files
from bias_suites.social.seat import KEYS, SUITE, WORDS, load_bundled
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted
from pytest_bias.records.report import Item
from pytest_bias.suites.sentences import text_file
from stand_ins import Vectors, records_of, result_of, values

# Cosines with A (east) and B (north): x1 1 and 0, x2 .8 and .6, y1 0 and 1, y2 .6 and .8.
TABLE = {
    "a": [3.0, 0.0],
    "b": [0.0, 0.5],
    "x1": [2.0, 0.0],
    "x2": [4.0, 3.0],
    "y1": [0.0, 7.0],
    "y2": [0.3, 0.4],
}


def items(
    test: str = "t", x: Any = ("x1", "x2"), y: Any = ("y1", "y2"), a: Any = ("a",), b: Any = ("b",)
) -> list[Item]:
    return [
        Item(
            f"seat/{test}/{side}/{n:04d}",
            test,
            {"target": text},
            {"test": test},
            {"side": side, "word": text, "a": tuple(a), "b": tuple(b)},
        )
        for side, texts in (("x", x), ("y", y))
        for n, text in enumerate(texts)
    ]


def test_associations_by_hand():
    found = records_of(SUITE, Vectors(TABLE), items())
    assert [r.value for r in found.values()] == pytest.approx([1.0, 0.2, -1.0, -0.2])
    assert found["seat/t/x/0000"].detail == {"side": "x", "word": "x1"}


def test_the_effect_size_by_hand():
    found = result_of(SUITE, Vectors(TABLE), items())
    # Means .6 and -.6; squares 2.08 about a mean of 0, over three.
    d = 1.2 / math.sqrt(2.08 / 3)
    score = found.score("effect_size", test="t")
    assert score.value == pytest.approx(d)
    assert found.headline.value == pytest.approx(d)
    # The observed split is the best of six.
    assert score.p_value == pytest.approx(1 / 6)
    assert score.p_adjusted == pytest.approx(1 / 6)
    effects = [1.2, 0.8, 0.0, 0.0, 0.8, 1.2]
    assert score.floor == pytest.approx(np.mean(effects) / math.sqrt(2.08 / 3))
    assert found.headline.floor == pytest.approx(score.floor)
    assert found.headline.interval is None
    assert found.headline.interval_reason == "4 clusters; it takes 8"


def test_attributes_are_averaged_as_unit_vectors():
    model = Vectors({**TABLE, "long": [0.0, 1000.0]})
    found = records_of(SUITE, model, items(a=("a", "long"), b=("b",)))
    # Mean of A is (.5, .5) after normalising, minus B (0, 1): x1 gives .5, y1 gives -.5.
    assert found["seat/t/x/0000"].value == pytest.approx(0.5)
    assert found["seat/t/y/0000"].value == pytest.approx(-0.5)


def test_swapping_targets_or_attributes_turns_the_sign():
    def d(**more: Any) -> float:
        return result_of(SUITE, Vectors(TABLE), items(**more)).score("effect_size", test="t").value

    once = d()
    assert d(x=("y1", "y2"), y=("x1", "x2")) == pytest.approx(-once)
    assert d(a=("b",), b=("a",)) == pytest.approx(-once)


def test_the_headline_is_the_mean_of_absolute_effects_and_holm_goes_over_the_tests():
    turned = items("u", x=("y1", "y2"), y=("x1", "x2"))
    found = result_of(SUITE, Vectors(TABLE), [*items("t"), *turned])
    d = 1.2 / math.sqrt(2.08 / 3)
    assert values(found, "effect_size") == {("t",): pytest.approx(d), ("u",): pytest.approx(-d)}
    assert found.headline.value == pytest.approx(d)
    assert found.headline.note == "mean over 2 tests"
    tests = {s.by["test"]: s for s in found.scores if s.metric == "effect_size"}
    assert (tests["t"].p_value, tests["u"].p_value) == pytest.approx((1 / 6, 1))
    assert (tests["t"].p_adjusted, tests["u"].p_adjusted) == pytest.approx((2 / 6, 1))


def test_a_text_is_embedded_once():
    model = Vectors(TABLE)
    records_of(SUITE, model, [*items("t"), *items("u")])
    assert sorted(model.asked) == sorted(TABLE)


def test_an_attribute_that_cannot_be_read_leaves_its_test_unscored():
    found = result_of(SUITE, Vectors(TABLE), [*items("t"), *items("u", a=("a", "missing"))])
    assert [r.status for r in found.records] == ["scored"] * 4 + ["unscored"] * 4
    assert found.score("effect_size", test="u").value is None
    assert found.score("effect_size", test="u").note == "nothing was scored"
    assert found.score("effect_size", test="t").value is not None
    assert found.status == "inconclusive"


def test_a_target_that_cannot_be_read_is_unscored_alone():
    found = records_of(SUITE, Vectors(TABLE), items(x=("x1", "missing")))
    assert [r.status for r in found.values()] == ["scored", "unscored", "scored", "scored"]


def test_a_test_that_drops_out_of_the_headline_is_counted():
    many = [i for n in range(30) for i in items(f"t{n:02d}")]
    found = result_of(SUITE, Vectors(TABLE), [*many, *items("u", a=("missing",))])
    assert found.status == "scored"
    assert found.headline.note == "mean over 30 tests"
    assert found.headline.n_unscored == len(items("u"))


def test_a_model_that_gives_everything_one_vector_has_no_effect():
    same = {text: [1.0, 1.0] for text in TABLE}
    found = result_of(SUITE, Vectors(same), items())
    assert found.headline.value is None
    assert found.headline.interval_reason == "no test has an effect size"
    assert found.score("effect_size", test="t").note == "no target varies"


@pytest.mark.parametrize(
    "vector",
    [
        pytest.param(
            [math.nan, 1.0],
            id="nan",
        ),
        pytest.param([math.inf, 1.0], id="infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_vectors_that_are_not_finite_are_unscored(vector):
    found = records_of(SUITE, Vectors({**TABLE, "x1": vector}), items())
    assert found["seat/t/x/0000"].status == "unscored"
    assert found["seat/t/x/0001"].status == "scored"


def test_a_vector_of_zeros_has_no_direction_and_is_unscored():
    found = records_of(SUITE, Vectors({**TABLE, "x1": [0.0, 0.0]}), items())
    assert found["seat/t/x/0000"].status == "unscored"


def test_the_bundled_tests_use_every_word_in_every_carrier():
    loaded = load_bundled(DataFolder())
    tests = {i.by["test"] for i in loaded.items}
    assert tests == {
        *(f"bundled-weat{n}" for n in range(1, 11)),
        *(f"bundled-weat{n}b" for n in (3, 5, 6, 7, 8)),
        *(f"bundled-double-bind-{about}" for about in ("competent", "likable")),
        *("bundled-angry-black-woman", "bundled-angry-black-woman-b"),
        *(f"bundled-religion{n}{b}" for n in (1, 2) for b in ("", "b")),
    }
    first = [i for i in loaded.items if i.by["test"] == "bundled-weat6"]
    assert len(first) == 2 * 8 * 4
    assert len({(i.meta["side"], i.meta["word"]) for i in first}) == 16
    assert len(first[0].meta["a"]) == 8 * 4
    for test in tests:
        sides = [i.meta["side"] for i in loaded.items if i.by["test"] == test]
        assert sides.count("x") == sides.count("y")


PUBLISHED, IMPLICIT, RELIGION = (
    SUITE.configuration(f"en-{name}") for name in ("published", "implicit", "religion")
)
ACCEPTED = {"seat": "CC-BY-NC-4.0"}

# Where the lists of Caliskan et al. and those that May et al. published differ: two names each.
SHORTER = {"weat4", "weat5"}
STEMS = {
    "double-bind-competent": "heilman_double_bind_competent_one_word",
    "double-bind-likable": "heilman_double_bind_likable_one_word",
    "angry-black-woman": "angry_black_woman_stereotype",
    "angry-black-woman-b": "angry_black_woman_stereotype_b",
}


def lists_of(test: str) -> dict[str, set[str]]:
    words = text_file(WORDS)
    return {side: set(words["sets"][words["tests"][test][side]]) for side in "xyab"}


OF_OTHERS = [t for t in text_file(WORDS)["tests"] if not t.startswith("religion")]


@pytest.mark.parametrize("test", OF_OTHERS)
def test_the_bundled_lists_are_the_published_ones(data_dir, test):
    path = data_dir / "sent_bias" / "tests" / f"{STEMS.get(test, test)}.jsonl"
    # One object over many lines, whatever the name of the file says.
    content = json.loads(path.read_text(encoding="utf-8"))
    assert len(path.read_text(encoding="utf-8").splitlines()) > 1
    for key, side in KEYS.items():
        published, ours = set(content[key]["examples"]), lists_of(test)[side]
        missing = len(ours - published)
        assert published <= ours
        assert missing == (2 if test in SHORTER and side in "xy" else 0)


def test_the_lists_of_religions_are_our_own(data_dir):
    published = json.loads(
        (data_dir / "bias_bench/seat/sent-religion1.jsonl").read_text("utf-8-sig")
    )
    for key, side in (("targ1", "x"), ("targ2", "y")):
        texts = " ".join(published[key]["examples"])
        assert not all(word in texts for word in lists_of("religion1")[side])
    of_religions = [lists_of(t)[s] for t in ("religion1", "religion1b") for s in "xy"]
    assert {len(words) for words in of_religions} == {8}


def test_checks_about_no_people_are_left_out_of_the_mean():
    tests = ("t-weat1", "weat2", "bundled-weat10", "sent-weat2", "weat1")
    (about_people,) = (t for t in tests if t == "bundled-weat10")
    # The checks are turned round and lack a target, so that they would move the mean.
    made = [i for t in tests for i in items(t, **({} if t == about_people else {"x": ("x1",)}))]
    found = result_of(SUITE, Vectors(TABLE), made)
    assert found.headline.note == "mean over 1 tests"
    assert found.headline.value == found.score("effect_size", test=about_people).value
    assert {s.by["test"] for s in found.scores if s.metric == "effect_size"} == set(tests)
    # Holm adjusts over all five.
    assert found.score("effect_size", test=about_people).p_adjusted == pytest.approx(5 / 6)


def test_sets_of_unequal_size_by_hand():
    found = result_of(SUITE, Vectors({**TABLE, "x3": [1.0, 1.0]}), items(x=("x1", "x2", "x3")))
    score = found.score("effect_size", test="t")
    # s is 1, .2, 0 and -1, -.2: means .4 and -.6, squares 2.08 about a mean of 0, over four.
    assert score.value == pytest.approx(1.0 / math.sqrt(2.08 / 4))
    # The observed split of five words in three and two is the best of ten.
    assert score.p_value == pytest.approx(1 / 10)


def test_the_published_tests_need_consent(data_dir):
    with pytest.raises(LicenceNotAccepted, match=r"W4ngatang/sent-bias is under CC-BY-NC-4\.0"):
        PUBLISHED.load(DataFolder(data_dir))


def test_the_published_tests_are_read_whole(data_dir):
    loaded = PUBLISHED.load(DataFolder(data_dir, accepted=ACCEPTED))
    tests = {i.by["test"] for i in loaded.items}
    assert len(tests) == len(seat_files.PUBLISHED) == 46
    assert {"sent-weat6", "weat10", "sent-angry_black_woman_stereotype"} <= tests
    words = {
        test: {(i.meta["side"], i.meta["word"]) for i in loaded.items if i.by["test"] == test}
        for test in tests
    }
    # Sentences of one word are one target, whatever its number; those files have as many words.
    for stem in ("weat6", "weat6b", "weat7", "weat8", "weat3"):
        assert len(words[f"sent-{stem}"]) == len(words[stem])
    assert {w for side, w in words["sent-weat6b"] if side == "y"} == {
        *("femal", "woman", "girl", "sister", "she", "her", "hers", "daughter")
    }
    assert loaded.info.licence == "CC-BY-NC-4.0"
    assert loaded.info.local


@pytest.mark.parametrize(
    ("configuration", "accepted", "stems", "target"),
    [
        (IMPLICIT, ACCEPTED["seat"], [f.path for f in seat_files.IMPLICIT], "service dog"),
        (RELIGION, "no clear licence", [f.path for f in seat_files.RELIGION], "This is a cross."),
    ],
    ids=["implicit", "religion"],
)
def test_further_published_tests(data_dir, configuration, accepted, stems, target):
    with pytest.raises(LicenceNotAccepted):
        configuration.load(DataFolder(data_dir, accepted={"seat": "another"}))
    loaded = configuration.load(DataFolder(data_dir, accepted={"seat": accepted}))
    assert {i.by["test"] for i in loaded.items} == {Path(s).stem for s in stems}
    assert target in {i.texts["target"] for i in loaded.items}
    assert configuration.only_named
    assert loaded.info.licence == accepted


def test_the_tests_of_religions_are_never_fetched(tmp_path):
    accepted = {"seat": "CC-BY-NC-4.0, no clear licence"}
    with pytest.raises(DataMissing, match="never fetched"):
        RELIGION.load(DataFolder(tmp_path, accepted=accepted))


@pytest.mark.parametrize(
    "file",
    [*seat_files.PUBLISHED, *seat_files.IMPLICIT, *seat_files.RELIGION],
    ids=lambda f: f.path,
)
def test_the_pinned_files_are_those_of_the_copy(data_dir, file):
    assert hashlib.sha256((data_dir / file.path).read_bytes()).hexdigest() == file.sha256


def test_one_missing_file_is_named(tmp_path):
    with pytest.raises(DataMissing, match=r"angry_black_woman_stereotype\.jsonl is not in"):
        PUBLISHED.load(DataFolder(tmp_path, offline=True, accepted=ACCEPTED))


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", json.dumps({"targ1": {"examples": ["a"]}}), '{"targ1": 5}', "\x00"],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, content):
    path = tmp_path / seat_files.PUBLISHED[0].path
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"is no association test: it needs targ1, targ2, attr1"):
        PUBLISHED.load(DataFolder(tmp_path, offline=True, accepted=ACCEPTED))
