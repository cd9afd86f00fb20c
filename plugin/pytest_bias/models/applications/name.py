"""Names of applications: ``app:module:function``, or the address of one behind HTTP."""

import re
from typing import Final
from urllib.parse import urlsplit

from pytest_bias.errors import UsageError

PREFIX: Final = "app:"
"""Prefix of the names of applications."""

FORM: Final = "app:module:function"

ADDRESSES: Final = ("http://", "https://")
"""How addresses of applications begin."""

ADDRESS_FORM: Final = "https://host/path"

_HUBS: Final = ("huggingface.co", "hf.co")

DEMO_CHAT: Final = "demo-chat"
"""Name of the bundled application."""

DEMO_FUNCTION: Final = "pytest_bias.models.demo.chat:answer"

_PART: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_NAME: Final = re.compile(rf"({_PART}):({_PART})")


def read_name(text: str) -> str:
    """Return ``module:function`` of a name as written by a user.

    Raises
    ------
    UsageError
        If it is no name of a function in a module.
    """
    name = text.removeprefix(PREFIX)
    if _NAME.fullmatch(name) and ".py:" not in name:
        return name
    hint = f"An application is {FORM}, such as app:my_app.chat:answer."
    module, colon, function = name.partition(":")
    if not function and re.fullmatch(_PART, module) and not module.endswith(".py"):
        raise UsageError(f"{text!r:.120} names no function of the module {module}.", hint)
    if "/" in module or "\\" in module or module.endswith(".py"):
        parts = re.split(r"[/\\]+", re.sub(r"\.py$", "", module).strip("./\\"))
        near = f"{PREFIX}{'.'.join(parts)}{colon}{function}"
        raise UsageError(
            f"{text!r:.120} has a path in the place of a module.",
            f"Name the module as an import does: {near:.120}",
        )
    raise UsageError(f"{text!r:.120} is not an application.", hint)


def is_address(name: str) -> bool:
    """Whether a name is the address of an application."""
    return name.startswith(ADDRESSES)


def read_application(text: str) -> str | None:
    """Return the name of an application as written by a user, or None if it is none.

    Raises
    ------
    UsageError
        If it begins like one and is invalid.
    """
    if text == DEMO_CHAT:
        return text
    if text.startswith(PREFIX):
        return read_name(text)
    return read_url(text) if text.lower().startswith(ADDRESSES) else None


def read_url(text: str) -> str:
    """Return the address of an application.

    Raises
    ------
    UsageError
        If it is invalid, or of the Hub. The message does not repeat what may be a secret.
    """
    hint = f"An application behind HTTP is {ADDRESS_FORM}."
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise UsageError("the address of the application is invalid.", hint) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the address of the application has a user name or a password in it, which would be "
            "shown in every report.",
            'Leave it out; in pytest-bias.yaml: application: {headers: {Authorization: "Basic '
            '${NAME}"}}',
        )
    if parts.query or parts.fragment or text.endswith(("?", "#")):
        raise UsageError(
            "the address of the application has a query (?…) or a fragment (#…), which may be a "
            "secret and would be shown in every report.",
            "Leave it out; in pytest-bias.yaml: application: {query: {name: value}}",
        )
    if not text.isascii() or not text.isprintable() or " " in text:
        raise UsageError(
            "the address of the application has a character that no address can have.",
            "Write it as a browser copies it, with %20 for a space.",
        )
    if not host:
        raise UsageError(f"{text!r:.120} names no server.", hint)
    if host.removeprefix("www.") in _HUBS:
        name = "/".join(parts.path.split("/")[1:3])
        raise UsageError(
            f"{text!r} is an address, not a model.",
            f"A model of the Hub goes by its name alone: {name or 'org/name'}",
        )
    host = f"[{host}]" if ":" in host else host
    place = f"{host}:{port}" if port else host
    return f"{parts.scheme}://{place}{parts.path or '/'}"


def target(name: str) -> tuple[str, str]:
    """Return module and function of the name of a reference."""
    module, _, function = (DEMO_FUNCTION if name == DEMO_CHAT else name).partition(":")
    return module, function
