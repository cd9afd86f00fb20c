"""Answer shortcuts: features, exact match and F1 by hand, gaps, and files that are none."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bias_suites.robustness.answer_features import (
    NEAR,
    NO_TYPE,
    NO_WORD,
    ONE_SENTENCE,
    Features,
    Span,
    asked_type,
    content_words,
    entities,
    features,
    sentences,
)
from bias_suites.robustness.answer_shortcuts import LANGUAGES, SUITE, exact, normalized, overlap
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.models.interface import Answer, Capability, Model, Question
from pytest_bias.records.report import Item, ModelIdentity
from stand_ins import UNREADABLE, records_of, result_of

TEXT = (
    "Ada Byron met Charles Babbage in 1833. She was 17. Years later, in 1843, Ada wrote notes "
    "about the engine of Mr. Babbage."
)


def of(question: str, answer: str, context: str = TEXT, language: str = "en") -> Features:
    start = context.index(answer)
    return features(question, context, Span(start, start + len(answer)), language)


def parts(text: str) -> list[str]:
    return [text[a:b] for a, b in sentences(text)]


def named(question: str, context: str = TEXT, language: str = "en") -> list[str]:
    wanted = asked_type(question, language)
    assert wanted is not None
    return [context[a:b] for a, b in entities(context, wanted, language, question)]


# Features


def test_sentences() -> None:
    assert parts("One. Two! Three? Four") == ["One. ", "Two! ", "Three? ", "Four"]
    # No sentence ends before a small letter, behind an initial or inside a number.
    assert len(parts("It is e.g. this. J. K. Rowling paid 3.50 pounds.")) == 2
    assert parts('He said "Stop." Then he left.') == ['He said "Stop." ', "Then he left."]
    assert parts("") == []


def test_an_abbreviation_before_a_name() -> None:
    assert len(parts(TEXT)) == 3
    assert len(parts("The U.S. Army met St. Peter.")) == 1
    assert parts("He met Prof. Babbage.") == ["He met Prof. ", "Babbage."]


def test_words_with_a_content() -> None:
    found = content_words("When did the 2 engines of Ada Byron stop?", "en")
    assert found == {"2", "engines", "byron", "stop"}
    assert content_words("Welche Maschine wurde gebaut?", "de") == {"maschine", "gebaut"}
    # Of a language without a list only the length counts.
    assert content_words("Which engine?", "und") == {"which", "engine"}


def test_the_distance_is_counted_in_words() -> None:
    assert of("When did Byron meet Charles?", "1833").distance == 3
    assert of("Whom did Byron meet?", "Charles Babbage").distance == 2
    # Words of the question inside the answer are not counted.
    assert of("Which Charles was it?", "Charles Babbage").distance is None
    assert of("When were the notes about?", "1843").distance == 3
    assert of("What is it?", "1833").distance is None


def test_the_sentence_of_the_answer() -> None:
    assert [of("?", a).sentence for a in ("1833", "17", "1843")] == [0, 1, 2]
    assert of("?", "1833").n_sentences == 3


def test_the_sentence_with_most_words_of_the_question() -> None:
    asked = "When did Byron meet Charles Babbage?"
    assert of(asked, "1833").highest
    assert not of(asked, "1843").highest
    # Babbage stands in two sentences: the first of them counts.
    assert not of("Who was Babbage?", "engine").highest
    assert not of("What?", "1833").highest


def test_what_a_question_asks_for() -> None:
    asked = {
        "How many engines?": "number",
        "When was it?": "time",
        "In what year was it?": "time",
        "Who wrote it?": "name",
        "What is it?": None,
        # The word that comes first counts.
        "Who said when it was?": "name",
    }
    assert {q: asked_type(q, "en") for q in asked} == asked
    assert asked_type("Wie viele Noten?", "de") == "number"
    assert asked_type("Wer war das?", "de") is None
    assert asked_type("¿Quién fue?", "es") == "name"
    assert asked_type("Câți ani avea?", "ro") == "number"
    assert asked_type("Who?", "und") is None


def test_entities() -> None:
    assert named("When was it?") == ["1833", "1843"]
    assert named("How old was she?") == ["17"]
    # A single word at the beginning of a sentence is no name; "Ada" in the question is no answer.
    assert named("Who met Ada Byron?") == ["Charles Babbage", "Mr. Babbage"]
    assert named("Who was it?") == ["Ada Byron", "Charles Babbage", "Ada", "Mr. Babbage"]
    assert named("When?", "In May 2010, 3,000 of 1,950 came; in 12345.", "en") == ["May", "2010"]
    assert named("¿Cuándo?", "El 3 de mayo de 1810.", "es") == ["mayo", "1810"]


def test_the_first_entity() -> None:
    assert of("When did they meet?", "in 1833").first
    assert of("When did she write?", "1843").first is False
    assert of("What did she write?", "notes").first is None
    assert of("When?", "later", "He came later.").first is False


def test_sides() -> None:
    found = Features(NEAR, 0, 3, highest=False, first=True).by
    assert found == {
        "question_words": "solvable",
        "position": "solvable",
        "entity": "solvable",
        "overlap": "unsolvable",
    }
    far = Features(NEAR + 1, 1, 3, highest=True, first=False).by
    assert list(far.values()) == ["unsolvable", "unsolvable", "unsolvable", "solvable"]
    neither = Features(None, 0, 1, highest=True, first=None).by
    assert list(neither.values()) == [NO_WORD, ONE_SENTENCE, NO_TYPE, ONE_SENTENCE]


# Exact match and F1, as SQuAD 1.1 defines them


def test_normalized() -> None:
    assert normalized("  The  Engine, a notable thing!", "en") == "engine notable thing"
    assert normalized("theatre", "en") == "theatre"
    # ASCII punctuation alone in English, as in the script of SQuAD.
    assert normalized("“an engine” – U.S.A.", "en") == "“ engine” – usa"
    assert normalized("„die Maschine“, 3,5", "de") == "die maschine 35"
    assert normalized("a Madrid, ¿no?", "es") == "a madrid no"


def test_exact_match_by_hand() -> None:
    assert exact("the Engine.", ["engine"], "en") == 100
    assert exact("the Engine.", ["machine", "Engine"], "en") == 100
    assert exact("engines", ["engine"], "en") == 0
    assert exact("la máquina", ["máquina"], "es") == 0


def test_f1_by_hand() -> None:
    # Two of two words said, two of three that are right: 2 * 1 * (2/3) / (1 + 2/3).
    assert overlap("Denver Broncos", ["the Denver Broncos team"], "en") == pytest.approx(80)
    # A word that is said twice and is right once counts once.
    assert overlap("so so", ["so"], "en") == pytest.approx(200 / 3)
    assert overlap("so", ["not", "so it is"], "en") == pytest.approx(50)
    assert overlap("nothing", ["else"], "en") == 0
    assert overlap("the", ["a"], "en") == 0


# The suite


class Answering(Model):
    """A model that answers by a function of question and context; null means it cannot read."""

    def __init__(self, answer: Callable[[str, str], str | None]) -> None:
        identity = ModelIdentity("answering", "question-answering", "Answering")
        super().__init__(identity, frozenset({Capability.ANSWER}))
        self.of = answer

    def answer(self, questions: Sequence[Question], *, max_answer_tokens: int = 30) -> list[Answer]:
        return [self._one(q) for q in questions]

    def _one(self, question: Question) -> Answer:
        said = self.of(*question)
        if said is None:
            return Answer("", 0, 0, 0.0, None, UNREADABLE)
        start = question.context.index(said)
        return Answer(said, start, start + len(said), -0.5, None)


def asked(question: str, *answers: str, context: str = TEXT, id: str = "") -> dict[str, Any]:
    found = [{"text": a, "answer_start": context.find(a)} for a in answers]
    return {"id": id or question, "question": question, "answers": found}


def paragraph(*qas: dict[str, Any], context: str = TEXT) -> dict[str, Any]:
    return {"context": context, "qas": list(qas)}


def squad(*paragraphs: dict[str, Any]) -> dict[str, Any]:
    return {"version": "1.1", "data": [{"title": "t", "paragraphs": list(paragraphs)}]}


def write(folder: Path, content: Any, name: str = "xquad/xquad.en.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def loaded(folder: Path, configuration: str = "en") -> tuple[Item, ...]:
    return SUITE.configuration(configuration).load(DataFolder(folder, offline=True)).items


def many(n: int) -> dict[str, Any]:
    """Return paragraphs of two questions: one with its answer in the first sentence, one not."""
    made = []
    for k in range(n):
        context = (
            f"Ada Byron met Charles Babbage in {1800 + k}. Much later, by {1900 + k}, it ended."
        )
        made.append(
            paragraph(
                asked("When did Byron meet Charles?", f"{1800 + k}", context=context, id=f"{k}a"),
                asked("When was it over?", f"{1900 + k}", context=context, id=f"{k}b"),
                context=context,
            )
        )
    return squad(*made)


@pytest.mark.all_draws
def test_a_model_that_leans_on_the_position(tmp_path: Path) -> None:
    items = loaded(write(tmp_path, many(30)))
    found = result_of(SUITE, Answering(lambda q, c: c[33:37]), items)
    assert found.headline is not None
    assert (found.headline.value, found.headline.n, found.headline.n_clusters) == (100.0, 60, 30)
    assert found.headline.note == "largest for position"
    assert found.headline.p_value == 0.001
    assert found.score("shortcut_gap_position").value == 100
    assert found.score("exact_match").value == 50
    assert found.score("exact_match", position="solvable").value == 100
    assert found.score("exact_match", position="unsolvable").value == 0


def test_a_model_that_reads_has_no_gap(tmp_path: Path) -> None:
    items = loaded(write(tmp_path, many(30)))
    read = Answering(lambda q, c: c[33:37] if "meet" in q else c.partition("by ")[2][:4])
    found = result_of(SUITE, read, items)
    assert found.headline is not None
    assert (found.headline.value, found.score("exact_match").value) == (0, 100)
    assert found.score("shortcut_gap_position").value == 0
    assert found.score("shortcut_gap_overlap").value == 0


def test_a_record(tmp_path: Path) -> None:
    content = squad(paragraph(asked("When did Byron meet Charles?", "1833", "in 1833", id="x")))
    items = loaded(write(tmp_path, content))
    (record,) = records_of(SUITE, Answering(lambda q, c: "in 1833"), items).values()
    assert (record.item, record.cluster, record.value) == ("answers/x", "paragraph/0/0", 100)
    assert record.detail == {
        "f1": 100,
        "score": -0.5,
        "start": 30,
        "end": 37,
        "distance": 3,
        "sentence": 0,
    }
    (record,) = records_of(SUITE, Answering(lambda q, c: "met Charles Babbage"), items).values()
    assert (record.value, record.detail["f1"]) == (0, 0)


def test_a_question_that_cannot_be_read_is_not_wrong(tmp_path: Path) -> None:
    items = loaded(write(tmp_path, many(4)))
    found = result_of(SUITE, Answering(lambda q, c: None if "over" in q else c[33:37]), items)
    assert found.status == "inconclusive"
    assert found.headline is not None
    assert found.headline.value is None
    assert found.score("exact_match", position="solvable").value == 100
    assert found.score("exact_match", position="unsolvable").value is None


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"answers": []}, "excluded", "no answer is given: there is none, or it is hidden"),
        ({"answers": [{"text": " ", "answer_start": 3}]}, "unscored", "an answer is empty"),
        (
            {"answers": [{"text": "1833", "answer_start": 34}]},
            "unscored",
            "an answer is not at its answer_start",
        ),
        (
            {"answers": [{"text": "1833", "answer_start": -5}]},
            "unscored",
            "an answer is not at its answer_start",
        ),
        (
            {"answers": [{"text": "1833", "answer_start": None}]},
            "unscored",
            "an answer is not at its answer_start",
        ),
        ({"question": "  "}, "unscored", "empty text"),
    ],
)
def test_a_malformed_question(
    change: dict[str, Any], status: str, reason: str, tmp_path: Path
) -> None:
    content = squad(paragraph(asked("When did Byron meet Charles?", "1833") | change))
    (item,) = loaded(write(tmp_path, content))
    assert (item.status, item.reason) == (status, reason)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ([], "has no list of articles named data"),
        ({"data": {}}, "has no list of articles named data"),
        ({"data": []}, "holds no questions"),
        ({"data": [{"paragraphs": []}]}, "holds no questions"),
        ({"data": ["one"]}, r"data\[0\] has no list of objects named paragraphs"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, r"paragraphs\[0\] has no text named context"),
        (
            squad({"context": "c", "qas": ["q"]}),
            r"paragraphs\[0\] has no list of objects named qas",
        ),
        (squad(paragraph({"question": "q"})), r"qas\[0\] has no list of objects named answers"),
        (squad(paragraph({"answers": []})), r"qas\[0\] has no text named question"),
        (
            squad(paragraph({"question": "q", "answers": [{"answer_start": 3}]})),
            r"qas\[0\] has no text named text",
        ),
        (
            squad(paragraph(asked("q", "1833", id="x"), asked("r", "1833", id="x"))),
            "2 questions of the id 'x'",
        ),
    ],
)
def test_a_file_that_is_none(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        loaded(write(tmp_path, content))


def test_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"xquad\.en\.json"):
        loaded(tmp_path)
    with pytest.raises(DataMissing, match="there is no"):
        own(tmp_path / "none.json")


def own(*paths: Path) -> tuple[Item, ...]:
    """Read questions that the settings name, by the names of their files."""
    texts = {"answer_shortcuts": {path.stem: {"path": str(path)} for path in paths}}
    data = DataFolder(offline=True, texts=texts).of("answer_shortcuts")
    return SUITE.configuration("own").load(data).items


def test_questions_of_your_own(tmp_path: Path) -> None:
    content = many(2)

    def written(name: str) -> Path:
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        return tmp_path / name

    items = own(written("mine.json"))
    assert {i.by["entity"] for i in items} == {NO_TYPE}
    assert {i.meta["language"] for i in items} == {"und"}
    content["language"] = "en"
    items = own(written("mine.json"))
    assert {i.by["entity"] for i in items} == {"solvable", "unsolvable"}
    assert SUITE.configuration("own").own_texts
    del content["data"][0]["paragraphs"][0]["qas"][0]["id"]
    both = own(written("mine.json"), written("yours.json"))
    assert len({i.id for i in both}) == len(both) == 2 * len(items)
    assert both[0].id == "answers/mine/0-0-0"
    assert both[-1].cluster.startswith("paragraph/yours/")


# With the real files

SOLVABLE = {
    "en": {"question_words": 740, "position": 346, "entity": 116, "overlap": 879},
    "de": {"question_words": 623, "position": 328},
    "es": {"question_words": 663, "position": 347},
    "ro": {"question_words": 606, "position": 341},
}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_xquad(language: str, data_dir: Path) -> None:
    configuration = SUITE.configuration(language)
    found = configuration.load(DataFolder(data_dir, offline=True))
    assert found.info.sha256 == configuration.files[0].sha256
    assert len(found.items) == 1190
    assert len({i.cluster for i in found.items}) == 240
    assert {i.status for i in found.items} == {None}
    for key, n in SOLVABLE[language].items():
        assert Counter(i.by[key] for i in found.items)["solvable"] == n, key
    away = sorted(d for i in found.items if (d := i.meta["numbers"]["distance"]) is not None)
    assert away[len(away) // 2] == NEAR
    # Whoever says what is there is always right, in every language.
    for item in found.items:
        (gold,) = item.meta["gold"]
        assert exact(gold, (gold,), language) == overlap(gold, (gold,), language) == 100
