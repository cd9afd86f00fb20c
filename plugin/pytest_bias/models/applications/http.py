"""Applications behind HTTP: a request for every prompt, and the text in its answer."""

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, quote_plus, urlsplit

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.http.failures import Failed
from pytest_bias.models.applications.mapping import (
    EXAMPLE,
    Json,
    NotThere,
    Path,
    at_path,
    filled,
    path_in_words,
    path_of,
    places_in,
    variables_in,
    with_variables,
)
from pytest_bias.models.applications.transport import NoAnswer, Prompt, Transport
from pytest_bias.models.served.client import Client, Refused, Unanswered, without
from pytest_bias.models.served.questions import Answer
from pytest_bias.models.served.settings import RequestSettings
from pytest_bias.records.report import canonical_json, sha256

BUSY: Final = ("429", "503", "connection", "certificate", "proxy")
"""Failures after which no other call would have an answer."""

SHORTEST_SECRET: Final = 8
"""Shorter values of the environment are words, such as a region, and stay in answers."""

_PARTS: Final = ("method", "headers", "query", "body", "answer")
"""What may change answers."""


class ApplicationClient(Client):
    """Sends requests to an application; a server that was never there is asked once."""

    _was_there = False
    variables: tuple[str, ...] = ()
    """Names of the variables of the environment in headers."""

    def _sent(self, method: str, path: str, final: Collection[int], **more: Any) -> bytes:
        try:
            found = super()._sent(method, path, final, **more)
        except Failed as failed:
            if failed.status is not None:
                self._was_there = True
            if failed.kind == "connection" and not self._was_there:
                failed.again = False
            raise
        self._was_there = True
        return found

    def denied(self, status: int) -> ModelError:
        """Return the error for an application that refuses access."""
        if self.variables:
            names = " and ".join(self.variables)
            return ModelError(
                f"{self.server} refuses access ({status}): what {names} holds is not accepted.",
                f"Set it in the environment: export {self.variables[0]}=…",
            )
        return ModelError(
            f"{self.server} refuses access ({status}): it requires a key.",
            'In pytest-bias.yaml: application: {headers: {Authorization: "Bearer ${MY_TOKEN}"}}',
        )

    def unknown(self, status: int, said: str) -> ModelError:
        """Return the error for an application that is not at this address."""
        return ModelError(
            f"{self.server} does not know what is asked for ({status}): {said}",
            "Is the path of the address right, and the method? application: {method: POST}",
        )


