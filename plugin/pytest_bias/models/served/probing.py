"""Detection of a server's capabilities, before planning: by requests, never by its name.

Its log-probabilities are accepted only if they belong to the right tokens: that of the next token
that the server would generate must be equal to that of the same token in a text.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.errors import ModelError, UnknownName, UsageError
from pytest_bias.models.interface import Capability
from pytest_bias.models.served.address import shown_name
from pytest_bias.models.served.client import (
    ABOUT_THE_TEXT,
    Client,
    NotServed,
    Refused,
    Unanswered,
)
from pytest_bias.models.served.echoes import Echo, Unreadable, read_echo
from pytest_bias.models.served.questions import (
    TOP,
    Answer,
    How,
    Likelihood,
    Next,
    Question,
    Top,
    Writing,
)
from pytest_bias.models.served.settings import RequestSettings
from pytest_bias.records.report import canonical_json, sha256

TEXTS: Final = (
    "The capital of France is",
    "Once upon a time, there was a",
    "He works as a nurse.",
    "One, two, three, four,",
)
"""Texts of the probe: plain ones that most models continue with a whole word."""

BEHIND: Final = (*TEXTS, "Question: What is the capital of France?\nAnswer:", "He said: (", "1.\n")
"""Texts whose next token is requested; no tokenizer joins tokens after a stop or a line break."""

ALIGNED: Final = 0.05
"""Tolerance in nats for two values of one token: more than the effect of batches."""

ENOUGH: Final = 3
"""Number of tokens that are compared, since a single one could be equal by chance."""

AGAIN: Final = 2
"""Number of texts that are requested twice."""

FINAL: Final = ABOUT_THE_TEXT | {500}
PAUSE_S: Final = 0.5

NO_NEXT: Final = "a server does not give as many of the likeliest next tokens as suites ask for"

EXACT: Final = 1e-6
"""Nats up to which repeated answers count as equal."""

PLAIN: Final[tuple[Mapping[str, Any], ...]] = (
    {"top_k": -1, "min_p": 0, "repetition_penalty": 1},
    {"top_k": 0, "min_p": 0, "repeat_penalty": 1},
    {},
)
"""Settings that disable a server's own sampling: for vLLM and similar servers, for llama.cpp and
similar ones, and for those without such settings."""

WORDS: Final = 8
"""Tokens that are generated to probe whether a model generates text."""


@dataclass(frozen=True)
class Found:
    """Results of the probe of a server.

    Parameters
    ----------
    capabilities : frozenset of Capability
        Queries that the model supports.
    lacks : mapping of Capability to str
        Reasons for missing capabilities.
    prefix : str
        Text before texts whose likelihood is requested.
    beginning : str or None
        Context of the first token, in words.
    chat : bool
        Whether the server answers chat turns.
    plain : mapping
        Settings that disable its own sampling.
    top : int
        Number of likeliest first tokens that it gives with log-probabilities; 0 for none.
    repeat_tolerance : float
        Maximum difference in nats between two answers for one token.
    facts : mapping
        Its answers, from which the fingerprint is computed.
    """

    capabilities: frozenset[Capability]
    lacks: Mapping[Capability, str] = field(default_factory=dict)
    prefix: str = ""
    beginning: str | None = None
    chat: bool = False
    plain: Mapping[str, Any] = field(default_factory=dict)
    top: int = 0
    repeat_tolerance: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Digest of the facts that identify a server's model."""
        return sha256(canonical_json(dict(self.facts)))


class _Cannot(Exception):
    """Reason for a missing capability."""


