"""Requests to a server, and the parts of its answers that are stored."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.models.served.echoes import Unreadable, listed
from pytest_bias.models.spending import about_tokens
from pytest_bias.records.report import canonical_json, sha256

Answer: TypeAlias = dict[str, Any]
"""Stored part of an answer, as JSON; with a ``reason`` if there is no answer."""

COMPLETIONS: Final = "/completions"
CHATS: Final = "/chat/completions"

ENDED: Final[Mapping[str, Literal["eos", "length"]]] = {
    "stop": "eos",
    "eos": "eos",
    "eos_token": "eos",
    "end_turn": "eos",
    "length": "length",
    "max_tokens": "length",
}
"""A server's finish reason to ours; no stop strings are sent."""


@dataclass(frozen=True)
class Question:
    """One request.

    Parameters
    ----------
    path : str
        Path after the server's address.
    body : mapping
        Content of the request.
    weight : int
        Characters of the input, for forecasts.
    new : int
        Tokens to generate.
    """

    path: str
    body: Mapping[str, Any]
    weight: int = 0
    new: int = 0
    key: str = field(init=False, compare=False)
    """Digest of the question, under which its answer is stored."""

    def __post_init__(self) -> None:
        key = sha256(canonical_json([self.path, dict(self.body)]))
        object.__setattr__(self, "key", key)

    @property
    def sends(self) -> int:
        """About how many tokens are sent."""
        turns = self.body.get("messages") or [{"content": self.body.get("prompt")}]
        return sum(about_tokens(turn["content"]) for turn in turns)

    @property
    def writes(self) -> int:
        """Maximum number of tokens that come back."""
        return int(self.body.get("max_tokens", 0))

    def read(self, reply: Mapping[str, Any]) -> Answer:
        """Return the part of the server's answer to store."""
        raise NotImplementedError


class Likelihood(Question):
    """The log-probabilities of the tokens of a text."""

    @classmethod
    def of(cls, model: str, text: str) -> "Likelihood":
        """Request the echo of a text, including the prefix, with log-probabilities."""
        body = {
            "model": model,
            "prompt": text,
            "echo": True,
            "logprobs": 1,
            # For llama-cpp-python 0 means unlimited.
            "max_tokens": 1,
            "temperature": 0,
        }
        return cls(COMPLETIONS, body, len(text))

    def read(self, reply: Mapping[str, Any]) -> Answer:
        """Return the tokens, their log-probabilities and the number of new ones."""
        try:
            tokens, logprobs, new = listed(reply)
        except Unreadable as why:
            return {"reason": str(why)}
        counts = {"sent": len(tokens) - new, "written": new}
        return {"tokens": tokens, "logprobs": logprobs, "new": new, **counts}


class Next(Question):
    """The most likely next token of a text, with its log-probability."""

    @classmethod
    def of(cls, model: str, text: str) -> "Next":
        """Request one token."""
        body = {"model": model, "prompt": text, "logprobs": 1, "max_tokens": 1, "temperature": 0}
        return cls(COMPLETIONS, body, len(text), 1)

    def read(self, reply: Mapping[str, Any]) -> Answer:
        """Return the token, its log-probability, and the generated text."""
        try:
            tokens, logprobs, _ = listed(reply)
        except Unreadable as why:
            return {"reason": str(why)}
        text = reply["choices"][0].get("text")
        text = text if isinstance(text, str) else ""
        return {"token": tokens[-1], "logprob": logprobs[-1], "text": text}


TOP: Final = (20, 5)
"""Numbers of likeliest tokens to request, in order: some servers give at most 5."""


