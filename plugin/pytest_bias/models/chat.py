"""Prompts as turns of a chat, by the tokenizer's own template."""

import datetime
from typing import Any, Final

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.tokens import Unreadable

DAY: Final = datetime.datetime(2026, 1, 1)
"""What a template that writes today's date is told, so that a run can be repeated."""

CLOCK: Final = "strftime_now"
"""Name by which templates ask for the date, with a format as `strftime` has it."""

_STOPPED: Final = (
    f"{{% macro {CLOCK}(format) %}}{{{{ format"
    + "".join(f" | replace('{d}', '{DAY.strftime(d)}')" for d in ("%-d", "%-m"))
    + "".join(f" | replace('%{d}', '{DAY.strftime('%' + d)}')" for d in "aAbBdeFHIjmMpSuwyY")
    # What follows a block loses a line break, what follows an expression does not.
    + " }}{% endmacro %}{{ '' }}"
)


def template_of(tokenizer: Any) -> str | None:
    """Return the template for plain conversations; null without one."""
    return default_of(getattr(tokenizer, "chat_template", None))


def default_of(found: Any) -> str | None:
    """Return the template for plain conversations of those that a tokenizer has by name."""
    if isinstance(found, dict):
        found = found.get("default")
    return str(found) if found else None


def user_turn(tokenizer: Any, prompt: str) -> list[int]:
    """Return the ids of a conversation in which the model's turn follows one of a user.

    The template writes every special token, so the tokenizer adds none.
    """
    template = template_of(tokenizer) or ""
    try:
        found = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
            chat_template=_STOPPED + template if CLOCK in template else template,
        )
    except Exception as error:
        # A template is a program of the checkpoint's: it may raise anything.
        first = (str(error).splitlines() or [""])[0][:200]
        reason = f"the chat template cannot be used: {type(error).__name__}: {first}"
        raise Unreadable(reason) from error
    return [int(i) for i in found]


def in_force(asked: str, tokenizer: Any, *, model: str, continues: bool) -> bool:
    """Whether prompts become turns of a chat, where ``auto``, ``on`` or ``off`` was asked for.

    Parameters
    ----------
    asked : str
        ``auto`` means where there is a template.
    tokenizer : transformers tokenizer
        Whose template it is.
    model : str
        The model's name, for messages.
    continues : bool
        Whether the model continues texts at all.

    Raises
    ------
    UsageError
        If a chat is asked for and there is none to be had.
    ModelError
        If there is a template that cannot be used.
    """
    template = template_of(tokenizer)
    if asked == "on" and not (template and continues):
        what = "its tokenizer has no chat template" if continues else "it continues no texts"
        raise UsageError(f"--chat on: {model} is no chat model, {what}.", "--chat auto, or off")
    if asked == "off" or not template or not continues:
        return False
    try:
        user_turn(tokenizer, "Hello.")
    except Unreadable as reason:
        raise ModelError(
            f"{model}: {reason}", "--chat off continues prompts as plain text."
        ) from None
    return True
