"""Checkpoints by name, and a list of the largest differences at the end of a run.

By default every value of every parameter of a test is tried once: each tokenizer, each suite, each
way to read. What is tried with what else is for the night.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny_models
from pytest_bias.models.interface import Model
from pytest_bias.models.transformer import Transformer

LARGEST = "largest difference: "

REAL = {"bert-tiny": "bert_tiny", "minilm": "minilm", "smollm2": "smollm2"}
TINY = {name: builder.__name__ for name, builder in tiny_models.MASKED.items()}
TINY |= {name: name for name in ("gpt2", "llama", "encoder")}


@pytest.fixture(params=[False, True], ids=["whole", "chunks"])
def _head(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the head run over all positions at once, or over a few at a time."""
    if request.param:
        monkeypatch.setattr("pytest_bias.models.memory.MAX_LOGITS", 10_000)


@pytest.fixture
def checkpoint(
    request: pytest.FixtureRequest, tiny: Callable[[str], Path]
) -> Callable[[str], Path]:
    """Return a function from a name, such as ``bert-tiny`` or ``unigram``, to a model's folder."""

    def find(name: str) -> Path:
        return request.getfixturevalue(REAL[name]) if name in REAL else tiny(TINY[name])

    return find


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Return a function that notes a largest difference for the list at the end."""

    def note(what: str, value: float, unit: str = "nats") -> None:
        record_property(LARGEST + what, f"{value:.2g} {unit}")

    return note


@pytest.fixture
def chunked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with every batch whose head runs in chunks."""
    seen: list[int] = []
    hidden = Transformer._hidden

    def watched(self: Transformer, inputs: Mapping[str, Any]) -> torch.Tensor:
        seen.append(len(next(iter(inputs.values()))))
        return hidden(self, inputs)

    monkeypatch.setattr(Transformer, "_hidden", watched)
    return seen


@pytest.fixture
def same_in_chunks(
    monkeypatch: pytest.MonkeyPatch, measured: Callable[..., None], chunked: list[int]
) -> Callable[..., None]:
    """Return a check that numbers stay what they are where the head runs in chunks."""

    def check(model: Model, positions: int, numbers: Callable[[], list[float]]) -> None:
        expected = numbers()
        assert not chunked
        most = positions * model.body.vocabulary
        monkeypatch.setattr(model.body, "max_logits", most)
        found = numbers()
        assert chunked
        largest = max(abs(a - b) for a, b in zip(found, expected, strict=True))
        measured(f"{positions} positions at once", largest)
        assert largest < 1e-5
        # From 32 positions on a matrix product gives the same bits whatever its number of rows.
        if positions >= 64:
            assert found == expected

    return check


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    # A forward of one text is too small to share: with two threads the loops take longer.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the largest differences, from workers as well."""
    noted = [
        f"{report.nodeid}: {name.removeprefix(LARGEST)} {value}"
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if report.when == "call"
        for name, value in report.user_properties
        if name.startswith(LARGEST)
    ]
    if noted:
        terminalreporter.section("largest differences")
        for line in noted:
            terminalreporter.line(line)