@dataclass(frozen=True)
class Requests(Transport):
    """An application that is asked by requests.

    Parameters
    ----------
    client : ApplicationClient
        Client of its server.
    path : str
        Path of its address.
    mapping : mapping
        The table ``application``, with the values of the environment.
    """

    client: ApplicationClient
    path: str
    mapping: Mapping[str, Json] = field(repr=False)

    advice = 'Put "{system}" where it belongs in pytest-bias.yaml: application: {body: …}'

    @property
    def accepts(self) -> frozenset[str]:  # type: ignore[override]
        """Which of ``system`` and ``seed`` the mapping has a place for."""
        return places_in(self.mapping) - {"prompt"}

    @property
    def again(self) -> Counter[str]:
        """Reasons of requests that were made again, with their counts."""
        return self.client.again

    @property
    def where(self) -> Path:
        """Path to the text in the answer; empty if the whole answer is one."""
        return path_of(self.mapping.get("answer", "")) or ()

    def stop(self) -> None:
        """Begin no further request."""
        self.client.stopped.set()

    def ask(self, prompt: Prompt) -> Answer:
        """Send a prompt, and again while the application is busy; see `Transport.ask`."""
        values = {"prompt": prompt.text, "system": prompt.system, "seed": prompt.seed}
        more = {"params": filled(self.mapping.get("query", {}), values)}
        if "body" in self.mapping:
            more["json"] = filled(self.mapping["body"], values)
        try:
            content = self.client.content(self.mapping.get("method", "POST"), self.path, **more)
        except Refused as why:
            raise NoAnswer(str(why)) from None
        except Unanswered as why:
            if why.kind in BUSY:
                raise ModelError(f"{self.client.server}{self.path}: {why}") from None
            raise NoAnswer(str(why), is_late=why.kind == "timeout") from None
        return self._read(content)

    def _read(self, content: bytes) -> Answer:
        if not content.strip():
            raise NoAnswer("the application answers nothing")
        try:
            answer = content.decode("utf-8") if not self._reads_json else json.loads(content)
        except UnicodeDecodeError:
            raise NoAnswer("the answer is no text in UTF-8") from None
        except (ValueError, RecursionError):
            said = self.client.shown(content[:2000].decode("utf-8", "replace"), 100)
            raise NoAnswer(
                f"the answer is no JSON: {said}",
                hint="Where the whole answer is the text, leave out: application: {answer: …}",
            ) from None
        try:
            text = at_path(answer, self.where)
        except NotThere as why:
            raise NoAnswer(
                self.client.shown(why, 400),
                hint="The path of the text in pytest-bias.yaml: application: {answer: …}",
            ) from None
        if text is None or text == "":
            raise NoAnswer(f"the text{self._at} is empty")
        if not isinstance(text, str):
            raise NoAnswer(
                f"what the answer has{self._at} is no text",
                hint="The path of the text in pytest-bias.yaml: application: {answer: …}",
            )
        counts = self.mapping.get("tokens", {})
        return {
            "text": without(text, [s for s in self.client.secrets if len(s) >= SHORTEST_SECRET]),
            "n_tokens": (written := _count(answer, counts.get("output"))),
            "sent": _count(answer, counts.get("input")),
            "written": written,
        }

    @property
    def _reads_json(self) -> bool:
        return bool(self.where or self.mapping.get("tokens"))

    @property
    def _at(self) -> str:
        return f" at {path_in_words(self.where)}" if self.where else ""


def requests_to(url: str, mapping: Mapping[str, Json], asking: RequestSettings) -> Requests:
    """Return what asks the application at an address.

    Raises
    ------
    UsageError
        If there is no mapping, or a variable of the environment that it names is not set.
    """
    if not mapping:
        raise UsageError(
            f"{url}: nothing says how this application is asked, and where the text is in its "
            "answer. (A server of OpenAI's protocol is openai:URL.)",
            f"In pytest-bias.yaml, for instance: {EXAMPLE}",
        )
    values = {name: _variable(name) for name in variables_in(mapping)}
    ready = with_variables(mapping, values)
    parts = urlsplit(url)
    server = f"{parts.scheme}://{parts.netloc}"
    shapes = (str, quote, quote_plus, lambda s: json.dumps(s)[1:-1])
    secrets = tuple(dict.fromkeys(shape(value) for value in values.values() for shape in shapes))
    headers = dict(ready.get("headers", {}))
    client = ApplicationClient(server, asking, None, headers, secrets)
    client.variables = tuple(variables_in({"headers": mapping.get("headers")}))
    return Requests(client, parts.path, ready)


def fingerprint_of(url: str, mapping: Mapping[str, Json]) -> str:
    """Return the digest of all that is known to determine answers, without secrets."""
    return sha256(canonical_json([url, {k: mapping[k] for k in _PARTS if k in mapping}]))


def _variable(name: str) -> str:
    found = os.environ.get(name, "").strip()
    if not found:
        raise UsageError(
            f"application: ${{{name}}} is not set in the environment.",
            f"export {name}=…",
        )
    if not re.fullmatch("[ -~]+", found):
        raise UsageError(f"{name} has a character that no key can have.")
    return found


def _count(answer: Json, where: str | None) -> int | None:
    """Return a number of tokens; None where the answer has none."""
    if where is None:
        return None
    try:
        found = at_path(answer, path_of(where) or ())
    except NotThere:
        return None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
