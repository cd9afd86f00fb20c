"""The rows of BBQ's family: one reader for each layout, giving the same kind of question."""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from bias_suites.social import bbq_rows
from bias_suites.social.bbq_rows import (
    ALIKE,
    ANSWERS,
    CONTEXTS,
    POLARITIES,
    UNKNOWN,
    are_alike,
)
from pytest_bias.data import FoundFile, Row, csv_rows, json_lines
from pytest_bias.records import Item

AGAINST: Final = "against the stereotype"
"""Context of CBBQ that tells the answer: it is never the stereotypical one."""

ORIGINS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("ST", "t"), "as in BBQ"),
    **dict.fromkeys(("TM", "m"), "other group than in BBQ"),
    **dict.fromkeys(("NC", "n"), "not in BBQ"),
}
"""How a template came about, as KoBBQ and EsBBQ write it."""

UNKNOWNS: Final = {"es": "No se puede saber", "ca": "No es pot saber"}
"""The unknown answer of EsBBQ and CaBBQ, whose rows only say ``unknown``: one of the wordings
that the authors' task for lm-evaluation-harness has."""

DISAGREE: Final = "its question_type is not what its groups say"
NO_TWIN: Final = "no question in a context that tells the answer shows whom the stereotype is about"
TWO_TWINS: Final = "the same question has different right answers in contexts that tell the answer"
_KNOWN: Final = frozenset({DISAGREE, NO_TWIN, TWO_TWINS, ALIKE})
"""Defects of the published data: such rows are excluded, while malformed ones are unscored."""

_SAMPLE: Final = re.compile(
    r"(?P<category>[^-/]+)-(?P<template>\d+)"
    r"(?P<row>[a-d]-\d+-(?P<context>amb|dis)-(?:bsd|cnt))"
)
KOBBQ_CONTEXTS: Final = {"amb": "ambiguous", "dis": "disambiguated"}
KOBBQ_UNKNOWN: Final = "알 수 없음"
KOBBQ_COLUMNS: Final = (
    "sample_id",
    "label_annotation",
    "context",
    "question",
    "choices",
    "biased_answer",
    "answer",
)
SPAIN_COLUMNS: Final = (
    "instance_id",
    "template_id",
    "template_label",
    "question_polarity",
    "context_condition",
    "category",
    "stereotyped_groups",
    *(f"answer_info.{key}" for key in ANSWERS),
    "context",
    "question",
    *ANSWERS,
    "question_type",
    "label",
)
CBBQ_COLUMNS: Final = (
    "example_id",
    "question_index",
    "question_polarity",
    "context_condition",
    "context",
    "question",
    *ANSWERS,
    "label",
)


class Asked(NamedTuple):
    """A question before its set is known: its item, and what names the template and the row."""

    item: Item
    category: str
    template: str
    row: str


Reader: TypeAlias = Callable[[str, Sequence[FoundFile]], Iterator[Asked]]
"""Maps a category and its files to its questions."""


def _item(
    texts: Sequence[Any],
    by: Mapping[str, str | None],
    roles: Mapping[str, int],
    problem: str | None,
) -> Item:
    """Return an item from its context, question and answers; the first problem is what counts."""
    said = [str(text or "").strip() for text in texts]
    if not problem and not all(said):
        problem = "a text is empty"
    elif not problem and are_alike(said[2:]):
        problem = ALIKE
    elif not problem and (roles["label"] == roles["unknown"]) != (by["context"] == "ambiguous"):
        problem = f"label does not name the right answer of a context that is {by['context']}"
    return Item(
        "",
        "",
        dict(zip(("context", "question", *ANSWERS), said, strict=True)),
        {key: group for key, group in by.items() if group},
        {} if problem else dict(roles),
        status=("excluded" if problem in _KNOWN else "unscored") if problem else None,
        reason=problem,
    )


def _listed(cell: str | None) -> list[str]:
    """Return the texts of a cell that is written as a list of Python; none if it is no such."""
    try:
        found = ast.literal_eval(cell or "")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return []
    is_list = isinstance(found, list) and all(isinstance(text, str) for text in found)
    return found if is_list else []


def _number(row: Row) -> int | None:
    """Return the number of the right answer; None if it is no number of an answer."""
    label = str(row["label"])
    return int(label) if label in ("0", "1", "2") else None


# KoBBQ


def read_kobbq(category: str, found: Sequence[FoundFile]) -> Iterator[Asked]:
    """Read KoBBQ, Jin et al. (TACL 2024): all categories in one file.

    In a context of version a or c the facts speak against the stereotype, in b or d for it; the
    question is biased or counter-biased.
    """
    rows = csv_rows(found[0], KOBBQ_COLUMNS, delimiter="\t", quoted=False)
    for number, row in enumerate(rows):
        sample = _SAMPLE.fullmatch(str(row["sample_id"]))
        choices = _listed(row["choices"])
        by = {
            "category": sample and sample["category"],
            "context": sample and KOBBQ_CONTEXTS[sample["context"]],
            "origin": ORIGINS.get(str(row["label_annotation"])),
        }
        named = {"label": row["answer"], "biased": row["biased_answer"], "unknown": KOBBQ_UNKNOWN}
        roles = {role: choices.index(t) for role, t in named.items() if t in choices}
        problem = None
        if not sample:
            problem = f"sample_id is {row['sample_id']!s:.40}"
        elif not by["origin"]:
            problem = f"label_annotation is {row['label_annotation']!s:.40}"
        elif len(choices) != len(ANSWERS):
            problem = "choices is no list of three texts"
        elif len(roles) < len(named) or roles["biased"] == roles["unknown"]:
            problem = "answer, biased_answer and the unknown answer are not all among the choices"
        answers = choices if len(choices) == len(ANSWERS) else [""] * len(ANSWERS)
        item = _item([row["context"], row["question"], *answers], by, roles, problem)
        if sample:
            yield Asked(item, sample["category"], sample["template"], sample["row"])
        else:
            yield Asked(item, category, "unknown", str(number))


