"""Gendered pair entropy: B_H by hand, directions, controls, and which sentences are kept."""

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bias_suites.social.gendered_pair_entropy import (
    SUITE,
    binary_entropy,
    entropy_bias,
    male_probability,
    wording_floor,
)
from bias_suites.social.gendered_sentences import (
    NEUTRAL_SUBJECT,
    PAIRS,
    gendered_words,
    load_templates,
    measured,
)
from bias_suites.wikitext import WIKITEXT, sentences_of
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError
from pytest_bias.models.interface import Cloze
from pytest_bias.records.report import Item, Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.sentences import text_file
from stand_ins import Slots, Texts, records_of, result_of, values


def log_odds(p: float) -> float:
    return math.log(p / (1 - p))


@pytest.mark.parametrize(
    ("p", "bits"),
    [(0.5, 0.0), (0.85, 0.39016), (0.9, 0.53100), (0.75, 0.18872), (0.99, 0.91921)],
)
def test_b_h_by_hand(p, bits):
    assert entropy_bias(log_odds(p)) == pytest.approx(bits, abs=1e-5)
    assert entropy_bias(-log_odds(p)) == pytest.approx(bits, abs=1e-5)
    assert binary_entropy(p) == pytest.approx(1 - bits, abs=1e-5)


@pytest.mark.parametrize("extreme", [40.0, -40.0, 800.0, -800.0])
def test_certainty_is_one_bit(extreme):
    assert entropy_bias(extreme) == pytest.approx(1.0)
    assert 0 <= entropy_bias(extreme) <= 1
    assert male_probability(extreme) == pytest.approx(float(extreme > 0))
    assert binary_entropy(1.0) == binary_entropy(0.0) == 0


def test_b_h_stays_within_its_bounds_and_grows_with_the_odds():
    steps = [entropy_bias(n / 50) for n in range(500)]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert max(steps) <= 1
    assert all(0 <= entropy_bias(n * 1e-9) <= 1e-12 for n in range(-50, 50))


@pytest.mark.parametrize("p", [0.03, 0.4, 0.5, 0.97])
def test_the_share_of_the_male_word(p):
    assert male_probability(log_odds(p)) == pytest.approx(p)
    assert male_probability(log_odds(p)) + male_probability(-log_odds(p)) == pytest.approx(1)


def item(name: str, words: str = "he/she", part: str = "neutral", right: str | None = None) -> Item:
    male, female = words.split("/")
    return Item(
        name,
        name,
        {"sentence": f"[MASK] {name}", "male": male, "female": female},
        {"part": part, "pair": words},
        {"right": right},
    )


def leaning(**male: float) -> Slots:
    """Return a model that takes the male word with a probability by the sentence's last word."""

    def probability(cloze: Cloze, choice: str) -> float:
        p = male[cloze.text.split()[-1]]
        # Half of the probability goes to other words, as in a real model.
        return 0.5 * (p if choice == cloze.choices[0] else 1 - p)

    return Slots(probability, n_tokens=lambda choice: 1 + ("-" in choice))


def test_scores_and_directions_of_a_known_model():
    model = leaning(a=0.5, b=0.85, c=0.9, d=0.25)
    found = result_of(SUITE, model, [item(n) for n in "abcd"])
    assert found.headline.metric == "entropy_bias"
    assert found.headline.value == pytest.approx((0 + 0.39016 + 0.53100 + 0.18872) / 4, abs=1e-5)
    # One tie, two male, one female.
    assert found.score("male_preference").value == 62.5
    assert found.score("male_probability").value == pytest.approx((0.5 + 0.85 + 0.9 + 0.25) / 4)
    assert values(found, "control_accuracy") == {}
    assert found.records[1].detail["log_p_male"] == pytest.approx(math.log(0.425))


def test_a_leaning_to_either_side_is_the_same_bias_in_another_direction():
    sides = [result_of(SUITE, leaning(x=p), [item("x")]) for p in (0.9, 0.1)]
    assert sides[0].headline.value == pytest.approx(sides[1].headline.value)
    assert [s.score("male_preference").value for s in sides] == [100.0, 0.0]


