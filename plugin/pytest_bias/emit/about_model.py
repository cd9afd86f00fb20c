"""Facts about a model in words; about a served model few are known."""

from collections.abc import Iterator
from typing import Final

from pytest_bias.emit.wording import parameters
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Report
from pytest_bias.reports.publication_layout import unread
from pytest_bias.untrusted import clean

NOT_KNOWN = "its weights, size and precision are not known"


def traits(model: ModelIdentity) -> list[str]:
    """Return size and precision of a model, or that it is served."""
    if model.served:
        return [f"served, {NOT_KNOWN}"]
    return [parameters(model.parameters), clean(model.dtype, 40)]


def not_read(report: Report) -> str:
    """Return the notice at the top if a model does not read a language, else nothing."""
    return " ".join(
        f"Not shown to read {NAMES.get(language, language)} ({clean(why, 300)}): "
        "suites in this language say nothing of its bias and earn no badge."
        for language, why in unread(report).items()
    )


NAMES: Final = {"en": "English"}
"""Human-readable names of the languages whose reading is checked."""


def in_short(model: ModelIdentity) -> str:
    """Return kind, size and precision as the part of a sentence."""
    return f"{clean(model.kind, 40)} model, {', '.join(traits(model))}"


def on_server(model: ModelIdentity) -> Iterator[tuple[str, str]]:
    """Yield facts about a served model with titles; the server's own texts are untrusted."""
    served = model.served
    if served is None:
        return
    yield "Served", f"by a server of the protocol {clean(served.api, 20)}; {NOT_KNOWN}"
    yield "Asked as", clean(served.model, 120)
    yield "Likelihood", clean(served.likelihood or "none to be had", 200)
    yield "First token", clean(model.prefix_token or "not scored", 120)
    yield "Known again by", clean(served.fingerprint, 12)
    for title, value in (("Owner, it says", served.owned_by), ("Made from, it says", served.root)):
        if value:
            yield title, clean(value, 120)
    if served.max_length:
        yield "Length, it says", f"{served.max_length} tokens"
