"""Mapping of an application behind HTTP: what is sent, and where the text is in its answer.

The table ``application`` of the settings file. Texts in it may have placeholders: ``{prompt}``,
``{system}`` and ``{seed}`` in ``body`` and ``query``, and ``${NAME}``, a variable of the
environment, also in ``headers``. Values of the environment are read when a model is described, and
never stored.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from pytest_bias.forms.keys import Key, keyed, one_of, optional, shown, table, text
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain
from pytest_bias.models.spending import read_cost
from pytest_bias.untrusted import is_secret

Json: TypeAlias = Any
"""Texts, numbers, true, false, null, and lists and tables of them."""

Path: TypeAlias = tuple[str | int, ...]

METHODS: Final = ("GET", "POST", "PUT", "PATCH")

PLACES: Final = ("prompt", "system", "seed")
"""What may be filled in."""

EXAMPLE: Final = 'application: {method: POST, body: {question: "{prompt}"}, answer: text}'

NAMED: Final = re.compile(r"\$\{(\w+)\}", re.ASCII)
"""A variable of the environment."""

_PLACE: Final = re.compile(r"(?<!\$)\{([A-Za-z_]+)\}")
_STEP: Final = re.compile(r"([^.\[\]\s]+)|\[(\d{1,6})\]")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CREDENTIAL: Final = re.compile(r"(?i)auth|cookie|session|api-?key")
_ABSENT: Final = object()


# Reading


def path_of(said: str) -> Path | None:
    """Return the steps of a path such as ``choices[0].text``; None if it is none.

    Examples
    --------
    >>> path_of("choices[0].text")
    ('choices', 0, 'text')
    """
    found: list[str | int] = []
    at = 0
    while at < len(said):
        if found and said[at] == ".":
            at += 1
        elif found and said[at] != "[":
            return None
        if not (step := _STEP.match(said, at)) or (said[at - 1 : at] == "." and step[2]):
            return None
        found.append(step[1] if step[1] is not None else int(step[2]))
        at = step.end()
    return tuple(found)


def path_in_words(path: Path) -> str:
    """Return a path as it is written."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _path(marked: Marked, place: Place, given: Plain) -> str:
    if path_of(said := text(marked, place, given).strip()) is None:
        raise marked.error(
            place, f"must be a path in the answer, not {shown(given)}.", "answer: choices[0].text"
        )
    return said


def _template(marked: Marked, place: Place, given: Plain) -> Json:
    """Read a template, with numbers, true, false and null where YAML has them."""
    if isinstance(given, dict):
        for name in PLACES:
            if given == {name: None}:
                told = f'is a table; in YAML the placeholder needs quotes: "{{{name}}}"'
                raise marked.error(place, told)
        return {key: _template(marked, (*place, key), one) for key, one in given.items()}
    if isinstance(given, list):
        return [_template(marked, (*place, n), one) for n, one in enumerate(given)]
    if given is None:
        return None
    _check_places(marked, place, given)
    return _number(given) if place in marked.bare else given


def _number(given: str) -> Json:
    """Return the value of a scalar without quotes."""
    if given in ("true", "false"):
        return given == "true"
    if re.fullmatch(r"-?(0|[1-9]\d*)", given):
        return int(given)
    if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", given):
        with suppress(OverflowError):
            return float(given)
    return given


def _check_places(marked: Marked, place: Place, given: str) -> None:
    for name in _PLACE.findall(given):
        if name not in PLACES:
            near = difflib.get_close_matches(name, PLACES, n=1)
            guess = f" Did you mean {{{near[0]}}}?" if near else ""
            known = ", ".join(f"{{{one}}}" for one in PLACES)
            told = f"has {{{name}}}, which is not known.{guess} Known: {known}."
            raise marked.error(place, told, "A variable of the environment is ${NAME}.")


def _body(marked: Marked, place: Place, given: Plain) -> Json:
    if not isinstance(given, dict | list) or not given:
        example = 'body: {question: "{prompt}"}'
        raise marked.error(place, f"must be a table or a list, not {shown(given)}.", example)
    return _template(marked, place, given)


def _value(marked: Marked, place: Place, given: Plain) -> str:
    found = text(marked, place, given)
    _check_places(marked, place, found)
    return found


def _header(marked: Marked, place: Place, given: Plain) -> str:
    name, found = str(place[-1]), text(marked, place, given).strip()
    if not _HEADER.fullmatch(name):
        raise marked.error(place, f"{shown(name)} is no name of a header.")
    if not re.fullmatch("[ -~]+", found):
        raise marked.error(place, "has a character that no header can have, or is empty.")
    if _PLACE.search(found):
        raise marked.error(place, "nothing is filled in here: prompts are for body or query.")
    is_key = _CREDENTIAL.search(name) or is_secret(name.replace("-", "_"))
    if is_key and not NAMED.search(found):
        raise marked.error(
            place,
            "has a secret in it, which belongs into the environment.",
            f'{name}: "${{MY_TOKEN}}", and: export MY_TOKEN=…',
        )
    return found


_TOKENS: Final = {
    "input": Key(_path, "where the number of tokens of the prompt is"),
    "output": Key(_path, "where the number of tokens of the text is"),
}
_KEYS: Final = {
    "method": Key(one_of(*METHODS), "how it is asked; POST unless stated"),
    "headers": Key(table(_header, least=0), "headers of every request"),
    "query": Key(table(_value, least=0), "what stands behind ? in the address"),
    "body": Key(_body, "what is sent, as JSON"),
    "answer": Key(_path, "where the text is in the answer; without it the whole answer is one"),
    "tokens": Key(keyed(_TOKENS), "where numbers of tokens are in the answer"),
    "cost": Key(read_cost, "what this application costs, in the place of the table cost"),
}
_READ: Final = keyed({name: Key(optional(key.read), key.about) for name, key in _KEYS.items()})