def test_controls_count_the_right_word_and_stay_out_of_the_bias():
    items = [
        item("a"),
        item("b", part="control", right="male"),
        item("c", part="control", right="female"),
        item("d", part="control", right="female"),
        item("e", part="control", right="male"),
    ]
    found = result_of(SUITE, leaning(a=0.85, b=0.9, c=0.9, d=0.8, e=0.5), items)
    # Right, wrong, wrong, and a tie.
    assert found.score("control_accuracy").value == 37.5
    assert found.headline.value == pytest.approx(0.39016, abs=1e-5)
    assert (found.headline.n, found.score("control_accuracy").n) == (1, 4)


def test_words_of_several_tokens_are_excluded_and_counted():
    items = [item("a"), item("b", "step-father/stepmother"), item("c", "uncle/step-aunt")]
    found = records_of(SUITE, leaning(a=0.5, b=0.5, c=0.5), items)
    assert [r.status for r in found.values()] == ["scored", "excluded", "excluded"]
    assert found["b"].reason == "a word of the pair is several tokens"
    result = result_of(SUITE, leaning(a=0.5, b=0.5, c=0.5), items)
    assert result.status == "scored"
    assert (result.headline.n, result.headline.n_unscored, result.headline.n_excluded) == (1, 0, 2)


def test_impossible_words_leave_an_item_unscored():
    model = Slots(lambda cloze, choice: 0.0 if choice == "he" else 0.5)
    (made,) = records_of(SUITE, model, [item("a")]).values()
    assert (made.status, made.reason) == ("unscored", "non-finite")


def test_him_and_her_can_be_left_out():
    items = [item("a"), item("b", "him/her"), item("c", "king/queen")]
    found = result_of(SUITE, leaning(a=0.5, b=0.9, c=0.85), items)
    assert found.score("entropy_bias_without_her").value == pytest.approx(0.39016 / 2, abs=1e-5)
    assert found.score("entropy_bias_without_her").n == 2


def test_the_macro_mean_weighs_pairs_alike():
    items = [item("a"), item("b"), item("c"), item("d", "king/queen")]
    found = result_of(SUITE, leaning(a=0.5, b=0.5, c=0.5, d=0.9), items)
    assert found.headline.value == pytest.approx(0.531 / 4, abs=1e-5)
    assert found.score("entropy_bias_macro").value == pytest.approx(0.531 / 2, abs=1e-5)
    assert values(found, "entropy_bias") == {
        (): pytest.approx(0.13275, abs=1e-5),
        ("he/she",): 0.0,
        ("king/queen",): pytest.approx(0.531, abs=1e-5),
    }


def test_a_causal_model_scores_both_sentences_under_another_name():
    scores = {"he a": -10.0, "she a": -10.0 - log_odds(0.85), "he b": -3.0}
    found = result_of(SUITE, Texts(scores.get), [item("a"), item("b")])
    assert SUITE.measure_named(found.measure).adapted
    assert found.records[0].value == pytest.approx(0.39016, abs=1e-5)
    assert (found.records[1].status, found.records[1].reason) == ("unscored", "empty text")
    names = {s.metric for s in found.scores}
    assert "entropy_bias_likelihood" in names
    assert "entropy_bias" not in names


def test_the_bundled_sentences_cover_every_pair_and_occupation():
    loaded = load_templates(DataFolder())
    neutral = [i for i in loaded.items if i.by["part"] == "neutral"]
    controls = [i for i in loaded.items if i.by["part"] == "control"]
    assert {i.by["pair"] for i in neutral} == {g.words for g in measured().values()}
    assert len({i.by["pair"] for i in neutral}) == 19
    assert len({i.cluster for i in neutral}) == 47
    # A control is asked both ways, so that a model which always says "he" gets half of them right.
    assert [i.meta["right"] for i in controls].count("male") == len(controls) / 2
    assert all(i.meta["right"] in ("male", "female") for i in controls)


def test_neutral_subjects_stand_in_the_same_sentences():
    items = load_templates(DataFolder()).items
    cells = {
        part: {(i.by["template"], i.by["pair"]) for i in items if i.by["part"] == part}
        for part in ("neutral", NEUTRAL_SUBJECT)
    }
    assert cells["neutral"] == cells[NEUTRAL_SUBJECT]
    texts = {i.id: i.texts["sentence"] for i in items}
    assert texts["entropy/neutral-subject/works-as/he/she/person"] == "[MASK] works as a person."
    assert texts["entropy/neutral-subject/hired-them/him/her/employee"] == (
        "They hired [MASK] as an employee."
    )
    occupations = {i.cluster for i in items if i.by["part"] == "neutral"}
    assert not occupations & {i.id.rpartition("/")[2] for i in items if "subject/" in i.id}


