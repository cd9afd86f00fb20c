"""Logs of Inspect (``*.eval``, a zip archive of JSON, and ``*.json``), read without inspect-ai.

A sample has the choices in the order in which the model was shown them, since Inspect shuffles
when it loads the data. Only the solver ``multiple_choice(shuffle=…)``, which is deprecated, does so
later, and then rewrites prompt and answer in the sample as if it had not: what the model saw and
said is then in the event of the call.
"""

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.data.answer_logs.archives import Archive, opened
from pytest_bias.data.answer_logs.files import LogFile, json_value
from pytest_bias.data.answer_logs.log import AnswerLog, LoggedAnswer
from pytest_bias.data.answer_logs.notices import FINISHED, places, shaped, texts_of
from pytest_bias.errors import DataError
from pytest_bias.untrusted import clean

HEADER: Final = "header.json"
START: Final = "_journal/start.json"
SAMPLES: Final = "samples/"
ATTACHMENT: Final = "attachment://"

MOST_JSON: Final = 1 << 30
"""Largest log of the form ``*.json``, which is one JSON value, in bytes: 1 GiB."""

_BEGINNING: Final = re.compile(rb'\{\s*"version":\s*\d+,\s*"status":\s*"')

Fields = Mapping[str, Any]


def is_archive(file: LogFile) -> bool:
    """Whether a file is a log of the form ``*.eval``."""
    if not file.head.startswith(b"PK\x03\x04"):
        return False
    if file.path.suffix.lower() == ".eval":
        return True
    with opened(file) as archive:
        return bool({HEADER, START} & {*archive.names})


def is_json(file: LogFile, first: Fields) -> bool:
    """Whether a file is a log of the form ``*.json``."""
    return {"status", "eval"} <= first.keys() or bool(_BEGINNING.match(file.head.lstrip()))


def read_archive(file: LogFile) -> AnswerLog:
    """Read a log ``*.eval``."""
    with opened(file) as archive:
        names = archive.names
        header = next((name for name in (HEADER, START) if name in names), None)
        if header is None:
            raise DataError(f"{file.name} is a zip archive without {HEADER}: no log of Inspect.")
        return _log(file, archive.json(header), _samples(archive))


def _samples(archive: Archive) -> Iterator[Any]:
    for name in archive.names:
        if name.startswith(SAMPLES) and name.endswith(".json"):
            yield archive.json(name)


def read_json(file: LogFile) -> AnswerLog:
    """Read a log ``*.json``."""
    if file.path.stat().st_size > MOST_JSON:
        raise DataError(
            f"{file.name} is larger than 1 GiB.",
            f"inspect log convert {file.name} --to eval --output-dir DIR",
        )
    content = json_value(file.path.read_bytes(), file.name, strict=False)
    return _log(file, content, content.get("samples") or () if isinstance(content, dict) else ())


@dataclass
class _Reading:
    """The header of a log, and what was left out of its samples."""

    file: LogFile
    order: Mapping[Any, int]
    numbered: bool
    shuffles: bool
    failed: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    unknown_order: list[str] = field(default_factory=list)
    filtered: list[str] = field(default_factory=list)

    def notices(self) -> Iterator[str]:
        """Yield what was left out, and what else has to be known."""
        said = {
            "ended in an error, without an answer": self.failed,
            "were invalidated, and are left out": self.invalid,
            "were shuffled, and do not say how; they are left out": self.unknown_order,
            "were stopped by a content filter": self.filtered,
        }
        for what, where in said.items():
            if where:
                yield f"{self.file.name}: samples that {what}: {len(where)} ({places(where)})."
        if self.numbered:
            yield (
                f"{self.file.name}: its samples have no identifiers but the numbers that Inspect "
                "gives; they are known by their texts."
            )


def _log(file: LogFile, header: Any, samples: Iterable[Any]) -> AnswerLog:
    spec = header.get("eval") if isinstance(header, dict) else None
    if not isinstance(spec, dict) or not isinstance(spec.get("model"), str):
        raise DataError(f"{file.name} has no header of Inspect, which names the model.")
    with shaped(file.name, "Inspect"):
        reading = _reading(file, header)
    found = []
    for sample in samples:
        at = _place(file, sample)
        with shaped(at, "Inspect"):
            if (answer := _answer(at, sample, reading)) is not None:
                found.append(answer)
    if not found:
        raise DataError(f"{file.name} has no sample with an answer.{_status(file, header) or ''}")
    found.sort(key=lambda pair: pair[0])
    return AnswerLog(
        "inspect",
        tuple(answer for _, answer in found),
        {file.name: file.sha256},
        "inspect-ai",
        (spec.get("packages") or {}).get("inspect_ai"),
        spec["model"],
        spec.get("task"),
        tuple(reading.notices()),
        _status(file, header),
    )


