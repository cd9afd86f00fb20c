"""Tables of answers that a user wrote: CSV and JSON lines, by the names of their columns."""

import difflib
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.data.answer_logs.cells import (
    KINDS,
    LOG_LIKELIHOOD,
    PROBABILITY,
    listed,
    number,
    numbers,
    table,
    text,
    whole,
)
from pytest_bias.data.answer_logs.files import LogFile
from pytest_bias.data.answer_logs.log import AnswerLog, LoggedAnswer
from pytest_bias.data.answer_logs.notices import one_of, places
from pytest_bias.data.tables import check_header, csv_lines, unlike
from pytest_bias.errors import DataError, UnknownName
from pytest_bias.untrusted import clean

ITEM: Final = ("item", "id", "sample_id")
ANSWER: Final = ("answer", "response", "completion", "output")
FINISHED: Final = ("finished", "finish_reason")
TEXTS: Final = ("text", "sentence", "prompt", "input", "context", "question")
ONCE: Final = ("sample", "options", "values", "kind", "model", "task", "tokens")
NESTED: Final = {"loglik": LOG_LIKELIHOOD, "prob": PROBABILITY}
"""Columns with an object of numbers, and beginnings of columns with one of them."""

LETTERED: Final = {"option_": tuple(map(str, range(1, 27))), "": tuple(string.ascii_uppercase)}
"""Beginnings of columns with one option each, with what follows: ``option_1`` or ``A``."""

KNOWN: Final = (*ITEM, *TEXTS, "options", *ANSWER, *FINISHED, *ONCE[:1], *ONCE[2:], *NESTED)
SHOWN: Final = (
    "item (or id, sample_id), text, sentence, prompt, input, context, question, options "
    "(or option_1, option_2, …, or A, B, …), answer (or response, completion, output), "
    "sample, finished, loglik_ROLE, tokens_ROLE, prob_LABEL, values with kind, model, task"
)


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a table are: names of columns by what they hold."""

    one: Mapping[str, str]
    texts: tuple[str, ...]
    options: tuple[str, ...]
    values: tuple[tuple[str, str, str], ...]
    """Column, kind and name of each number."""
    tokens: tuple[tuple[str, str], ...]
    """Column and name of each number of tokens."""
    unknown: tuple[str, ...]

    @property
    def answers(self) -> bool:
        """Whether there can be an answer in a row."""
        return bool(self.values) or bool({"answer", "values", *NESTED} & self.one.keys())


def columns_of(names: Iterable[str], at: str) -> Columns:
    """Return what columns with these names hold.

    Raises
    ------
    DataError
        If two columns say the same.
    """
    names = list(names)
    one: dict[str, str] = {}
    for role, aliases in (("item", ITEM), ("answer", ANSWER), ("finished", FINISHED)):
        there = [name for name in aliases if name in names]
        if len(there) > 1:
            raise DataError(
                f"{at} has {' and '.join(there)}, which all mean {role}; keep one of them."
            )
        if there:
            one[role] = there[0]
    one |= {name: name for name in (*ONCE, *NESTED) if name in names}
    texts = tuple(name for name in TEXTS if name in names)
    options = _options(names, at, "options" in one)
    values = tuple(
        (name, kind, name.removeprefix(f"{start}_"))
        for name in names
        for start, kind in NESTED.items()
        if name.startswith(f"{start}_") and len(name) > len(start) + 1
    )
    tokens = tuple((n, n.removeprefix("tokens_")) for n in names if n.startswith("tokens_"))
    used = {*one.values(), *texts, *options, *(name for name, *_ in (*values, *tokens))}
    return Columns(one, texts, options, values, tokens, tuple(n for n in names if n not in used))


def _options(names: Sequence[str], at: str, listed_too: bool) -> tuple[str, ...]:
    found = []
    for start, ends in LETTERED.items():
        # One column named A is a column of the user's, not a question with one option.
        there = [f"{start}{end}" in names for end in ends]
        n = there.index(False) if False in there else len(there)
        if n > 1:
            found.append(tuple(f"{start}{end}" for end in ends[:n]))
            if True in there[n:]:
                missing = f"{start}{ends[n]}"
                last = f"{start}{ends[len(there) - 1 - there[::-1].index(True)]}"
                raise DataError(f"{at} has options up to {last}, but no {missing}.")
    if len(found) + listed_too > 1:
        raise DataError(f"{at} has its options in two ways; keep one of them.")
    return found[0] if found else ()


def nearest(name: str) -> str:
    """Return a name of a column that is not known, with the nearest that is."""
    shown = clean(name, 40)
    near = difflib.get_close_matches(name.lower(), KNOWN, n=1, cutoff=0.6)
    return f"{shown} (did you mean {near[0]}?)" if near else shown


def read_csv(file: LogFile) -> AnswerLog:
    """Read a table of answers whose first row names its columns.

    Cells are separated by commas, in a file ``*.tsv`` by tabs. An empty cell of the column
    ``answer`` is an empty answer; another empty cell says nothing.
    """
    tabs = file.path.suffix.lower() == ".tsv"
    rows = csv_lines(file.name, file.lines(), delimiter="\t" if tabs else ",")
    _, header = next(rows, (0, []))
    check_header(file.name, header, ())
    if len(header) == 1 and (other := next((c for c in ";\t|" if c in header[0]), None)):
        is_tab = other == "\t"
        raise DataError(
            f"{file.name} seems to separate its cells by {'a tab' if is_tab else repr(other)}; "
            f"{'tabs are read in files named .tsv' if is_tab else 'write commas'}."
        )
    columns = columns_of(header, file.name)
    _check_answers(columns, file.name, header)
    keep = columns.one.get("answer")

    def cells() -> Iterator[tuple[str, Columns, dict[str, Any]]]:
        for line, row in rows:
            if problem := unlike(header, row, line):
                raise DataError(f"{file.name}, {problem}.")
            given = {n: c for n, c in zip(header, row, strict=True) if c or n == keep}
            yield file.at(line), columns, given

    return _log(file, "csv", cells())


def read_jsonl(file: LogFile) -> AnswerLog:
    """Read one JSON object per line, with the keys of a table's columns."""
    known: dict[tuple[str, ...], Columns] = {}

    def rows() -> Iterator[tuple[str, Columns, dict[str, Any]]]:
        for at, row in file.objects():
            keys = tuple(row)
            if keys not in known:
                known[keys] = columns_of(keys, at)
                if len(known) == 1:
                    _check_answers(known[keys], at, keys)
            yield at, known[keys], row

    return _log(file, "jsonl", rows())


