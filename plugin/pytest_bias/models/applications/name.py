"""Names of applications: ``app:module:function``."""

import re
from typing import Final

from pytest_bias.errors import UsageError

PREFIX: Final = "app:"
"""Prefix of the names of applications."""

FORM: Final = "app:module:function"

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


def target(name: str) -> tuple[str, str]:
    """Return module and function of the name of a reference."""
    module, _, function = (DEMO_FUNCTION if name == DEMO_CHAT else name).partition(":")
    return module, function
