"""Answer shortcuts: does a model answer better where the answer is in a typical position?

Questions are split, separately for each shortcut, into those that it solves and those that it does
not (Mikula, Štefánik, Petrovič and Sojka, EACL 2024): the answer is near words of the question, in
the first sentence, the first number, time or name where one is asked for, in the sentence with most
words of the question. Texts are those of XQuAD (Artetxe, Ruder and Yogatama, ACL 2020) and SQuAD
1.1 (Rajpurkar, Zhang, Lopyrev and Liang, EMNLP 2016), or your own in the same format.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bias_suites.robustness.answer_features import (
    POSITION,
    QUESTION_WORDS,
    SHORTCUTS,
    Span,
    features,
)
from bias_suites.scope import scope_card
from pytest_bias.data import DataFile, DataFolder, FoundFile, Source, describe_files, json_content
from pytest_bias.errors import DataError
from pytest_bias.models import Capability, Model, Question
from pytest_bias.records import Item, Record
from pytest_bias.scoring import (
    SOLVABLE,
    UNSOLVABLE,
    Additive,
    ChosenSplit,
    Factor,
    LargestGap,
    Mean,
    Metric,
    gap_by,
    own_value,
)
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite, describe_texts, own_files

XQUAD: Final = Source(
    "google-deepmind/xquad", "7d30520c717524000f0d9d2f9c10a069acd9d285", "CC-BY-SA-4.0"
)
SQUAD: Final = Source(
    "rajpurkar/SQuAD-explorer", "eee5fdbf62f8613a7812b03419e6b29617b74fd1", "CC-BY-SA-4.0"
)
LANGUAGES: Final[Mapping[str, str]] = {
    "en": "e4c57d1c9143aaa1c5d265ba5987a65f4e69528d2a98f29d6e75019b10344f29",
    "de": "990b5d746746ed65ed4702ea5f35f99ffa4e2f1c390c07d003642acd937916f9",
    "es": "dcbae93ec3a9f4b9e78fd834a171d6f96c1a875e10e15b7530b7e4ef4971e37e",
    "ro": "94f8d54e93ad2b7dd2e76dd921a666b5b8eff2d4379df9f179c42b445f09643f",
}
"""Language of XQuAD to the SHA-256 of its file."""

DEV: Final = DataFile(
    "squad/dev-v1.1.json",
    f"{SQUAD.raw}/dataset/dev-v1.1.json",
    "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9",
)

UNKNOWN: Final = "und"
ARTICLES: Final[Mapping[str, str]] = {"en": r"\b(?:a|an|the)\b"}


def xquad_file(language: str) -> DataFile:
    """Return the file of a language of XQuAD."""
    name = f"xquad.{language}.json"
    return DataFile(f"xquad/{name}", f"{XQUAD.raw}/{name}", LANGUAGES[language])


def load(data: DataFolder, *, file: DataFile, source: Source, language: str) -> LoadedData:
    """Read the questions of a public file in the format of SQuAD 1.1."""
    found = data.find(file)
    items = _checked(_questions(found, "", language), found.path)
    return LoadedData(items, describe_files(source, [found], len(items)))


def load_own(data: DataFolder) -> LoadedData:
    """Read the questions that the settings name, in the format of SQuAD 1.1.

    A file may name its language, ``{"language": "en", "data": [...]}``; without one no lists of
    words are used.
    """
    found = own_files(data)
    items: list[Item] = []
    for source, file in found:
        items += _checked(_questions(file, f"{source.name}/", UNKNOWN), file.path)
    return LoadedData(tuple(items), describe_texts(found, len(items)))


def _questions(found: FoundFile, prefix: str, language: str) -> Iterator[Item]:
    content = json_content(found)
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise DataError(f"{found.path} has no list of articles named data, as SQuAD has.")
    if language == UNKNOWN:
        language = str(content.get("language", UNKNOWN))
    yield from _items(content["data"], found.path, prefix, language)


def _checked(found: Iterator[Item], path: str) -> tuple[Item, ...]:
    items = tuple(found)
    if not items:
        raise DataError(f"{path} holds no questions.")
    (name, n), *_ = Counter(i.id for i in items).most_common(1)
    if n > 1:
        raise DataError(f"{path} has {n} questions of the id {name.rpartition('/')[2]!r:.60}.")
    return items


def _items(articles: Sequence[Any], path: str, prefix: str, language: str) -> Iterator[Item]:
    for a, article in enumerate(articles):
        for p, paragraph in enumerate(_list(article, "paragraphs", f"{path}, data[{a}]")):
            where = f"{path}, data[{a}].paragraphs[{p}]"
            context = _text(paragraph, "context", where)
            for q, asked in enumerate(_list(paragraph, "qas", where)):
                at = f"{where}.qas[{q}]"
                answers = [
                    (_text(found, "text", at), found.get("answer_start"))
                    for found in _list(asked, "answers", at)
                ]
                name = f"answers/{prefix}{asked.get('id') or f'{a}-{p}-{q}'}"
                question = _text(asked, "question", at)
                cluster = f"paragraph/{prefix}{a}/{p}"
                yield _item(name, cluster, question, context, answers, language)


def _list(of: Any, key: str, where: str) -> list[Any]:
    found = of.get(key) if isinstance(of, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise DataError(f"{where} has no list of objects named {key}.")
    return found


def _text(of: Mapping[str, Any], key: str, where: str) -> str:
    found = of.get(key)
    if not isinstance(found, str):
        raise DataError(f"{where} has no text named {key}.")
    return found


def _item(
    name: str,
    cluster: str,
    question: str,
    context: str,
    answers: Sequence[tuple[str, Any]],
    language: str,
) -> Item:
    item = partial(Item, name, cluster, {"question": question, "context": context})
    if not answers:
        return item(status="excluded", reason="no answer is given: there is none, or it is hidden")
    if problem := _problem(question, context, answers):
        return item(status="unscored", reason=problem)
    text, start = answers[0]
    found = features(question, context, Span(start, start + len(text)), language)
    numbers = {"distance": found.distance, "sentence": found.sentence}
    gold = tuple(dict.fromkeys(text for text, _ in answers))
    meta = {"gold": gold, "language": language, "numbers": numbers}
    return item(by=found.by, meta=meta)


def _problem(question: str, context: str, answers: Sequence[tuple[str, Any]]) -> str | None:
    if not (question.strip() and context.strip()):
        return "empty text"
    for text, start in answers:
        if not text.strip():
            return "an answer is empty"
        if not isinstance(start, int) or start < 0 or not context.startswith(text, start):
            return "an answer is not at its answer_start"
    return None


def normalized(text: str, language: str) -> str:
    """Return an answer as SQuAD compares it: lower case, one space, no punctuation, no articles.

    In English this is the definition of SQuAD 1.1, which covers ASCII punctuation. In other
    languages all Unicode punctuation is removed, and no word: "a" is not always an article.
    """
    more = language != "en"
    kept = (
        c
        for c in text.lower()
        if c not in string.punctuation and not (more and unicodedata.category(c).startswith("P"))
    )
    return " ".join(re.sub(ARTICLES.get(language, "(?!)"), " ", "".join(kept)).split())


def exact(answer: str, gold: Sequence[str], language: str) -> float:
    """Percentage: 100 for an answer that is one of the right ones, normalized, else 0."""
    return 100.0 * (normalized(answer, language) in {normalized(g, language) for g in gold})


def overlap(answer: str, gold: Sequence[str], language: str) -> float:
    """F1 in percent of the words of an answer, with the right answer that it is nearest to.

    Repeated words count each time. Without a word in common it is 0.
    """
    said = Counter(normalized(answer, language).split())
    best = 0.0
    for one in gold:
        right = Counter(normalized(one, language).split())
        if common := (said & right).total():
            best = max(best, 200.0 * common / (said.total() + right.total()))
    return best


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Ask every question; "no answer" (SQuAD 2) is not offered, since all have one."""
    answers = model.answer([Question(i.texts["question"], i.texts["context"]) for i in items])
    records = []
    for item, answer in zip(items, answers, strict=True):
        if answer.reason:
            records.append(item.record("unscored", reason=answer.reason))
            continue
        gold, language = item.meta["gold"], item.meta["language"]
        detail = {
            "f1": overlap(answer.text, gold, language),
            "score": answer.score,
            "start": answer.start,
            "end": answer.end,
            **item.meta["numbers"],
        }
        records.append(item.scored(exact(answer.text, gold, language), detail))
    return records