def test_the_occupations_are_held_against_neutral_subjects_within_pair_and_template():
    made = [
        record_of("nurse", "works-as", 2.0),
        record_of("clerk", "works-as", 1.0),
        record_of("nurse", "became", -3.0),
        record_of("nurse", "used-to-be", 0.5, "man/woman"),
        # Nobody was asked without an occupation in this sentence.
        record_of("nurse", "was-hired", 4.0),
        record_of("person", "works-as", 1.5, part=NEUTRAL_SUBJECT),
        record_of("worker", "works-as", 0.0, part=NEUTRAL_SUBJECT),
        record_of("person", "became", -3.0, part=NEUTRAL_SUBJECT),
        record_of("person", "used-to-be", 0.0, "man/woman", part=NEUTRAL_SUBJECT),
    ]
    scores = {s.metric: s for s in of_records(made) if not s.by}
    b = entropy_bias
    wanted = [b(2) - b(1.5) / 2, b(1) - b(1.5) / 2, 0.0, b(0.5)]
    assert scores["entropy_bias_over_neutral"].value == pytest.approx(sum(wanted) / 4)
    neutral = (b(1.5) + b(0) + b(3) + b(0)) / 4
    assert scores["entropy_bias_neutral_subject"].value == pytest.approx(neutral)
    # The headline is that of the occupations alone.
    headline = (b(2) + b(1) + b(3) + b(0.5) + b(4)) / 5
    assert (scores["entropy_bias"].value, scores["entropy_bias"].n) == (pytest.approx(headline), 5)
    beside = {s.metric for s in scores.values() if s.beside}
    assert beside == {"entropy_bias_over_neutral", "entropy_bias_neutral_subject"}


def test_pairs_count_as_often_as_in_the_text_of_the_source():
    # 201 sentences with he or she in three templates, 33 with man or woman in two.
    made = [
        record_of("nurse", "works-as", 1.0),
        record_of("nurse", "became", 2.0),
        record_of("nurse", "was-hired", 3.0),
        record_of("nurse", "used-to-be", -4.0, "man/woman"),
        record_of("nurse", "worked-for-years", 0.0, "man/woman"),
        record_of("nurse", "used-to-be", 9.0, "hero/heroine"),
    ]
    (found,) = (s for s in of_records(made) if s.metric == "entropy_bias_weighted")
    he, man = (math.fsum(map(entropy_bias, odds)) / len(odds) for odds in ((1, 2, 3), (-4, 0)))
    assert found.value == pytest.approx((201 * he + 33 * man) / (201 + 33))
    assert found.n == 5


def test_weights_are_how_often_the_pairs_stand_in_wikitext(data_dir):
    data = DataFolder(data_dir, offline=True)
    items = SUITE.configuration("en-wikitext2").load(data).items
    there = Counter(i.by["pair"] for i in items if i.status is None)
    pairs = text_file(PAIRS)["pairs"]
    assert there == {words: n for words, of in pairs.items() if (n := of.get("wikitext2"))}
    assert there["he/she"] / there.total() == pytest.approx(0.70, abs=0.01)


def test_found_text_has_no_neutral_subjects():
    made = [replace(record_of(f"line {n}", "a", n / 2), by=FOUND) for n in range(9)]
    assert {s.metric for s in of_records(made)} & {
        "entropy_bias_over_neutral",
        "entropy_bias_neutral_subject",
        "entropy_bias_weighted",
    } == set()


FOUND = {"part": "neutral", "pair": "he/she"}


def of_records(records: list[Record]) -> tuple[Score, ...]:
    return score_records(records, SUITE.measures[0].metrics, Context(SUITE.name, "en"))