def _reading(file: LogFile, header: Fields) -> _Reading:
    data = header["eval"].get("dataset") or {}
    ids = data.get("sample_ids") or []
    steps = (header.get("plan") or {}).get("steps") or ()
    return _Reading(
        file,
        {name: n for n, name in enumerate(ids)},
        # Without identifiers Inspect counts from 1: a benchmark may count otherwise.
        bool(ids) and all(type(i) is int and 0 < i <= data.get("samples", 0) for i in ids),
        any((step.get("params") or {}).get("shuffle") for step in steps),
    )


def _place(file: LogFile, sample: Any) -> str:
    if not isinstance(sample, dict):
        return f"{file.name}, a sample"
    name, epoch = clean(str(sample.get("id")), 80), clean(str(sample.get("epoch", 1)), 20)
    return f"{file.name}, sample {name}, epoch {epoch}"


def _status(file: LogFile, header: Fields) -> str | None:
    """Return why a run did not finish."""
    status = header.get("status", "started")
    if status == "success":
        return None
    why = (header.get("error") or {}).get("message") or ""
    ended = {"error": "ended in an error", "cancelled": "was cancelled"}.get(
        status, "had not ended"
    )
    return f"{file.name}: Inspect's run {ended}{f': {clean(why)}' if why else ''}."


def _answer(
    at: str, sample: Fields, reading: _Reading
) -> tuple[tuple[int, int], LoggedAnswer] | None:
    """Return the answer of a sample with its place in the order; None if there is none."""
    name, epoch = sample["id"], sample.get("epoch", 1)
    if type(epoch) is not int or epoch < 1:
        raise DataError(f"{at}: epochs are numbered from 1.")
    if sample.get("invalidation"):
        reading.invalid.append(at)
        return None
    attached = sample.get("attachments") or {}
    output = sample.get("output") or {}
    choices = tuple(sample.get("choices") or ())
    if not all(isinstance(choice, str) for choice in choices):
        raise DataError(f"{at}: choices are no texts.")
    if reading.shuffles and choices:
        output, choices = _shown(sample, choices, attached)
        if output and not choices:
            reading.unknown_order.append(at)
            return None
    said = (output.get("choices") or [{}])[0]
    answer = _said(output, said, attached)
    if sample.get("error") or (answer is None and not output.get("choices")):
        reading.failed.append(at)
        return None
    if said.get("stop_reason") == "content_filter":
        reading.filtered.append(at)
    given = sample["input"]
    asked = (
        [given]
        if isinstance(given, str)
        else [_text(m.get("content"), attached) for m in given if m.get("role") == "user"]
    )
    texts = [*(_resolved(t, attached) for t in asked), *texts_of(sample.get("metadata") or {})]
    return (epoch, reading.order.get(name, len(reading.order))), LoggedAnswer(
        at,
        None if reading.numbered else str(name),
        tuple(dict.fromkeys(t for t in texts if t)),
        choices,
        answer if answer is not None else _parsed(sample),
        finished=FINISHED.get(said.get("stop_reason", "")),
        sample=epoch - 1,
    )


def _said(output: Fields, said: Fields, attached: Fields) -> str | None:
    """Return what the model wrote, None if the log has no text."""
    completion = output.get("completion")
    if isinstance(completion, str) and completion:
        return _resolved(completion, attached)
    message = said.get("message") or {}
    return _text(message["content"], attached) if "content" in message else None


def _parsed(sample: Fields) -> str | None:
    """Return the answer that the scorer read, for logs without the model's text."""
    scores = (sample.get("scores") or {}).values()
    found = (s.get("answer") for s in scores if isinstance(s, dict))
    return next((answer for answer in found if isinstance(answer, str)), None)


def _resolved(text: str, attached: Fields) -> str:
    if text.startswith(ATTACHMENT):
        return str(attached.get(text.removeprefix(ATTACHMENT), text))
    return text


def _text(content: Any, attached: Fields) -> str:
    """Return the text of a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return _resolved(content, attached)
    parts = [p for p in content or () if isinstance(p, dict) and p.get("type") == "text"]
    return "".join(_resolved(str(part.get("text", "")), attached) for part in parts)


def _shown(
    sample: Fields, choices: Sequence[str], attached: Fields
) -> tuple[Fields, tuple[str, ...]]:
    """Return the output of the last call of the model, and the choices as it was shown them.

    Both are empty if there was no call; the choices are if the order is not known.
    """
    events = sample.get("events") or ()
    calls = [e for e in events if isinstance(e, dict) and e.get("event") == "model"]
    call = next((c for c in reversed(calls) if (c.get("output") or {}).get("choices")), None)
    if call is None:
        return {}, ()
    pool = (sample.get("events_data") or {}).get("messages") or []
    messages = [*(call.get("input") or ())]
    for start, end in call.get("input_refs") or ():
        messages += pool[start:end]
    lines = {
        line
        for m in messages
        if m.get("role") == "user"
        for line in ("\n" + _text(m.get("content"), attached)).split("\n")
    }
    order = [
        [c for c in choices if f"{letter}) {c}" in lines]
        for letter in string.ascii_uppercase[: len(choices)]
    ]
    known = all(len(there) == 1 for there in order)
    shown = tuple(there[0] for there in order) if known else ()
    return call["output"], shown if sorted(shown) == sorted(choices) else ()