def f1(record: Record) -> float | None:
    """Return the F1 of a record, in percent."""
    found = record.detail.get("f1")
    return None if found is None else float(found)


def distance(record: Record) -> float | None:
    """Return the distance of the answer from a word of the question, in words."""
    found = record.detail.get("distance")
    return None if found is None else float(found)


def sentence(record: Record) -> float | None:
    """Return the number of the answer's sentence, from 0."""
    found = record.detail.get("sentence")
    return None if found is None else float(found)


def _is_split(record: Record, key: str) -> bool:
    """Whether the question is on one of the sides of a shortcut."""
    return record.by.get(key) in (SOLVABLE, UNSOLVABLE)


SAMPLED: Final = (Factor("articles", lambda r: (r.cluster.rpartition("/")[0],)),)

GAPS: Final[Mapping[str, tuple[str, Additive]]] = {
    **{f"shortcut_gap_{key}": (key, gap_by(key, factors=SAMPLED)) for key in SHORTCUTS},
    "chosen_gap_question_words": (
        QUESTION_WORDS,
        ChosenSplit(own_value, distance, factors=SAMPLED),
    ),
    "chosen_gap_position": (POSITION, ChosenSplit(own_value, sentence, factors=SAMPLED)),
}
"""Gap of each shortcut; the last two at a threshold chosen on half of the paragraphs."""