@dataclass(frozen=True)
class How:
    """Settings of text generation."""

    max_new_tokens: int
    sample: bool = False
    seed: int = 0
    chat: bool = False
    plain: Mapping[str, Any] = field(default_factory=dict)
    """Settings that disable this server's own sampling, as far as possible."""
    system: str | None = None
    """System text before a chat turn."""

    def about(self, prompt: str, number: int) -> dict[str, Any]:
        """Return the sampling settings of a request."""
        told = {"max_tokens": self.max_new_tokens, "temperature": int(self.sample), **self.plain}
        if self.sample:
            told |= {"top_p": 1, "seed": seed_of(self.seed, prompt, number)}
        return told

    def asked(self, prompt: str) -> tuple[str, dict[str, Any]]:
        """Return the path of a request, and the part of its body that has the prompt."""
        if not self.chat:
            return COMPLETIONS, {"prompt": prompt}
        system = [{"role": "system", "content": self.system}] if self.system else []
        return CHATS, {"messages": [*system, {"role": "user", "content": prompt}]}


class Writing(Question):
    """A generated continuation of a prompt, or a chat reply to it."""

    @classmethod
    def of(cls, model: str, prompt: str, number: int, how: How) -> "Writing":
        """Request one continuation of a prompt, by its number."""
        path, asked = how.asked(prompt)
        body = {"model": model, **how.about(prompt, number), **asked}
        return cls(path, body, len(prompt), how.max_new_tokens)

    def read(self, reply: Mapping[str, Any]) -> Answer:
        """Return the text, the server's count of its tokens, and why it ended."""
        try:
            (choice,) = reply["choices"]
            text = choice["message"]["content"] if self.path == CHATS else choice["text"]
            reason = choice.get("finish_reason")
        except (KeyError, TypeError, ValueError, AttributeError):
            return {"reason": "the server gives no text"}
        # With a refusal the content is null.
        text = "" if text is None else text
        if not isinstance(text, str):
            return {"reason": "the server gives no text"}
        if not isinstance(reason, str) or reason not in ENDED:
            return {"reason": f"the server ended the text for another reason: {reason!r:.60}"}
        sent, written = _usage(reply)
        # Half a character (a lone surrogate) could not be stored.
        text = text.encode("utf-8", "replace").decode()
        counts = {"n_tokens": written, "sent": sent, "written": written}
        return {"text": text, "finished": ENDED[reason], **counts}


class Top(Question):
    """The likeliest first tokens of the continuation of a prompt, or of the reply to it."""

    @classmethod
    def of(cls, model: str, prompt: str, k: int, how: How) -> "Top":
        """Request the `k` likeliest tokens."""
        path, asked = how.asked(prompt)
        wanted = {"logprobs": True, "top_logprobs": k} if path == CHATS else {"logprobs": k}
        body = {"model": model, **how.about(prompt, 0), **wanted, **asked}
        return cls(path, body, len(prompt), how.max_new_tokens)

    def read(self, reply: Mapping[str, Any]) -> Answer:
        """Return the likeliest tokens with their log-probabilities."""
        try:
            (choice,) = reply["choices"]
            if self.path == CHATS:
                first = choice["logprobs"]["content"][0]
                listed = [(t["token"], t["logprob"]) for t in first["top_logprobs"]]
            else:
                listed = list(choice["logprobs"]["top_logprobs"][0].items())
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            return {"reason": "the server gives no log-probabilities of the likeliest tokens"}
        if not listed or not all(isinstance(t, str) and _is_log(p) for t, p in listed):
            return {"reason": "the server's log-probabilities of the likeliest tokens are invalid"}
        sent, written = _usage(reply)
        top = [[t.encode("utf-8", "replace").decode(), float(p)] for t, p in listed]
        return {"top": top, "sent": sent, "written": 1 if written is None else written}


def _usage(reply: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the server's counts of tokens that it read and wrote; None where it has none."""
    usage = reply.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    found = (counts.get("prompt_tokens"), counts.get("completion_tokens"))
    sent, written = (n if isinstance(n, int) and n >= 0 else None for n in found)
    return sent, written


def _is_log(value: object) -> bool:
    """Whether a value is the logarithm of a probability, up to rounding."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= 1e-3


def seed_of(seed: int, prompt: str, number: int) -> int:
    """Return the seed of one sample, from 0 to 2**31 - 1."""
    digest = hashlib.sha256(canonical_json([seed, prompt, number]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