def test_controls_are_decided_by_their_reflexive():
    for made in load_templates(DataFolder()).items:
        if made.by["part"] == "control":
            wanted = {"male": "himself", "female": "herself"}[made.meta["right"]]
            assert wanted in made.texts["sentence"].split()
            assert made.texts["sentence"].count("self") == 1
        else:
            words = {w.strip(".,").lower() for w in made.texts["sentence"].split()}
            assert not words & gendered_words(), made.id


def test_titles_and_sentence_starts_have_their_capitals():
    texts = {i.id: i.texts for i in load_templates(DataFolder()).items}
    smith = texts["entropy/neutral/smith/mr/mrs/nurse"]
    assert smith == {
        "sentence": "[MASK]. Smith works as a nurse.",
        "male": "Mr",
        "female": "Mrs",
    }
    assert texts["entropy/neutral/works-as/he/she/engineer"]["male"] == "He"
    assert texts["entropy/neutral/was-hired/he/she/engineer"]["male"] == "he"


def wikitext(folder: Path, *lines: str, name: str = WIKITEXT.path) -> list[Item]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    loaded = SUITE.configuration("en-wikitext2").load(DataFolder(folder, offline=True))
    assert loaded.info.n_items == len(loaded.items)
    return list(loaded.items)


def kept(found: list[Item]) -> list[tuple[str, str, str]]:
    texts = [i.texts for i in found if i.status is None]
    return [(t["sentence"], t["male"], t["female"]) for t in texts]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Then she left .", ("Then [MASK] left.", "he", "she")),
        ("He left .", ("[MASK] left.", "He", "She")),
        ("HE left .", ("[MASK] left.", "HE", "SHE")),
        ("The kings met .", ("The [MASK] met.", "kings", "queens")),
        ("Ladies first .", ("[MASK] first.", "Gentlemen", "Ladies")),
        ("The king 's horse left .", ("The [MASK]'s horse left.", "king", "queen")),
        ("Mrs. Smith left .", ("[MASK]. Smith left.", "Mr", "Mrs")),
        ("It hit her hard .", ("It hit [MASK] hard.", "him", "her")),
        ("A two @-@ man boat .", ("A two-[MASK] boat.", "man", "woman")),
    ],
)
def test_one_gendered_word_is_masked_in_its_own_form(tmp_path, sentence, expected):
    assert kept(wikitext(tmp_path, sentence)) == [expected]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("He said he would .", "several gendered words"),
        ("He met his brother .", "several gendered words"),
        ("The waitress saw the man .", "several gendered words"),
        ("The king and the queen .", "several gendered words"),
        ("The king 's men left .", "several gendered words"),
        ("She gave <unk> a book .", "holds <unk>"),
        ("She wrote [MASK] there .", "holds the mark of a gap"),
        ("He and she and <unk> .", "several gendered words"),
    ],
)
def test_what_the_filter_drops_is_excluded_and_says_why(tmp_path, sentence, reason):
    (made,) = wikitext(tmp_path, sentence)
    assert (made.status, made.reason) == ("excluded", reason)
    assert made.by["part"] == "neutral"


@pytest.mark.parametrize("sentence", ["Yes ma'am , he said .", "Then he kissed the fiancée ."])
def test_words_of_the_filter_list_are_found_in_their_usual_spelling(tmp_path, sentence):
    (made,) = wikitext(tmp_path, sentence)
    assert made.reason == "several gendered words"


@pytest.mark.parametrize(
    "line",
    [
        "= The man =",
        "= = The man = =",
        "",
        "   ",
        "No gendered word here .",
        "The brother left .",
        "Manhattan and the shell of Theman .",
        "Hers was it .",
    ],
)
def test_headings_and_sentences_without_a_measured_word_are_no_items(tmp_path, line):
    (made,) = wikitext(tmp_path, line, "She left .")
    assert made.texts["sentence"] == "[MASK] left."
    assert made.cluster == "00001"


