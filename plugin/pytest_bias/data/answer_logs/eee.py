"""Instances of Every Eval Ever (``*_samples.jsonl``, schema 0.3), which other tools convert to."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pytest_bias.data.answer_logs.files import LogFile
from pytest_bias.data.answer_logs.log import AnswerLog, LoggedAnswer
from pytest_bias.data.answer_logs.notices import FINISHED, one_of, places, shaped
from pytest_bias.untrusted import clean

TOOL: Final = "Every Eval Ever"

Fields = Mapping[str, Any]


def is_instances(first: Fields) -> bool:
    """Whether a file begins with an instance."""
    return {"schema_version", "evaluation_id", "sample_id", "interaction_type"} <= first.keys()


def is_aggregate(file: LogFile) -> bool:
    """Whether a file seems to be an evaluation as a whole, which has no answers."""
    names = (b'"schema_version"', b'"evaluation_id"', b'"source_metadata"')
    return file.path.suffix == ".json" and all(name in file.head for name in names)


def read(file: LogFile) -> AnswerLog:
    """Read the instances of one file.

    An instance is written once for every result that it counts for: the answer is read once.
    """
    models: dict[str, str] = {}
    names: dict[str, None] = {}
    versions: dict[str, None] = {}
    results: dict[tuple[str, str, int], Any] = {}
    empty: list[str] = []
    answers: list[LoggedAnswer] = []
    n = 0
    for at, row in file.objects(strict=False):
        n += 1
        with shaped(at, TOOL):
            models.setdefault(row["model_id"], at)
            names.setdefault(row["evaluation_name"])
            versions.setdefault(row["schema_version"])
            result = row.get("evaluation_result_id")
            key = (row["evaluation_id"], row["sample_id"], _epoch(row))
            if results.setdefault(key, result) != result:
                continue
            found = _answers(at, row)
            if not found:
                empty.append(at)
            answers += found
    notices = []
    if empty:
        notices.append(f"{file.name}: {len(empty)} without an answer: {places(empty)}.")
    if all(_number(a.item) < n and a.texts for a in answers):
        answers = [replace(answer, item=None) for answer in answers]
        notices.append(
            f"{file.name}: sample_id only numbers the samples; they are known by their texts."
        )
    return AnswerLog(
        "eee",
        tuple(answers),
        {file.name: file.sha256},
        TOOL,
        ", ".join(versions),
        one_of(file.name, "model", models),
        ", ".join(clean(name, 80) for name in names),
        tuple(notices),
    )


def _epoch(row: Fields) -> int:
    """Return the number of a repetition, from 0, where the tool that was converted counted them."""
    found = str((row.get("metadata") or {}).get("epoch"))
    return int(found) - 1 if found.isdecimal() and 0 < int(found) < 10**6 else 0


def _number(item: str | None) -> float:
    return int(item) if item and item.isdecimal() and len(item) < 10 else float("inf")


def _answers(at: str, row: Fields) -> list[LoggedAnswer]:
    given = row["input"]
    texts = (given["raw"], given.get("formatted"))
    item = row["sample_id"]
    options = tuple(choice.strip() for choice in given.get("choices") or ())
    if row.get("error"):
        said = []
    elif row["interaction_type"] == "single_turn":
        said = row["output"]["raw"]
    else:
        # The last turn of the model is its answer.
        turns = [m["content"] for m in row["messages"] if m["role"] == "assistant"]
        said = [turn for turn in turns[-1:] if turn is not None]
    if not isinstance(item, str) or not all(isinstance(text, str) for text in said):
        raise TypeError("sample_id or output is no text")
    # Where sentences are compared without a question, they are the choices.
    asked = tuple(dict.fromkeys(text for text in texts if text)) or options
    stopped = FINISHED.get((row.get("metadata") or {}).get("stop_reason", ""))
    return [
        LoggedAnswer(at, item, asked, options, answer, finished=stopped, sample=n)
        for n, answer in enumerate(said, _epoch(row) * len(said))
    ]
