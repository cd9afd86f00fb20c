"""Structural checks: can this model be measured at all?

They run right after every load, before anything is scored. An essential check that fails (numbers
that are not finite, or that change between calls) leaves every other suite unmeasured.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder
from pytest_bias.errors import MeasurementError
from pytest_bias.models import Capability, Cloze, Continuation, Model, Question
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Mean, Metric, own_value
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite, bundled_info, text_file

TEXTS: Final = "sentences/en/structure.yaml"
TOLERANCE: Final = {"float32": 1e-4, "tf32": 1e-2}
"""Largest difference in nats between a text alone and in a batch; half precision: 0.1."""

LEAST_PER_TOKEN: Final = -100.0
"""Mean log-probability per token, in nats, below which a model predicts nothing."""


def load(data: DataFolder) -> LoadedData:
    """Return one item per check."""
    texts = text_file(TEXTS)
    roles = {str(i): s for i, s in enumerate(texts["sentences"])}
    meta = {"clozes": texts["clozes"]}
    items = tuple(Item(name, name, roles, meta=meta) for name in CHECKS)
    return LoadedData(items, bundled_info([texts], len(items)))


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Run the checks that apply to this kind of model."""
    records = []
    for item in items:
        check, essential = CHECKS[item.id]
        with np.errstate(invalid="ignore", over="ignore"):
            problem = check(model, item)
        if problem is NOT_APPLICABLE:
            records.append(item.record("excluded", reason=problem))
            continue
        record = item.record(
            "scored", 0.0 if problem else 100.0, {"essential": essential}, reason=problem
        )
        records.append(record)
    return records


NOT_APPLICABLE: Final = "not applicable to this kind of model"

NUMBERS: Final = frozenset(
    {Capability.LOG_LIKELIHOOD, Capability.PSEUDO_LOG_LIKELIHOOD, Capability.EMBED}
)
"""Capabilities that give comparable numbers; a model without any of them only generates text."""

NEW_TOKENS: Final = 8
"""Number of tokens to generate in a check of generation."""


def numbers(model: Model, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the model's numbers for each text: its score, or its vector; shape (n_texts, k).

    The outputs of a head that classifies or answers are appended to the vector.
    """
    given = model.capabilities
    if given & {Capability.LOG_LIKELIHOOD, Capability.PSEUDO_LOG_LIKELIHOOD}:
        scores = model.score(texts)
        if all(s.reason for s in scores):
            raise MeasurementError(f"no plain sentence is scored: {scores[0].reason}")
        return np.array([[s.total / max(1, s.n_tokens)] for s in scores])
    vectors = model.embed(texts).vectors.astype(np.float64)
    if Capability.CLASSIFY in given:
        return np.hstack([model.classify(texts).probabilities, vectors])
    if Capability.ANSWER in given:
        answers = model.answer([Question(text, text) for text in texts])
        return np.hstack([[[a.score, a.null_score or 0] for a in answers], vectors])
    return vectors


def _gives_numbers(model: Model) -> bool:
    return bool(model.capabilities & NUMBERS)


def _written(model: Model, texts: Sequence[str]) -> list[Continuation]:
    return model.generate(texts, max_new_tokens=NEW_TOKENS)


def finite_outputs(model: Model, item: Item) -> str | None:
    """Check that all numbers are finite, or that a model that only generates text does so."""
    texts = list(item.texts.values())
    if not _gives_numbers(model):
        failed = [c.reason for c in _written(model, texts) if c.reason]
        # A call to a service can fail; what fails every time cannot be measured.
        return f"no plain sentence is answered: {failed[0]}" if len(failed) == len(texts) else None
    found = numbers(model, texts)
    wrong = sum(not np.isfinite(row).all() for row in found)
    return f"{wrong} of {len(found)} sentences give NaN or infinity" if wrong else None


def sensible_range(model: Model, item: Item) -> str | None:
    """Check that different sentences get different numbers, and not all tokens are impossible."""
    texts = list(item.texts.values())
    if model.identity.application:
        # It may have the same reply to all that is not its subject.
        return NOT_APPLICABLE
    if not _gives_numbers(model):
        same = len({c.text for c in _written(model, texts)}) < 2
        return "all sentences are continued alike" if same else None
    found = numbers(model, texts)
    if len(np.unique(found.round(6), axis=0)) < 2:
        return "all sentences get the same numbers"
    if found.shape[1] == 1 and found.mean() < LEAST_PER_TOKEN:
        return f"a token has a log-probability of {found.mean():.0f} nats on average"
    return None


def determinism(model: Model, item: Item) -> str | None:
    """Check that the same texts give the same numbers twice."""
    texts = list(item.texts.values())
    if not _gives_numbers(model):
        return NOT_APPLICABLE
    difference = np.abs(numbers(model, texts) - numbers(model, texts)).max()
    return (
        f"two calls differ by {difference:.2g}"
        if not difference <= model.repeat_tolerance
        else None
    )


def batch_invariance(model: Model, item: Item) -> str | None:
    """Check that a text gives the same numbers alone as in a batch, whatever its length."""
    texts = list(item.texts.values())
    if not _gives_numbers(model):
        return NOT_APPLICABLE
    together = numbers(model, texts)
    alone = np.concatenate([numbers(model, [t]) for t in texts])
    difference = np.abs(together - alone).max()
    allowed = TOLERANCE.get(model.identity.dtype, 0.1)
    return f"alone and in a batch differ by {difference:.2g}" if not difference <= allowed else None


def mask_token(model: Model, item: Item) -> str | None:
    """Check that a gap can be filled, and two words' probabilities at it sum to less than one."""
    if Capability.SLOT not in model.capabilities:
        return NOT_APPLICABLE
    clozes = [Cloze(c["text"], tuple(c["choices"])) for c in item.meta["clozes"]]
    for score in model.slot(clozes):
        if score.reason:
            return score.reason
        if not np.exp(score.log_probabilities).sum() <= 1 + 1e-6:
            return "the probabilities of two words exceed one"
    return None


def round_trip(model: Model, item: Item) -> str | None:
    """Check that the tokenizer reproduces plain English, except case and spaces."""
    if not _gives_numbers(model):
        return NOT_APPLICABLE
    texts = list(item.texts.values())
    pairs = zip(texts, model.round_trip(texts), strict=True)
    wrong = sum(_bare(text) != _bare(back) for text, back in pairs)
    return f"{wrong} of {len(texts)} plain English sentences are not given back" if wrong else None


def _bare(text: str) -> str:
    return "".join(text.casefold().split())


CHECKS: Final[Mapping[str, tuple[Callable[[Model, Item], str | None], bool]]] = {
    "finite outputs": (finite_outputs, True),
    "determinism": (determinism, True),
    "batch invariance": (batch_invariance, True),
    "sensible range": (sensible_range, True),
    "mask token": (mask_token, False),
    "round trip": (round_trip, False),
}

SUITE: Final = Suite(
    name="structure",
    version="1",
    title="Structure",
    kind="structure",
    configurations=(Configuration("all", "en", load),),
    measures=(
        Measure(
            "structural checks",
            frozenset(),
            take,
            (
                Metric(
                    "checks_passed",
                    Mean(own_value),
                    ideal=100,
                    bounds=(0, 100),
                    unit="%",
                    tolerance=0,
                    headline=True,
                    without_interval="its checks are all that there are, and no sample of more",
                ),
            ),
        ),
    ),
    scope=scope_card("structure"),
)
