"""Text of others, made safe to show: a line on a terminal, a word in Markdown."""

import re
import unicodedata


def clean(text: str, limit: int = 200) -> str:
    """Return untrusted text on one line, without control or direction characters."""
    kept: list[str] = []
    for char in text:
        if char in "\r\n\t" or unicodedata.category(char) in ("Zs", "Zl", "Zp"):
            if kept and kept[-1] != " ":
                kept.append(" ")
        elif unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn"):
            kept.append(char)
        # A text may be long; no more of it is read than shows that it has to be cut.
        if len(kept) > limit + 1:
            break
    line = "".join(kept).rstrip(" ")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def visible(line: str) -> str:
    """Return one line of untrusted text as it is, without control and direction characters."""
    hidden = ("Cc", "Cf", "Cs", "Co", "Cn")
    return "".join(c for c in line if unicodedata.category(c) not in hidden)


def markdown(text: str, limit: int = 200) -> str:
    """Return untrusted text as plain words in Markdown, also inside a table."""
    text = clean(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = text.replace("://", ":\\/\\/")
    text = re.sub(r"(?i)\b(www)\.", r"\1\\.", text)
    return re.sub(r"([`*_{}\[\]#!|~$@]|\\(?![/.]))", r"\\\1", text)