# EsBBQ and CaBBQ


def read_spain(category: str, found: Sequence[FoundFile], *, language: str) -> Iterator[Asked]:
    """Read EsBBQ or CaBBQ, Ruiz-Fernández et al. (2025).

    Whom the stereotype is about is told by the last part of an answer's group, as in the authors'
    script ``bias_score.py``.
    """
    for row in csv_rows(found[0], SPAIN_COLUMNS):
        answers = [UNKNOWNS[language] if row[k] == UNKNOWN else row[k] for k in ANSWERS]
        groups = [_listed(row[f"answer_info.{key}"])[-1:] for key in ANSWERS]
        group = [own[0].rpartition(",")[2].strip() if own else "" for own in groups]
        unknown = [n for n, name in enumerate(group) if name == UNKNOWN]
        about = [n for n, name in enumerate(group) if name in _listed(row["stereotyped_groups"])]
        label = _number(row)
        by = {
            "category": category,
            "context": CONTEXTS.get(str(row["context_condition"])),
            "origin": ORIGINS.get(str(row["template_label"])),
        }
        roles: dict[str, int] = {}
        problem = _wrong(row, by["context"], label)
        if not problem and row["category"] != category:
            problem = f"category is {row['category']!s:.40}, not {category}"
        elif problem:
            pass
        elif len(unknown) != 1:
            problem = f"{len(unknown)} answers are of the group unknown, not one"
        elif len(about) != 1:
            problem = f"stereotyped_groups name {len(about)} of the two people, not one"
        else:
            assert label is not None
            others = [n for n in range(len(ANSWERS)) if n not in (*unknown, *about)]
            biased = (about if row["question_polarity"] == "neg" else others)[0]
            roles = {"label": label, "unknown": unknown[0], "biased": biased}
            told = {"pro-stereo": True, "anti-stereo": False}.get(str(row["question_type"]))
            if by["context"] == "disambiguated" and told != (label == biased):
                problem = DISAGREE
        item = _item([row["context"], row["question"], *answers], by, roles, problem)
        yield Asked(item, category, str(row["template_id"]), str(row["instance_id"]))


def _wrong(row: Row, context: str | None, label: int | None) -> str | None:
    """Return what is wrong with the columns that have few values."""
    if context is None:
        return f"context_condition is {row['context_condition']!s:.40}"
    if str(row["question_polarity"]).replace("_", "") not in POLARITIES:
        return f"question_polarity is {row['question_polarity']!s:.40}"
    return None if label is not None else f"label is {row['label']!s:.40}, not 0, 1 or 2"


# CBBQ


def read_cbbq(category: str, found: Sequence[FoundFile]) -> Iterator[Asked]:
    """Read CBBQ, Huang and Xiong (LREC-COLING 2024).

    Rows do not say which answer is of the stereotyped group. But every context that tells the
    answer contradicts the stereotype: the stereotypical answer is the other person there, and the
    same one where the same question of the template is asked without the facts.
    """
    ambiguous, told = (csv_rows(file, CBBQ_COLUMNS) for file in found)
    of_question: dict[tuple[str, ...], set[int]] = defaultdict(set)
    of_polarity: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for row in told:
        if (label := _number(row)) is not None:
            of_question[_key(row, "question")].add(label)
            of_polarity[_key(row, "question_polarity")].add(label)
    asked = {_key(row, "question_polarity") for row in ambiguous}
    for rows, context in ((ambiguous, "ambiguous"), (told, AGAINST)):
        for row in rows:
            # Where all ambiguous questions of a template are called negative, half of them are not.
            both = all((str(row["question_index"]), p) in asked for p in ("neg", "non_neg"))
            twins = of_question.get(_key(row, "question"), set()) or (
                of_polarity.get(_key(row, "question_polarity"), set()) if both else set()
            )
            label, roles = _number(row), dict[str, int]()
            named = row["context_condition"] == ("disambiguous" if context == AGAINST else context)
            problem = _wrong(row, context if named else None, label)
            if not problem and len(twins) != 1:
                problem = TWO_TWINS if twins else NO_TWIN
            elif not problem:
                assert label is not None
                roles = {"label": label, "unknown": 2, "biased": 1 - min(twins)}
                if roles["biased"] < 0:
                    problem = "label of a context that tells the answer is 2, the unknown one"
            by = {"category": category, "context": context}
            texts = [row[key] for key in ("context", "question", *ANSWERS)]
            item = _item(texts, by, roles, problem)
            kind = "dis" if context == AGAINST else "amb"
            yield Asked(item, category, str(row["question_index"]), f"{kind}-{row['example_id']}")


def _key(row: Row, column: str) -> tuple[str, str]:
    return str(row["question_index"]), str(row[column]).strip()


# MBBQ and JBBQ


def read_as_bbq(category: str, found: Sequence[FoundFile], *, control: str = "") -> Iterator[Asked]:
    """Read rows in the layout of BBQ: MBBQ, Neplenbroek et al. (COLM 2024), and JBBQ."""
    for row in json_lines(found[0], bbq_rows.COLUMNS):
        item = bbq_rows.item(category, row, "", "")
        if control:
            item = replace(item, by={**item.by, "control": control})
        yield Asked(item, category, str(row["question_index"]), str(row["example_id"]))
