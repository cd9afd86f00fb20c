"""Samples of lm-evaluation-harness (``--log_samples``: ``samples_TASK_DATE.jsonl``).

Log-likelihoods are natural, of a continuation given its context. Of an empty context nothing is
left but the beginning-of-sequence token, else the end-of-sequence token, which conditions the first
token as in `pytest_bias.models.Model.log_likelihood`. What the harness made of a text by its
filters is not read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pytest_bias.data.answer_logs.cells import LOG_LIKELIHOOD, number, text
from pytest_bias.data.answer_logs.files import LogFile, json_value
from pytest_bias.data.answer_logs.log import AnswerLog, LoggedAnswer
from pytest_bias.data.answer_logs.notices import shaped, texts_of
from pytest_bias.errors import DataError
from pytest_bias.untrusted import clean

TOOL: Final = "lm-evaluation-harness"
NAME: Final = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")
"""Names of the files; ``results_DATE.json`` beside one says which model and version it was."""

MOST_OF_RESULTS: Final = 1 << 26

Fields = Mapping[str, Any]


class Request(NamedTuple):
    """What the model was asked once: its context, and the continuation or how to generate."""

    context: str
    rest: Any
    responses: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Results:
    """What the results beside a file of samples say."""

    model: str | None = None
    version: str | None = None
    asked: int | None = None
    of: int | None = None


def is_samples(first: Fields) -> bool:
    """Whether a file begins with a sample of the harness."""
    return {"doc_id", "arguments", "resps"} <= first.keys()


def is_results(file: LogFile) -> bool:
    """Whether a file seems to hold the results of the harness, which have no answers."""
    return file.path.name.startswith("results") and b'"results"' in file.head[:100]


@dataclass
class _Seen:
    rows: set[Any] = field(default_factory=set)
    filters: dict[str, None] = field(default_factory=dict)


def read(file: LogFile) -> AnswerLog:
    """Read the samples of one task."""
    named = NAME.fullmatch(file.path.name)
    results = _results(file, named) if named else Results()
    seen = _Seen()
    answers: list[LoggedAnswer] = []
    for at, sample in file.objects(strict=False):
        with shaped(at, TOOL):
            # Each filter writes all samples once more; the model was asked once.
            seen.filters.setdefault(sample.get("filter", "none"))
            if sample.get("filter", "none") == next(iter(seen.filters)):
                seen.rows.add(sample["doc_id"])
                answers += _answers(at, sample)
    notices = []
    if results.model is None:
        notices.append(
            f"{file.name}: no results_*.json beside it says which model and version it was."
        )
    if results.asked and results.of and results.asked < results.of:
        notices.append(f"{file.name}: the task was limited to {results.asked} of {results.of}.")
    if len(seen.filters) > 1:
        shown = ", ".join(clean(name, 40) for name in seen.filters)
        notices.append(f"{file.name}: what the filters {shown} made of the answers is not read.")
    missing = results.asked and len(seen.rows) < results.asked
    return AnswerLog(
        "lm-eval",
        tuple(answers),
        {file.name: file.sha256},
        TOOL,
        results.version,
        results.model,
        named["task"] if named else None,
        tuple(notices),
        f"{file.name} has {len(seen.rows)} of the {results.asked} samples that the results count."
        if missing
        else None,
    )


def _results(file: LogFile, named: re.Match[str]) -> Results:
    path = file.path.with_name(f"results_{named['date']}.json")
    if not path.is_file() or path.stat().st_size > MOST_OF_RESULTS:
        return Results()
    at = clean(path.name)
    with shaped(at, TOOL):
        found = json_value(path.read_bytes(), at, strict=False)
        counts = (found.get("n-samples") or {}).get(named["task"]) or {}
        return Results(
            text(found.get("model_name"), "model_name", at),
            text(found.get("lm_eval_version"), "lm_eval_version", at),
            counts.get("effective"),
            counts.get("original"),
        )


def _answers(at: str, sample: Fields) -> list[LoggedAnswer]:
    doc = sample["doc"] if isinstance(sample["doc"], dict) else {}
    requests = _requests(at, sample)
    first = requests[0]
    # An "id" of the data set is none of ours: copies of a benchmark count in other ways.
    known = {"item": text(doc.get("item"), "item", at), "texts": texts_of(doc)}
    if isinstance(first.rest, str):
        return [_likelihoods(at, requests, known)]
    if first.rest is None:
        values = {first.context: _value(at, first)}
        return [_made(at, known, [first.context], values=values, kind=LOG_LIKELIHOOD)]
    said = [one for response in first.responses for one in _texts(response)]
    return [_made(at, known, [first.context], answer=one, sample=n) for n, one in enumerate(said)]


def _texts(response: Any) -> list[str]:
    """Return the texts of one request, which repeats may nest."""
    if isinstance(response, list):
        return [part for one in response for part in _texts(one)]
    if not isinstance(response, str):
        raise TypeError("a response is no text")
    return [response]


def _requests(at: str, sample: Fields) -> list[Request]:
    given = sample["arguments"]
    # Before 0.4.4 they were a list of lists.
    every = [
        [*one.values()] if isinstance(one, dict) else one
        for one in (given.values() if isinstance(given, dict) else given)
    ]
    if not every or len(every) != len(sample["resps"]):
        raise DataError(f"{at} has {len(every)} requests and {len(sample['resps'])} responses.")
    return [
        Request(str(one[0]), one[1] if len(one) > 1 else None, answers)
        for one, answers in zip(every, sample["resps"], strict=True)
    ]


def _value(at: str, request: Request) -> float:
    found = request.responses[0]
    # A log-likelihood, with whether the continuation is what the model would have written.
    value = found[0] if isinstance(found, list) else found
    return number(value, LOG_LIKELIHOOD, "the log-likelihood", at)


def _likelihoods(at: str, requests: Sequence[Request], known: Fields) -> LoggedAnswer:
    """Return the log-likelihoods of continuations: by the text of an option, or by whole text."""
    context = requests[0].context
    main = [r for r in requests if r.context == context]
    others = {r.rest for r in requests if r.context != context}
    # For acc_mutual_info the harness asks for every option without its context as well.
    extra = all(r.context in (context, "") for r in requests) and others == {r.rest for r in main}
    if not others or extra:
        options = [r.rest.strip() for r in main]
        if len({*options}) < len({r.rest for r in main}):
            options = [r.rest for r in main]
        values = {one: _value(at, r) for one, r in zip(options, main, strict=True)}
        shown = tuple(dict.fromkeys(options))
        return _made(at, known, [context], options=shown, values=values, kind=LOG_LIKELIHOOD)
    values = {r.context + r.rest: _value(at, r) for r in requests}
    return _made(at, known, [], values=values, kind=LOG_LIKELIHOOD)


def _made(at: str, known: Fields, contexts: Sequence[str], **said: Any) -> LoggedAnswer:
    texts = tuple(dict.fromkeys((*known["texts"], *(c for c in contexts if c))))
    return LoggedAnswer(at, known["item"], texts, **said)