def _check_answers(columns: Columns, at: str, names: Sequence[str]) -> None:
    """Raise `DataError` if a table has no answers, or does not say to what."""
    what = None
    if not columns.answers:
        what = "answers"
    elif "item" not in columns.one and not columns.texts:
        what = "items or texts"
    if what:
        there = ", ".join(nearest(n) if n in columns.unknown else clean(n, 40) for n in names)
        raise DataError(
            f"{at} has no column of {what}; it has {there}.",
            f"Columns that are read: {SHOWN}.",
        )


@dataclass
class _Seen:
    """What the rows so far have said of the whole file."""

    models: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    unknown: dict[str, None] = field(default_factory=dict)


def _log(
    file: LogFile, form: str, rows: Iterable[tuple[str, Columns, Mapping[str, Any]]]
) -> AnswerLog:
    seen = _Seen()
    answers = [
        answer
        for at, columns, row in rows
        if (answer := _answer(at, columns, row, seen)) is not None
    ]
    if not answers:
        raise DataError(f"{file.name} has no answer in any row.")
    notices = []
    if seen.unknown:
        notices.append(f"{file.name}: not read: {', '.join(map(nearest, seen.unknown))}.")
    if seen.empty:
        notices.append(f"{file.name}: {len(seen.empty)} without an answer: {places(seen.empty)}.")
    return AnswerLog(
        form,
        tuple(answers),
        {file.name: file.sha256},
        model=one_of(file.name, "model", seen.models),
        task=", ".join(seen.tasks) or None,
        notices=tuple(notices),
    )


def _answer(at: str, columns: Columns, row: Mapping[str, Any], seen: _Seen) -> LoggedAnswer | None:
    one, get = columns.one, row.get
    if columns.unknown:
        seen.unknown |= dict.fromkeys(columns.unknown)
    given: dict[str, Any] = {
        role: text(row[name], name, at)
        for role in ("item", "answer", "finished", "model", "task", "kind")
        if (name := one.get(role)) and name in row
    }
    for role, found in (("model", seen.models), ("task", seen.tasks)):
        if given.get(role):
            found.setdefault(given[role], at)
    values, kind = _values(at, columns, row, given.get("kind"))
    answer = given.get("answer")
    if answer is None and not values:
        seen.empty.append(at)
        return None
    texts = tuple(t for c in columns.texts if (t := text(get(c), c, at)))
    if not texts and not given.get("item"):
        raise DataError(f"{at} names no item and no text.")
    if "options" in one and get("options") is not None:
        options = listed(row["options"], "options", at)
    else:
        options = tuple(t for c in columns.options if (t := text(get(c), c, at)))
    sample = get("sample") if "sample" in one else None
    return LoggedAnswer(
        at,
        given.get("item") or None,
        texts,
        options,
        answer,
        values,
        kind,
        given.get("finished") or None,
        0 if sample is None else whole(sample, "sample", at),
        _tokens(at, columns, row),
    )


def _tokens(at: str, columns: Columns, row: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of tokens of a row, by what `values` are named."""
    found = {name: row[c] for c, name in columns.tokens if row.get(c) is not None}
    if "tokens" in columns.one and row.get("tokens") is not None:
        found |= table(row["tokens"], "tokens", at)
    return {name: whole(n, f"tokens.{clean(name, 40)}", at) for name, n in found.items()}


def _values(
    at: str, columns: Columns, row: Mapping[str, Any], kind: str | None
) -> tuple[dict[str, float], str]:
    """Return the numbers of a row, by role or label, and their kind; empty if there are none."""
    found: dict[str, dict[str, float]] = {}
    for column, of_kind, name in columns.values:
        if (value := row.get(column)) is not None:
            found.setdefault(of_kind, {})[name] = number(value, of_kind, column, at)
    for column, of_kind in NESTED.items():
        if column in columns.one and row.get(column) is not None:
            found.setdefault(of_kind, {}).update(numbers(row[column], of_kind, column, at))
    if "values" in columns.one and row.get("values") is not None:
        if not kind:
            raise DataError(f"{at} has values, but no kind: {' or '.join(KINDS)}.")
        if kind not in KINDS:
            raise UnknownName.among(f"{at}: kind", clean(kind, 40), KINDS)
        found.setdefault(kind, {}).update(numbers(row["values"], kind, "values", at))
    found = {of_kind: values for of_kind, values in found.items() if values}
    if len(found) > 1:
        raise DataError(f"{at} has log-likelihoods and probabilities; give one of them.")
    return next(((values, k) for k, values in found.items()), ({}, ""))