@dataclass
class Probe:
    """Probes one model of a server.

    Parameters
    ----------
    client : Client
        Client of the server.
    model : str
        The server's name for the model.
    asking : Asking
        Request settings, with the user's prefix.
    entry : mapping
        The server's list entry of the model.
    """

    client: Client
    model: str
    asking: RequestSettings
    entry: Mapping[str, Any]

    def find(self, chat: str) -> Found:
        """Return the capabilities; `chat` is ``auto``, ``on`` or ``off``.

        Raises
        ------
        ModelError
            If there are none.
        UsageError
            If a chat is requested and the server has none.
        """
        lacks: dict[Capability, str] = {}
        given = {Capability.OPEN_VOCABULARY}
        facts: dict[str, Any] = {"entry": dict(self.entry), "prefix": self.asking.prefix}
        beginning, repeat_tolerance = None, 0.0
        try:
            echo, repeat_tolerance, facts["likelihood"] = self._likelihood()
            beginning = self._beginning(echo)
            given.add(Capability.LOG_LIKELIHOOD)
        except _Cannot as why:
            lacks[Capability.LOG_LIKELIHOOD] = str(why)
        chats, no_chat = self._can_write(chat=True) if chat != "off" else (None, "")
        if chat == "on" and chats is None:
            raise UsageError(
                f"--chat on: {self.client.server} answers no chat: {no_chat}",
                "--chat auto, or off",
            )
        writes, no_text = (chats, "") if chats else self._can_write(chat=False)
        if writes:
            given.add(Capability.GENERATE)
            facts["writes"] = [dict(writes[0]), writes[1]]
        else:
            lacks[Capability.GENERATE] = no_text
        top, no_top = self._top(chats is not None, writes[0]) if writes else (0, no_text)
        if top:
            given.add(Capability.CHOOSE)
        else:
            lacks[Capability.CHOOSE] = no_top
        if given == {Capability.OPEN_VOCABULARY}:
            reasons = "; ".join(dict.fromkeys(lacks.values()))
            raise ModelError(
                f"{self.client.server}: nothing can be measured on {self.model!r}: {reasons}.",
                "It has to answer /completions, or /chat/completions.",
            )
        return Found(
            capabilities=frozenset(given),
            lacks=lacks | {Capability.NEXT: NO_NEXT},
            prefix=self.asking.prefix or "",
            beginning=beginning,
            chat=chats is not None,
            plain=writes[0] if writes else {},
            top=top,
            repeat_tolerance=repeat_tolerance,
            facts=facts,
        )

    def reply(self, question: Question) -> Mapping[str, Any]:
        """Return the server's reply to one question, or raise `_Cannot`."""
        try:
            try:
                return self.client.ask(question.path, question.body, final=FINAL)
            except Refused as error:
                if error.status < 500:
                    raise
                # Some servers fail instead of refusing; others fail only occasionally.
                time.sleep(PAUSE_S)
                return self.client.ask(question.path, question.body, final=FINAL)
        except Refused as why:
            raise _Cannot(str(why)) from None
        except NotServed as why:
            # A server need not have every endpoint.
            raise _Cannot(why.message) from None
        except Unanswered as why:
            raise ModelError(
                f"{self.client.server}: {why}.", "Is the server there, and has it loaded the model?"
            ) from None

    def ask(self, question: Question) -> Answer:
        """Return the parsed answer to one question, or raise `_Cannot`."""
        answer = question.read(self.reply(question))
        if reason := answer.get("reason"):
            raise _Cannot(str(reason))
        return answer

    def echo(self, text: str) -> Echo:
        """Return the tokens of a text after the prefix, or raise `_Cannot`."""
        prefix = self.asking.prefix or ""
        found = self.ask(Likelihood.of(self.model, prefix + text))
        try:
            return read_echo(found["tokens"], found["logprobs"], found["new"], text, prefix)
        except Unreadable as why:
            raise _Cannot(str(why)) from None

    def _likelihood(self) -> tuple[Echo, float, Any]:
        """Return an echo of the first text, the difference of two echoes, and a summary of all."""
        first = [self.echo(text) for text in TEXTS]
        self._check_places(dict(zip(TEXTS, first, strict=True)))
        second = [self.echo(text) for text in TEXTS[:AGAIN]]
        repeat_tolerance = max(_apart(a, b) for a, b in zip(first, second, strict=False))
        if repeat_tolerance == float("inf"):
            raise _Cannot("the server reads one text in two ways, one after the other")
        scores = [e.score() for e in first]
        if reason := next((s.reason for s in scores if s.reason), None):
            raise _Cannot(f"of a plain sentence: {reason}")
        # If answers vary, their last digits must not make one model look like two.
        if repeat_tolerance <= EXACT:
            known = [[None if p is None else round(p, 3) for p in e.logprobs] for e in first]
        else:
            known = [[round(s.total / s.n_tokens, 1)] for s in scores]
        return first[0], repeat_tolerance, [[list(e.tokens) for e in first], known]

    def _check_places(self, known: Mapping[str, Echo]) -> None:
        """Raise `_Cannot` if log-probabilities are not assigned to their own tokens.

        `known` are the tokens of texts that have already been requested.
        """
        apart: list[float] = []
        prefix = self.asking.prefix or ""
        for text in BEHIND:
            found = self.ask(Next.of(self.model, prefix + text))
            written, value = found["text"], found["logprob"]
            if not written.strip() or value is None:
                # The text ends there, or the token is half a character.
                continue
            try:
                before = known.get(text) or self.echo(text)
                echo = self.echo(text + written)
            except _Cannot:
                # Not every tokenizer reproduces every text; that is checked above.
                continue
            there = echo.logprobs[-1]
            # Text and token together may be tokenized differently.
            if echo.tokens[:-1] == before.tokens and there is not None:
                apart.append(abs(there - value))
            if len(apart) == ENOUGH:
                break
        if not apart:
            raise _Cannot(
                "it could not be checked whether the log-probabilities of a text stand at their "
                "own tokens: the server tells no token that it would write"
            )
        if max(apart) > ALIGNED:
            raise _Cannot(self._misplaced(max(apart)))

    def _misplaced(self, nats: float) -> str:
        where = f"behind the prefix {self.asking.prefix!r}" if self.asking.prefix else "in a text"
        told = (
            f"the server gives a token {where} another log-probability than the same token when it "
            f"writes it ({nats:.2g} nats apart): they stand at the wrong tokens, as those of "
            "llama-cpp-python do where a model puts no token in front of a text"
        )
        if self.asking.prefix:
            return f"{told}; another prefix may help (served: {{prefix: …}} in pytest-bias.yaml)"
        return (
            f"{told}; name the text of its first token in pytest-bias.yaml, such as served: "
            "{prefix: '<s>'} or served: {prefix: '<|im_start|>'}"
        )

    def _beginning(self, echo: Echo) -> str:
        unscored = echo.logprobs[0] is None
        if prefix := self.asking.prefix:
            return f"{prefix!r}{', first token unscored' if unscored else ''}"
        if unscored:
            return "none, first token unscored"
        return f"the server's own: {echo.front!r:.40}" if echo.front else "the server's own"

    def _can_write(self, *, chat: bool) -> tuple[tuple[Mapping[str, Any], str] | None, str]:
        """Return the settings for plain generation and the generated text, or None and why not."""
        why = ""
        for plain in PLAIN:
            how = How(1 if chat else WORDS, chat=chat, plain=plain)
            question = Writing.of(self.model, TEXTS[0], 0, how)
            try:
                return (plain, str(self.ask(question)["text"])), ""
            except _Cannot as error:
                why = str(error)
        return None, f"it writes no text: {why}"

    def _top(self, chat: bool, plain: Mapping[str, Any]) -> tuple[int, str]:
        """Return how many likeliest tokens the server gives, or 0 and why none."""
        why = ""
        for k in TOP:
            try:
                self.ask(Top.of(self.model, TEXTS[0], k, How(1, chat=chat, plain=plain)))
                return k, ""
            except _Cannot as error:
                why = str(error)
        return 0, why


