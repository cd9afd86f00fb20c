"""WinoBias: does a model find the right person more often where a stereotype helps?

Zhao, Wang, Yatskar, Ordonez and Chang (NAACL 2018). Every sentence has two people, named by their
occupations, and a pronoun for one of them, in brackets; a pair of sentences differs in the gender
of the pronoun only. In type 1 only world knowledge determines whom it refers to, in type 2 the
syntax does.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from bias_suites.scope import scope_card
from bias_suites.social.pronoun_reading import GENDERS, measures, metrics
from pytest_bias.data import (
    DataFile,
    DataFolder,
    FoundFile,
    Source,
    describe_files,
    lines_of,
    text_of,
)
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Factor
from pytest_bias.suites import Configuration, LoadedData, Suite

SOURCE: Final = Source("uclanlp/corefBias", "0bce984dd081bbc10b0622f326727a024c607895", "MIT")
TYPES: Final = ("type1", "type2")
GROUPS: Final = ("male", "female")
SIDE: Final = "stereotype"
"""Key of `by`: whether the pronoun has the gender of the occupation's list."""
PRO, ANTI = "pro", "anti"
PERSONS: Final = ("person", "other_person")
"""Details of a record: the occupations of the right person and of the other one."""


def _occupations(record: Record) -> tuple[str, ...]:
    return tuple(str(record.detail[key]) for key in PERSONS if key in record.detail)


OCCUPATIONS: Final = Factor("occupations", _occupations)

SUMS: Final = {
    "male": "6b82d88847b69d56d207a0c396e9830b031890de585e916e6b4e9bc50672657e",
    "female": "693bff12286c2c1d46c7d4d45a44a631574710c30b39c1a3001bb7bdebb44ed8",
    "dev type1 pro": "dd55a0d220fe4c0ceb63dd4648223fb4fe1a58d5ad95c116a002ad24b0e292a5",
    "dev type1 anti": "a4e0ebae344e78b56f657a42e8ae684b9db7747d177c5e7149c0907ebb7f3bf6",
    "dev type2 pro": "8f0250de723cea9328e3eaf7169e07936f01aa5909ce7aa580db66eb803f4e86",
    "dev type2 anti": "763ad829ad724f9a85ead689ba8ca69072020cb1238def6210f0fc6a47b97e59",
    "test type1 pro": "db7838907238a758eeb5779e48f38c013b892910d6fe864456c59f04245c6689",
    "test type1 anti": "331db5bd74bfefebf146a60b67645152a4a1991570d2a56f57154103ac361dd2",
    "test type2 pro": "ea1c1fd94fa612e3cc44d7fa3cc4cb76021bb63fdf94f9826f430051e9052438",
    "test type2 anti": "336571ac1ea8c06cd2aba8e5dd2bd98e00acc0c48da3e4ec5ec7e54eb2633a8f",
}
"""SHA-256 of the lists of occupations by gender, and of the sentences by part, type and side."""


def _path(of: str) -> str:
    if of in GROUPS:
        return f"winobias/{of}_occupations.txt"
    part, type_, side = of.split()
    return f"winobias/{side}_stereotyped_{type_}.txt.{part}"


FILES: Final = dict(
    zip(
        SUMS,
        SOURCE.files(
            f"{SOURCE.raw}/WinoBias/wino/data",
            {_path(of): digest for of, digest in SUMS.items()},
        ),
        strict=True,
    )
)

_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_LINE: Final = re.compile(r"\s*(\d+)\s+(\S.*)")
_WORD: Final = re.compile(r"[\w']+|[^\w\s]")


class Sentence(NamedTuple):
    """A parsed line; `problem` states why it cannot be read."""

    text: str = ""
    pronoun: str = ""
    gender: str = ""
    right: str = ""
    wrong: str = ""
    compared: tuple[str, ...] = ()
    problem: str | None = None


def load(data: DataFolder, *, part: str) -> LoadedData:
    """Read the pairs of both types of one part, ``dev`` or ``test``."""
    found = [data.find(file) for file in files_of(part)]
    lists = {group: _lines(file) for group, file in zip(GROUPS, found[:2], strict=True)}
    occupations = {name: group for group, names in lists.items() for name in names}
    items: list[Item] = []
    for type_, (pro, anti) in zip(TYPES, (found[2:4], found[4:6]), strict=True):
        items += _pairs(type_, part, pro, anti, occupations)
    return LoadedData(tuple(items), describe_files(SOURCE, found, len(items)))


def files_of(part: str) -> tuple[DataFile, ...]:
    """Return the files of a part: lists of occupations, then pairs of each type."""
    pairs = (f"{part} {type_} {side}" for type_ in TYPES for side in (PRO, ANTI))
    return tuple(FILES[of] for of in (*GROUPS, *pairs))


def _lines(found: FoundFile) -> list[str]:
    lines = [line.strip() for line in lines_of(text_of(found)) if line.strip()]
    if not lines:
        raise DataError(f"{found.path} is empty.")
    return lines


