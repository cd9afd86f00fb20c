"""Untrusted text, made safe to show on a terminal or in Markdown."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

_SECRET: Final = re.compile(r"(?i)(?:TOKEN|SECRET|PASSWORD|KEY|JWT)(?:_V\d+)?$")
_SHORTEST_SECRET: Final = 4


def clean(text: str, limit: int = 200) -> str:
    """Return untrusted text on one line, without control or direction characters."""
    kept: list[str] = []
    for char in text:
        if char in "\r\n\t" or unicodedata.category(char) in ("Zs", "Zl", "Zp"):
            if kept and kept[-1] != " ":
                kept.append(" ")
        elif unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn"):
            kept.append(char)
        # A text may be long: read only as much as shows that it has to be cut.
        if len(kept) > limit + 1:
            break
    line = "".join(kept).rstrip(" ")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def visible(line: str) -> str:
    """Return one line of untrusted text in full, without control and direction characters."""
    hidden = ("Cc", "Cf", "Cs", "Co", "Cn")
    return "".join(c for c in line if unicodedata.category(c) not in hidden)


def markdown(text: str, limit: int = 200) -> str:
    """Return untrusted text as plain words in Markdown, also inside a table."""
    text = clean(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = text.replace("://", ":\\/\\/")
    text = re.sub(r"(?i)\b(www)\.", r"\1\\.", text)
    return re.sub(r"([`*_{}\[\]#!|~$@]|\\(?![/.]))", r"\\\1", text)


def is_secret(name: str) -> bool:
    """Whether the name of an environment variable suggests that it holds a secret."""
    return _SECRET.search(name) is not None


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """Return a text with ``***`` in place of the environment's tokens, passwords and keys."""
    found = (value.strip() for name, value in environment.items() if is_secret(name))
    # Longest first: one may be part of another.
    for value in sorted(set(found), key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return text
