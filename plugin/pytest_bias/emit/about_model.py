"""Facts about a model in words; about a served model or an application few are known."""

from collections.abc import Iterator
from typing import Final

from pytest_bias.emit.answers_source import ORDERS, source
from pytest_bias.emit.wording import parameters
from pytest_bias.records.identity import AnswersIdentity, ModelIdentity, ServedIdentity
from pytest_bias.records.report import Report
from pytest_bias.reports.publication_layout import unread
from pytest_bias.untrusted import clean

NOT_KNOWN = "its weights, size and precision are not known"


def traits(model: ModelIdentity) -> list[str]:
    """Return size and precision of a model, or that they are not known."""
    if model.answers_from:
        return ["no model was run"]
    if model.asked:
        return [f"served, {NOT_KNOWN}" if model.served else NOT_KNOWN]
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
    if model.answers_from:
        return f"{source(model.answers_from)}; no model was run"
    kind = clean(model.kind, 40)
    return f"{kind if model.application else f'{kind} model'}, {', '.join(traits(model))}"


def on_asked(model: ModelIdentity) -> Iterator[tuple[str, str]]:
    """Yield facts about a served model or an application with titles; all texts are untrusted."""
    if model.answers_from:
        yield from _on_answers(model.answers_from)
    if model.application:
        yield from _on_application(model)
    if model.served:
        yield from _on_server(model, model.served)


def _on_answers(answers: AnswersIdentity) -> Iterator[tuple[str, str]]:
    yield "Scored", f"{source(answers)}; no model was run, and nothing shows which one answered"
    yield "Model, the log says", clean(answers.model or "nothing", 120)
    if answers.task:
        yield "Task, the log says", clean(answers.task, 120)
    said = f"{answers.n_matched:,} of {answers.n_answers:,} answers belong to items"
    if answers.n_without:
        said += f"; {answers.n_without:,} items have no answer"
    yield "Matched", f"{said}{' (--partial)' if answers.partial else ''}"
    if orders := ORDERS.get(answers.orders):
        yield "Orders of options", orders
    if answers.read:
        yield "Options chosen by", f"log-likelihoods of {clean(answers.read, 40)}"
    if answers.unfinished:
        yield "Not finished", clean(answers.unfinished, 300)


def _on_application(model: ModelIdentity) -> Iterator[tuple[str, str]]:
    application = model.application
    assert application is not None, "it is an application"
    if application.url:
        yield "Application", f"behind HTTP; {NOT_KNOWN}"
        yield "Address", clean(f"{application.method} {application.url}", 200)
    else:
        yield "Application", f"a function in Python; {NOT_KNOWN}"
        yield "Function", clean(f"{application.module}:{application.function}", 120)
        yield "Source file", clean(model.code_sha256 or "not known", 12)
        yield "Distribution", clean(application.distribution or "none", 120)
    yield "Seed", "taken" if application.seeded else "not taken"
    yield "Known again by", clean(application.fingerprint, 12)


def _on_server(model: ModelIdentity, served: ServedIdentity) -> Iterator[tuple[str, str]]:
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
