"""The three questions, asked at a terminal; otherwise answered by flags and the folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from pytest_bias.ci.init.choices import check_model, check_publish, is_path, read_limit_words
from pytest_bias.ci.init.found import Found
from pytest_bias.ci.init.triggers import TRIGGERS, Trigger, trigger
from pytest_bias.errors import BiasError, UsageError

T = TypeVar("T")

FLAGS: Final = "pytest-bias init --model org/name --trigger hub-schedule --publish org/name"


class Asker:
    """Answers from flags, from questions, or from the default that was detected.

    Parameters
    ----------
    console : Console
        Where questions are asked.
    asks : bool
        Whether there is a terminal to ask on.
    takes_defaults : bool
        Whether defaults are used without a question (``--yes``).
    """

    def __init__(self, console: Console, *, asks: bool, takes_defaults: bool) -> None:
        self.console = console
        self.asks = asks
        self.takes_defaults = takes_defaults

    def answer(
        self,
        flag: str,
        question: str,
        read: Callable[[str], T],
        given: str | None,
        default: str | None,
    ) -> T:
        """Return an answer that `read` accepts; at a terminal a wrong one is asked for again.

        Raises
        ------
        UsageError
            If a flag is wrong, or there is no answer.
        """
        if given is not None:
            return read(given)
        if self.takes_defaults and default is not None:
            return read(default)
        if not self.asks or self.takes_defaults:
            what = "was found" if self.takes_defaults else "is asked for without a terminal"
            raise UsageError(f"{flag} is missing, and nothing {what}.", f"For instance: {FLAGS}")
        while True:
            try:
                text = Prompt.ask(
                    Text(question, style="bold"), console=self.console, default=default or ...
                )
            except EOFError:
                raise UsageError(f"no answer came for {flag}.", f"For instance: {FLAGS}") from None
            try:
                return read(str(text).strip())
            except BiasError as error:
                self.console.print(Text(str(error), style="yellow"), soft_wrap=True)


def ask_model(asker: Asker, found: Found, given: str | None, chosen: Trigger | None) -> str | None:
    """Return the model: from the settings, the folder, or the Hub repository of git's remote."""
    if chosen and chosen.takes == "asked":
        return check_model(given, chosen, found.folder) if given else None
    candidates = (found.model, found.weights, found.hub)
    fitting = (c for c in candidates if c and (chosen is None or _fits(c, chosen, found.folder)))
    return asker.answer(
        "--model",
        "1. Which model? org/name of the Hub, or a folder of this repository",
        lambda text: check_model(text, chosen or _usual(text, found.folder), found.folder),
        given,
        next(fitting, None),
    )


def ask_trigger(asker: Asker, found: Found, model: str | None) -> Trigger:
    """Return the trigger of the run; by default the one that fits the model."""
    if asker.asks and not asker.takes_defaults:
        asker.console.print()
        for one in TRIGGERS:
            asker.console.print(Text(f"   {one.name:<18}{one.about}"), soft_wrap=True)

    def read(text: str) -> Trigger:
        chosen = trigger(text)
        if model:
            check_model(model, chosen, found.folder)
        return chosen

    usual = _usual(model, found.folder).name if model else None
    return asker.answer("--trigger", "2. What starts it?", read, None, usual)


def ask_limits(asker: Asker, given: list[str]) -> dict[str, dict[str, object]]:
    """Return the limits; by default none, so that nothing fails."""
    return asker.answer(
        "--limits",
        "3. Should a score fail it? none, or for instance max-distance:crows_pairs=10",
        lambda text: read_limit_words([text]),
        " ".join(given) if given else None if asker.asks else "none",
        "none",
    )


def ask_publish(asker: Asker, found: Found, model: str | None) -> str:
    """Return the repository of the Hub that a trigger publishes to: by default the model's own."""
    of_model = (
        model.partition("@")[0].partition("+")[0]
        if model and not is_path(model, found.folder)
        else None
    )
    return asker.answer(
        "--publish",
        "   Which repository of the Hub are the results proposed to? org/name",
        check_publish,
        # A named model decides; what git knows is only offered as the default.
        None if asker.asks else of_model,
        of_model or found.hub,
    )


def _usual(model: str, folder: Path) -> Trigger:
    """Return the trigger that fits a model best."""
    return trigger("push" if is_path(model, folder) or "/" not in model else "hub-schedule")


def _fits(model: str, chosen: Trigger, folder: Path) -> bool:
    local = is_path(model, folder)
    return {"any": True, "hub": not local, "folder": local, "asked": False}[chosen.takes]