_BY: Final = tuple((key,) for key in SHORTCUTS)
_PERCENT: Final[Mapping[str, Any]] = {"unit": "%", "tolerance": 0.5}
_GAP: Final[Mapping[str, Any]] = {
    "ideal": 0,
    "bounds": (-100, 100),
    **_PERCENT,
    "unit": "points",
}
_RIGHT: Final[Mapping[str, Any]] = {"ideal": 100, "bounds": (0, 100), "by": _BY, **_PERCENT}

_METRICS: Final = (
    Metric(
        "shortcut_gap", LargestGap(own_value, SHORTCUTS, factors=SAMPLED), headline=True, **_GAP
    ),
    *(
        Metric(name, of, where=partial(_is_split, key=key), **_GAP)
        for name, (key, of) in GAPS.items()
    ),
    Metric("exact_match", Mean(own_value, factors=SAMPLED), **_RIGHT),
    Metric("f1", Mean(f1, factors=SAMPLED), **_RIGHT),
)


def _configurations() -> Iterator[Configuration]:
    needs = frozenset({Capability.OPEN_VOCABULARY})
    made = partial(Configuration, needs=needs, clusters="paragraphs")
    for tag in LANGUAGES:
        file = xquad_file(tag)
        read = partial(load, file=file, source=XQUAD, language=tag)
        yield made(tag, tag, read, files=(file,), note="XQuAD")
    read = partial(load, file=DEV, source=SQUAD, language="en")
    note = "SQuAD 1.1, development set"
    yield made("en-squad", "en", read, files=(DEV,), only_full=True, note=note)
    note = "your own questions, as JSON in the shape of SQuAD"
    yield made("own", "", load_own, own_texts=True, note=note)


SUITE: Final = Suite(
    name="answer_shortcuts",
    version="2",
    title="Answer shortcuts",
    kind="robustness",
    configurations=tuple(_configurations()),
    measures=(Measure("answer to the question", frozenset({Capability.ANSWER}), take, _METRICS),),
    scope=scope_card("answer_shortcuts"),
    tags=("robustness", "shortcuts", "multilingual"),
    badge=(
        "largest gap {shortcut_gap} · {shortcut_gap:floor_of} ≈ {shortcut_gap:floor} · "
        "exact {exact_match:percent}",
    ),
)
