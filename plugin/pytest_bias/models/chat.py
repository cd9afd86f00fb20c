"""Prompts as chat turns, formatted by the tokenizer's chat template."""

import datetime
from collections.abc import Sequence
from typing import Any, Final

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.tokens import Tokens, Unreadable

DAY: Final = datetime.datetime(2026, 1, 1)
"""Date for templates that write today's date, fixed so that runs are reproducible."""

CLOCK: Final = "strftime_now"
"""Function by which templates request the date, with a format as for `strftime`."""

_STOPPED: Final = (
    f"{{% macro {CLOCK}(format) %}}{{{{ format"
    + "".join(f" | replace('{d}', '{DAY.strftime(d)}')" for d in ("%-d", "%-m"))
    + "".join(f" | replace('%{d}', '{DAY.strftime('%' + d)}')" for d in "aAbBdeFHIjmMpSuwyY")
    # A line break after a block is removed, one after an expression is not.
    + " }}{% endmacro %}{{ '' }}"
)


def template_of(tokenizer: Any) -> str | None:
    """Return the template for plain conversations, or None."""
    return default_of(getattr(tokenizer, "chat_template", None))


def default_of(found: Any) -> str | None:
    """Return the template for plain conversations from a tokenizer's named ones."""
    if isinstance(found, dict):
        found = found.get("default")
    return str(found) if found else None


def user_turns(
    tokenizer: Any, prompts: Sequence[str], system: str | None = None
) -> list[list[int] | Unreadable]:
    """Return the ids of conversations in which the model replies to one user turn, or a reason.

    With a system text, it is the first message. The template writes every special token, so the
    tokenizer adds none. A tokenizer is much slower for single texts than for many at once.
    """
    if not prompts:
        return []
    template = template_of(tokenizer) or ""
    before = [{"role": "system", "content": system}] if system else []
    try:
        found = tokenizer.apply_chat_template(
            [[*before, {"role": "user", "content": prompt}] for prompt in prompts],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
            chat_template=_STOPPED + template if CLOCK in template else template,
        )
    except Exception as error:
        # A template is code of the checkpoint: it may raise anything, for one prompt of many.
        if len(prompts) > 1:
            return [one for p in prompts for one in user_turns(tokenizer, [p], system)]
        first = (str(error).splitlines() or [""])[0][:200]
        return [Unreadable(f"the chat template cannot be used: {type(error).__name__}: {first}")]
    return [[int(i) for i in ids] for ids in found]


def user_turn(tokenizer: Any, prompt: str, system: str | None = None) -> list[int]:
    """Return the ids of one conversation as `user_turns`, or raise `Unreadable`."""
    (found,) = user_turns(tokenizer, [prompt], system)
    if isinstance(found, Unreadable):
        raise found
    return found


def in_force(
    asked: str, tokens: Tokens, *, model: str, continues: bool, system: str | None = None
) -> bool:
    """Whether to format prompts as chat turns.

    Parameters
    ----------
    asked : str
        ``auto`` (if there is a template), ``on`` or ``off``.
    tokens : Tokens
        The tokenizer, with the template.
    model : str
        The model's name, for messages.
    continues : bool
        Whether the model generates text at all.
    system : str, optional
        System text to put before every turn.

    Raises
    ------
    UsageError
        If a chat is requested, or a system text given, but there is no chat; or if a special token
        is written in the system text.
    ModelError
        If the template cannot be used, or has no place for the system text.
    """
    tokenizer = tokens.tokenizer
    template = template_of(tokenizer)
    if asked == "on" and not (template and continues):
        what = "its tokenizer has no chat template" if continues else "it does not generate text"
        raise UsageError(f"--chat on: {model} is not a chat model, {what}.", "--chat auto, or off")
    if asked == "off" or not template or not continues:
        refuse_system(system, model)
        return False
    try:
        user_turn(tokenizer, "Hello.")
    except Unreadable as reason:
        raise ModelError(
            f"{model}: {reason}", "--chat off continues prompts as plain text."
        ) from None
    if system:
        if named := tokens.names_special(system):
            raise UsageError(
                f"--system: {named} is written in the text, and the chat template of {model} would "
                "make the special token of it."
            )
        _check_system(tokenizer, system, model)
    return True


def refuse_system(system: str | None, model: str) -> None:
    """Raise `UsageError` if there is a system text, for a model that is not asked by chat turns."""
    if system:
        raise UsageError(
            f"--system: {model} is not asked by chat turns, which a system text needs.",
            "Leave it out, or measure a chat model with --chat on.",
        )


def _check_system(tokenizer: Any, system: str, model: str) -> None:
    """Raise `ModelError` if a chat template refuses, drops or changes a system text."""
    hint = "Leave out --system; some templates take instructions in the user's turn only."
    try:
        ids = user_turn(tokenizer, "Hello.", system)
    except Unreadable as reason:
        raise ModelError(f"--system: {model}: {reason}", hint) from None
    written = "".join(str(tokenizer.decode(ids)).split())
    if "".join(system.split()) not in written:
        raise ModelError(f"--system: the chat template of {model} leaves the text out.", hint)