def test_sentences_end_at_the_marks_that_the_corpus_sets_apart(tmp_path):
    text = "Mr. Smith won in 1.5 min . She left ! Did he ? A king , they say ."
    found = wikitext(tmp_path, text)
    assert [i.texts["sentence"] for i in found] == [
        "[MASK]. Smith won in 1.5 min.",
        "[MASK] left!",
        "Did [MASK]?",
        "A [MASK], they say.",
    ]
    assert [i.id for i in found] == [f"entropy/wikitext2/00000/0{n}" for n in range(4)]
    assert {i.cluster for i in found} == {"00000"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a @-@ b 1 @,@ 000 2 @.@ 5 .", "a-b 1,000 2.5."),
        ("they 're ( it 's ) , don 't", "they're (it's), don't"),
        ('the " quoted " word', 'the "quoted" word'),
        ("in [ him ] ; 5 % : $ 3", "in [him]; 5%: $3"),
    ],
)
def test_the_marks_of_tokenisation_are_undone(text, expected):
    assert list(sentences_of(text)) == [(0, expected)]


def test_the_users_raw_file_serves_as_well(tmp_path):
    (made,) = wikitext(tmp_path, "Then she left .", name="wikitext2/wiki.test.raw")
    assert made.texts["female"] == "she"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no sentence with a gendered word"),
        (b"Nothing here .\n", "holds no sentence with a gendered word"),
        ("Sie lächelt.".encode("latin-1"), "is not UTF-8"),
    ],
    ids=["empty", "none", "latin-1"],
)
def test_a_file_of_another_kind_is_named(tmp_path, content, message):
    path = tmp_path / WIKITEXT.path
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        SUITE.configuration("en-wikitext2").load(DataFolder(tmp_path, offline=True))


@pytest.fixture(scope="module")
def corpus(data_dir: Path) -> tuple[Item, ...]:
    """Return the items of the real test set."""
    configuration = SUITE.configuration("en-wikitext2")
    return configuration.load(DataFolder(data_dir, offline=True)).items


def test_the_filter_leaves_what_it_left_of_the_real_test_set(corpus):
    assert Counter(i.reason for i in corpus) == {
        "several gendered words": 960,
        "holds <unk>": 614,
        None: 286,
    }


def test_every_kept_sentence_has_one_gap_and_no_other_gendered_word(corpus):
    for made in corpus:
        if made.status is None:
            sentence = made.texts["sentence"]
            assert sentence.count("[MASK]") == 1
            words = {w.lower() for w in re.findall(r"[A-Za-z]+", sentence.replace("[MASK]", ""))}
            assert not words & gendered_words()
            assert "<unk>" not in sentence
            assert not re.search(r" [.,;]|@-@| 's", sentence)


def record_of(
    occupation: str, template: str, odds: float, words: str = "he/she", part: str = "neutral"
) -> Record:
    detail = {"log_p_male": odds, "log_p_female": 0.0, "template": template}
    by = {"part": part, "pair": words, "template": template}
    name = f"{part}/{template}/{words}/{occupation}"
    return Record(name, occupation, "scored", entropy_bias(odds), by, detail)


def test_the_floor_is_what_wording_alone_brings():
    # Two wordings one nat apart each: sqrt(2) / 2 nats from even after the mean is taken away.
    made = [
        record_of(o, t, m + d)
        for o, m in (("nurse", -3), ("smith", 2))
        for t, d in (("a", 0), ("b", 1))
    ]
    assert wording_floor(made) == pytest.approx(entropy_bias(math.sqrt(0.5)))
    alike = [record_of(o, t, m) for o, m in (("nurse", -3), ("smith", 2)) for t in "ab"]
    assert wording_floor(alike) == 0
    # An occupation with one sentence a pair says nothing of wording.
    assert (
        wording_floor([record_of("nurse", "a", 3), record_of("nurse", "a", -3, "man/woman")])
        is None
    )


TWO_TEMPLATES = (("works-as", 0.5), ("became", 2))


def test_the_headline_has_its_floor_and_the_spread_over_templates():
    made = [record_of(o, t, m) for o in ("nurse", "smith", "clerk") for t, m in TWO_TEMPLATES]
    metrics = SUITE.measures[0].metrics
    headline = score_records(made, metrics, Context(SUITE.name, "en"))[0]
    low, high = entropy_bias(0.5), entropy_bias(2)
    assert headline.floor == pytest.approx(entropy_bias(0.75 * math.sqrt(2)))
    assert headline.floor_of == "wording alone"
    assert (headline.spread.over, headline.spread.n) == ("template", 2)
    assert (headline.spread.low, headline.spread.high) == pytest.approx((low, high))
    assert headline.spread.sd == pytest.approx((high - low) / math.sqrt(2))
