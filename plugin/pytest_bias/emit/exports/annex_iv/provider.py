"""Points 1 and 2 (a) to (f): what the provider states, and what is known of the model."""

from typing import Any, Final

from pytest_bias.emit.about_model import on_asked
from pytest_bias.emit.bounds import NAME
from pytest_bias.emit.costs import cost
from pytest_bias.emit.exports.annex_iv.document import Block, Missing, Text, facts, words
from pytest_bias.emit.exports.annex_iv.source import Source
from pytest_bias.emit.wording import model_name, parameters
from pytest_bias.records.report import Report

STATED: Final = {
    "intended_use": ("Intended use", "the intended purpose of the system"),
    "provider": ("Provider", "the name of the provider"),
    "system": ("System", "the name of the system"),
    "version": ("Version of the system", "the version of the system"),
}
"""Keys of ``context:`` to the title of the statement, and to what is missing without it."""
BESIDE: Final = ("Languages", "Region")
"""Statements that Annex IV does not ask for."""

_VERSIONS: Final = ("python", "torch", "transformers", "numpy", "scipy", "peft")


def purpose(source: Source) -> tuple[Block, ...]:
    """Return what the provider states of the system, and which model was measured."""
    said = source.context.said
    titles = [*(title for title, _ in STATED.values()), *BESIDE]
    stated = [(title, words(said.get(title, ""))) for title in titles]
    return (
        *facts(*stated, stated=True),
        *facts(("Model that was measured", model_name(source.report))),
    )


def unstated(source: Source) -> tuple[Missing, ...]:
    """Return what the provider could state and does not."""
    said = source.context.said
    return tuple(Missing(what, key) for key, (title, what) in STATED.items() if title not in said)


def design(source: Source) -> tuple[Block, ...]:
    """Return the groups of people whom the provider names."""
    return facts(("Groups", words(source.context.said.get("Groups", ""))), stated=True)


def ungrouped(source: Source) -> tuple[Missing, ...]:
    """Return that the provider names no groups."""
    if source.context.groups:
        return ()
    return (Missing("the persons or groups whom the use of the system affects", "groups"),)


def software(source: Source) -> tuple[Block, ...]:
    """Return the software of the tests, which need not be that of the system."""
    there = _environment(source.report)
    found = [(name, words(str(there[name]), NAME)) for name in _VERSIONS if there.get(name)]
    tool = source.report.tool
    own = (words(str(tool.get("name", "")), NAME), words(str(tool.get("version", "")), NAME))
    return (
        Text("Software of the tests; that of the system in use may be another one."),
        *facts(own, *found),
    )


def hardware(source: Source) -> tuple[Block, ...]:
    """Return the hardware of the tests, which need not be that of the system."""
    if asked := source.report.model.asked:
        return (Text(f"The model was asked through {asked}: on which hardware is not known."),)
    there = _environment(source.report)
    found = facts(
        ("Device", words(str(there.get("device") or ""))),
        ("Platform", words(str(there.get("platform") or ""))),
    )
    if not found:
        return ()
    return (Text("Hardware of the tests; that of the system in use may be another one."), *found)


def origin(source: Source) -> tuple[Block, ...]:
    """Return what the measured model was made from, as far as its files say."""
    model = source.report.model
    adapter = model.adapter
    return facts(
        ("Model", words(model.reference, 120)),
        ("Revision", words(model.revision or "", 64)),
        ("Base model", words(model.base_model or "", 120)),
        ("Adapter", words(adapter.reference, 120) if adapter else ""),
        ("Revision of the adapter", words((adapter.revision if adapter else "") or "", 64)),
    )


def architecture(source: Source) -> tuple[Block, ...]:
    """Return kind and size of the measured model, and what its tests cost."""
    model = source.report.model
    if model.asked:
        found = [*on_asked(model)]
    else:
        found = [
            ("Kind", words(f"{model.kind}, {model.architecture}", 120)),
            ("Size", parameters(model.parameters)),
            ("Precision", words(model.dtype, 40)),
            ("Weights, SHA-256", words(model.weights_sha256 or "", 64)),
            ("Configuration, SHA-256", words(model.config_sha256 or "", 64)),
            ("Tokenizer, SHA-256", words(model.tokenizer_sha256 or "", 64)),
            ("Code of the model, SHA-256", words(model.code_sha256 or "", 64)),
        ]
    return facts(*found, ("Resources used for the tests", words(cost(source.report), 400)))


def training(source: Source) -> tuple[Block, ...]:
    """Return that nothing is known of the training data."""
    return (Text("pytest-bias reads a finished model; it knows nothing of the training data."),)


def _environment(report: Report) -> dict[str, Any]:
    found = report.run.get("environment")
    return dict(found) if isinstance(found, dict) else {}