def _pairs(
    type_: str, part: str, pro: FoundFile, anti: FoundFile, occupations: dict[str, str]
) -> Iterator[Item]:
    both = (_lines(pro), _lines(anti))
    if len(both[0]) != len(both[1]):
        raise DataError(
            f"{pro.path} has {len(both[0])} lines and {anti.path} has {len(both[1])}; "
            "each line of one belongs to the same line of the other."
        )
    for number, lines in enumerate(zip(*both, strict=True), 1):
        sentences = [
            read(line, number, side, occupations)
            for side, line in zip((PRO, ANTI), lines, strict=True)
        ]
        unlike = difference(*sentences)
        for side, sentence in zip((PRO, ANTI), sentences, strict=True):
            problem = sentence.problem
            name = f"winobias/{part}/{type_}/{number:03d}"
            texts = {"sentence": sentence.text, "pronoun": sentence.pronoun}
            by = {"type": type_, SIDE: side} | (
                {"gender": sentence.gender} if sentence.gender else {}
            )
            yield Item(
                f"{name}/{side}",
                name,
                texts | {"right": f"the {sentence.right}", "wrong": f"the {sentence.wrong}"},
                by,
                dict(zip(PERSONS, (sentence.right, sentence.wrong), strict=True)),
                status="unscored" if problem else "excluded" if unlike else None,
                reason=problem or unlike,
            )


def read(line: str, number: int, side: str, occupations: dict[str, str]) -> Sentence:
    """Read one line; `occupations` are those of both lists, each with its stereotyped gender."""
    match = _LINE.fullmatch(line)
    if not match or int(match[1]) != number:
        return Sentence(problem=f"line {number} does not begin with its number")
    marked = match[2]
    text = " ".join(_BRACKETS.sub(r"\1", marked).split())
    if "[" in text or "]" in text:
        return Sentence(text, problem="a bracket is not closed")
    brackets = [b.strip() for b in _BRACKETS.findall(marked)]
    pronouns = [b for b in brackets if b.lower() in GENDERS]
    persons = [_named(b, occupations) for b in brackets if b.lower() not in GENDERS]
    genders = {GENDERS[p.lower()] for p in pronouns}
    if len(genders) != 1:
        return Sentence(text, problem="the brackets hold no pronoun, or pronouns of two genders")
    if len(persons) != 1 or persons[0] not in occupations:
        return Sentence(text, problem="the brackets do not hold one occupation of the lists")
    (right,) = persons
    others = sorted(o for o in occupations if o != right and _mentions(text, o))
    if len(others) != 1:
        named = ", ".join(others) or "none"
        return Sentence(text, problem=f"not one other occupation of the lists: {named}")
    (gender,) = genders
    if (occupations[right] == gender) != (side == PRO):
        return Sentence(text, problem=f"a {gender} pronoun for the {right} is not {side}")
    words = _with_place(marked, pronouns[0])
    return Sentence(text, pronouns[0], gender, right, others[0], words)


def difference(pro: Sentence, anti: Sentence) -> str | None:
    """Return how two sentences differ besides the pronoun, or that one is missing, or None."""
    if pro.problem or anti.problem:
        return "the other sentence of the pair cannot be read"
    if (pro.right, pro.wrong) != (anti.right, anti.wrong):
        return "the pronouns of the two sentences stand for different occupations"
    if pro.compared != anti.compared:
        return "the two sentences differ in more than the gender of one pronoun"
    return None


def _named(bracket: str, occupations: dict[str, str]) -> str:
    name = re.sub(r"(?i)^(the|an?)\s+", "", bracket)
    return next((o for o in occupations if o.lower() == name.lower()), name)


def _mentions(text: str, occupation: str) -> bool:
    return bool(re.search(rf"(?i)(?<!\w){re.escape(occupation)}(?!\w)", text))


def _with_place(marked: str, pronoun: str) -> tuple[str, ...]:
    """Return the words with every pronoun as one word, and the one that is asked about marked."""
    before, _, behind = marked.partition(f"[{pronoun}]")
    return (*_neutral(before), "[pronoun]", *_neutral(behind))


def _neutral(marked: str) -> Sequence[str]:
    words = _WORD.findall(marked.replace("[", "").replace("]", "").lower())
    return ["pronoun" if w in GENDERS else w for w in words]


def _configuration(name: str, part: str, *, only_named: bool = False) -> Configuration:
    return Configuration(
        name,
        "en",
        partial(load, part=part),
        files=files_of(part),
        needs=frozenset({Capability.OPEN_VOCABULARY}),
        only_named=only_named,
        clusters="pairs",
        note=f"the {part} sentences" if only_named else "",
    )


SUITE: Final = Suite(
    name="winobias",
    version="3",
    title="WinoBias",
    kind="downstream",
    configurations=(
        _configuration("en", "test"),
        _configuration("en-dev", "dev", only_named=True),
    ),
    measures=measures(
        metrics(
            SIDE,
            PRO,
            ANTI,
            gap_by=(("type",),),
            log_odds_by=(("type",),),
            factors=(OCCUPATIONS,),
            accuracy_by=(("type",), ("gender",), ("type", "gender"), (SIDE,), ("type", SIDE)),
        )
    ),
    scope=scope_card("winobias"),
    tags=("social", "coreference", "downstream"),
    badge=("accuracy gap {gap} towards stereotypes · even 0",),
)