def _apart(one: Echo, other: Echo) -> float:
    """Return the maximum difference of two echoes of one text; infinite if the tokens differ."""
    nulls = [[p is None for p in e.logprobs] for e in (one, other)]
    if one.tokens != other.tokens or nulls[0] != nulls[1]:
        return float("inf")
    pairs = zip(one.logprobs, other.logprobs, strict=True)
    return max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0.0)


def chosen(
    listed: Sequence[Mapping[str, Any]], name: str, server: str
) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the list entry of the selected model of a server.

    Raises
    ------
    UsageError
        If no name was given and there are several models, or the name is unknown.
    """
    by_name = {str(e["id"]): e for e in listed}
    if name in by_name:
        return name, by_name[name]
    short = [i for i in by_name if name and shown_name(i) == name]
    if not name and len(by_name) == 1:
        short = list(by_name)
    if len(short) == 1:
        return short[0], by_name[short[0]]
    known = sorted({shown_name(i) for i in by_name})
    if not known:
        raise ModelError(f"{server} lists no model.", "Load one in the server.")
    if name:
        raise UnknownName.among(f"model of {server}", name, known)
    raise UsageError(
        f"{server} has {len(known)} models: {', '.join(known[:20])}"
        + (", …" if len(known) > 20 else "."),
        f"Name one: openai:{server}#{known[0]}",
    )
