"""Addresses of served models: ``openai:http://host:port/v1#name``."""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from pytest_bias.errors import UsageError

PROTOCOL: Final = "openai:"
"""Prefix of the names of served models."""

FORM: Final = "openai:http://host:port/v1#name"
KEYS: Final = ("PYTEST_BIAS_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key, in order of precedence."""

_ADAPTER: Final = re.compile(r"\+[^+]*/|\+openai:")


def read_address(text: str) -> tuple[str, str]:
    """Return the address of the server and the name of the model, empty if none is given.

    Raises
    ------
    UsageError
        If the address is invalid. The message does not repeat what may be a secret.
    """
    address, _, name = text.removeprefix(PROTOCOL).partition("#")
    hint = f"A served model is {FORM}."
    try:
        parts = urlsplit(address)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise UsageError("the address after openai: is invalid.", hint) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the address after openai: has a user name or a password in it, which would be shown "
            "in every report.",
            f"Leave it out; a key is read from the environment: {' or '.join(KEYS)}.",
        )
    if parts.query:
        raise UsageError(
            "the address after openai: has a query (?…), which may be a secret and would be shown "
            "in every report.",
            f"Leave it out; a key is read from the environment: {' or '.join(KEYS)}.",
        )
    if not text.isprintable() or any(c.isspace() for c in address):
        raise UsageError("the address after openai: has a space or an invisible character.", hint)
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{text!r:.120} names no server.", hint)
    if "@" in name:
        raise UsageError(
            f"{text!r:.120}: a served model has no revision; the model that the server has loaded "
            "is measured.",
            hint,
        )
    if _ADAPTER.search(name):
        raise UsageError(
            f"{text!r:.120}: no adapter can be put on a served model.",
            "Load it in the server, and name the model as the server does.",
        )
    host = f"[{host}]" if ":" in host else host
    place = f"{host}:{port}" if port else host
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}", name


def is_loopback(server: str) -> bool:
    """Whether an address is a loopback address."""
    host = urlsplit(server).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown_name(name: str) -> str:
    """Return a model's name without folders of a machine."""
    is_path = name.startswith(("/", "~", "\\", ".")) or re.match(r"[A-Za-z]:[\\/]", name)
    return re.split(r"[\\/]", name.rstrip("\\/"))[-1] if is_path else name