def read_mapping(marked: Marked, place: Place, given: Plain) -> dict[str, Json]:
    """Read a table ``application``.

    Raises
    ------
    UsageError
        If a key is unknown, a value is malformed, or no prompt would be sent.
    """
    found: dict[str, Json] = _READ(marked, place, given)
    if found.get("method", "POST") == "GET" and "body" in found:
        told = "a request by GET has no body."
        raise marked.error((*place, "body"), told, 'query: {question: "{prompt}"}')
    if "prompt" not in places_in(found):
        where = "query" if found.get("method") == "GET" else "body"
        raise marked.error(
            place,
            "has no {prompt} in body or query, so that nothing would be asked.",
            f'application: {{{where}: {{question: "{{prompt}}"}}}}',
        )
    return found


# Filling in


def places_in(mapping: Mapping[str, Json]) -> frozenset[str]:
    """Return what is filled in: some of `PLACES`."""
    texts = [*_texts(mapping.get("body")), *_texts(mapping.get("query"))]
    return frozenset(name for one in texts for name in _PLACE.findall(one) if name in PLACES)


def variables_in(mapping: Mapping[str, Json]) -> list[str]:
    """Return the names of the variables of the environment."""
    texts = (one for name in ("headers", "query", "body") for one in _texts(mapping.get(name)))
    return list(dict.fromkeys(name for one in texts for name in NAMED.findall(one)))


def with_variables(template: Json, values: Mapping[str, str]) -> Json:
    """Return a template with the values of variables of the environment."""
    if isinstance(template, Mapping):
        return {key: with_variables(one, values) for key, one in template.items()}
    if isinstance(template, list | tuple):
        return [with_variables(one, values) for one in template]
    if isinstance(template, str):
        return NAMED.sub(lambda m: values[m[1]], template)
    return template


def filled(template: Json, values: Mapping[str, str | int | None]) -> Json:
    """Return a template with prompt, system text and seed in their places.

    A text that is nothing but a placeholder becomes its value, so that a seed is a number. Where
    there is none (no system text, no seed), the key is left out; in a longer text it is empty. So
    is an entry of a list that is only about it, as a message of the system.

    Examples
    --------
    >>> filled({"q": "Q: {prompt}", "seed": "{seed}"}, {"prompt": "Who?", "seed": 7})
    {'q': 'Q: Who?', 'seed': 7}
    """
    found = _filled(template, values)
    return None if found is _ABSENT else found


def _filled(template: Json, values: Mapping[str, str | int | None]) -> Json:
    if isinstance(template, Mapping):
        each = {key: _filled(one, values) for key, one in template.items()}
        return {key: one for key, one in each.items() if one is not _ABSENT}
    if isinstance(template, list | tuple):
        kept = (one for one in template if not _is_idle(one, values))
        return [one for one in (_filled(one, values) for one in kept) if one is not _ABSENT]
    if not isinstance(template, str):
        return template
    if (alone := _PLACE.fullmatch(template)) and alone[1] in PLACES:
        value = values.get(alone[1])
        return _ABSENT if value is None else value

    def known(match: re.Match[str]) -> str:
        value = values.get(match[1])
        return "" if value is None else str(value)

    # A single pass: a prompt may have braces.
    return _PLACE.sub(lambda m: known(m) if m[1] in PLACES else m[0], template)


def _is_idle(entry: Json, values: Mapping[str, str | int | None]) -> bool:
    """Whether an entry of a list is a table about a system text that is not set."""
    if not isinstance(entry, Mapping) or values.get("system") is not None:
        return False
    return "{system}" in entry.values() and not any("{prompt}" in one for one in _texts(entry))


def _texts(template: Json) -> Iterator[str]:
    if isinstance(template, Mapping):
        for one in template.values():
            yield from _texts(one)
    elif isinstance(template, list | tuple):
        for one in template:
            yield from _texts(one)
    elif isinstance(template, str):
        yield template


# Reading an answer


class NotThere(Exception):
    """The answer has nothing at a path; the message says what it has there."""


def at_path(answer: Json, path: Path) -> Json:
    """Return what an answer has at a path.

    Raises
    ------
    NotThere
        If it has nothing there.
    """
    for n, step in enumerate(path):
        where = path_in_words(path[:n])
        before = f"at {where} the answer" if where else "the answer"
        if isinstance(step, int):
            if not isinstance(answer, list):
                raise NotThere(f"{before} has {_kind(answer)}, no list with [{step}]")
            if step >= len(answer):
                raise NotThere(f"{before} has a list of {len(answer)}, none of them [{step}]")
        elif not isinstance(answer, dict):
            raise NotThere(f"{before} has {_kind(answer)}, no table with {step!r}")
        elif step not in answer:
            keys = ", ".join(map(str, list(answer)[:12])) or "none"
            near = difflib.get_close_matches(step, list(map(str, answer)), n=1)
            guess = f"; did you mean {near[0]!r}?" if near else ""
            raise NotThere(f"{before} has no {step!r}; it has: {keys}{guess}")
        answer = answer[step]
    return answer


def _kind(value: Json) -> str:
    if isinstance(value, dict):
        return f"a table with {', '.join(map(str, list(value)[:12])) or 'nothing'}"
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
