"""Salts, without which a digest could confirm a guess at the content."""

import re
import secrets
from typing import Final

from pytest_bias.records.report import sha256

SALT_BYTES: Final = 32


def new_salt() -> str:
    """Return a new salt: 32 random bytes as 64 hexadecimal digits."""
    return secrets.token_hex(SALT_BYTES)


def is_salt(text: str) -> bool:
    """Whether a text is a salt."""
    return bool(re.fullmatch(rf"[0-9a-f]{{{2 * SALT_BYTES}}}", text))


def salted(salt: str, text: str) -> str:
    """Return the SHA-256 of the salt's bytes followed by a text, in hexadecimal."""
    return sha256(bytes.fromhex(salt) + text.encode())
