"""Perturbation: how do small changes of a text affect a model's output?

Each text is changed in every way of `PERTURBATIONS` at three severities, and compared with its
clean version. A language model scores the likelihood of both texts; a classifier classifies both.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from bias_suites.robustness.perturbation_kinds import PERTURBATIONS
from bias_suites.robustness.perturbation_scores import (
    NO_LABEL,
    GeometricMean,
    WorstClass,
    called,
    divergence,
)
from bias_suites.robustness.perturbing import SHARES, changes, perturbed
from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder
from pytest_bias.errors import DataError, UsageError
from pytest_bias.models import Capability, Model, Outputs, SequenceScore
from pytest_bias.records import Item, Record, Value
from pytest_bias.scoring import Mean, Metric, Share, own_value
from pytest_bias.suites import (
    NO_PROBABILITY,
    Configuration,
    LoadedData,
    Measure,
    OwnTexts,
    Suite,
    bundled_info,
    describe_texts,
    load_texts,
    text_file,
)

TEXTS: Final = "sentences/en/perturbation.yaml"
SIDES: Final = ("clean", "perturbed")


def load(data: DataFolder) -> LoadedData:
    """Return the bundled texts, each with all of its changes."""
    texts = text_file(TEXTS)
    items = tuple(
        item
        for register, sentences in texts["registers"].items()
        for number, text in enumerate(sentences)
        for item in items_of(f"{register}/{number:02d}", text)
    )
    return LoadedData(items, bundled_info([texts], len(items)))


def load_own(data: DataFolder) -> LoadedData:
    """Return the texts that the settings name, each with all of its changes."""
    found = load_texts(data)
    items = tuple(item for source in found for item in _own_items(source))
    return LoadedData(items, describe_texts(found, len(items)))


def _own_items(found: OwnTexts) -> Iterator[Item]:
    name, protected = found.source.name, found.source.protect
    for row in found.rows:
        try:
            row.text.encode()
        except UnicodeEncodeError as error:
            where = f"{found.file.path}, texts of {name}, row {row.row}"
            raise DataError(f"{where}, is no valid Unicode: {error.reason}.") from None
        by = {"source": name} | ({"gold": row.label} if row.label else {})
        why = found.why_empty(row)
        yield from items_of(f"{name}/{row.row:06d}", row.text, protected, by, why_empty=why)


def items_of(
    name: str,
    text: str,
    protected: Sequence[str] = (),
    by: Mapping[str, str] | None = None,
    *,
    why_empty: str = "empty text",
) -> Iterator[Item]:
    """Yield a text with every perturbation at every severity.

    A text that cannot be changed in some way is excluded there: it would be compared with itself.

    Parameters
    ----------
    name : str
        Name of the text; the items of one text are a cluster.
    text : str
        The clean text.
    protected : sequence of str
        Words that are not changed.
    by : mapping of str to str, optional
        Groups of the text.
    why_empty : str
        Reason of the items of an empty text.
    """
    for kind in PERTURBATIONS:
        for severity in SHARES:
            changed = perturbed(text, kind, severity, protected)
            out: dict[str, Any] = {}
            if not text.strip():
                out = {"status": "unscored", "reason": why_empty}
            elif changed is None:
                out = {"status": "excluded", "reason": f"nothing in it that {kind} may change"}
            yield Item(
                f"perturbation/{name}/{kind}/{severity}",
                f"perturbation/{name}",
                dict(zip(SIDES, (text, text if changed is None else changed), strict=True)),
                {"perturbation": kind, "severity": f"severity {severity}", **(by or {})},
                {"changes": len(changes(text, kind, severity, protected))},
                **out,
            )


def _texts(items: Iterable[Item]) -> list[str]:
    """Return every text of items once, clean ones too."""
    return list(dict.fromkeys(i.texts[side] for i in items for side in SIDES))


def score(model: Model, items: Sequence[Item]) -> list[Record]:
    """Score the likelihood of the clean and the changed texts, each once.

    The value of a record is the log-likelihood of the changed text divided by the number of its
    characters minus the same of the clean text, in nats.
    """
    texts = _texts(items)
    scores = dict(zip(texts, model.score(texts), strict=True))
    return [_likelihoods(item, *(scores[item.texts[side]] for side in SIDES)) for item in items]


def _likelihoods(item: Item, clean: SequenceScore, changed: SequenceScore) -> Record:
    if reason := clean.reason or changed.reason:
        return item.record("unscored", reason=reason)
    if not (clean.n_tokens and changed.n_tokens):
        return item.record("unscored", reason="no token has a probability")
    detail: dict[str, Value] = {**item.meta}
    per = {}
    for side, found in zip(SIDES, (clean, changed), strict=True):
        length = len(item.texts[side])
        per[side] = found.total / length
        detail |= {side: found.total, f"tokens_{side}": found.n_tokens}
        detail[f"characters_{side}"] = length
    return item.scored(per["perturbed"] - per["clean"], detail)


def _number(record: Record, key: str) -> float:
    return float(record.detail[key] or 0)


def per_character(record: Record, side: str) -> float:
    """Return the log-likelihood of a side, in nats per character (code point)."""
    return _number(record, side) / _number(record, f"characters_{side}")


def log_perplexity_ratio(record: Record) -> float:
    """Return the log of the ratio of per-token perplexities, of the changed to the clean text."""
    clean, changed = (_number(record, s) / _number(record, f"tokens_{s}") for s in SIDES)
    return clean - changed


def classify(model: Model, items: Sequence[Item]) -> list[Record]:
    """Classify the clean and the changed texts, each once.

    The value of a record is 100 where the changed text is classified differently, else 0.

    Raises
    ------
    UsageError
        If texts have a label that the classifier does not give.
    """
    texts = _texts(items)
    found = model.classify(texts)
    _check_gold(items, found.labels)
    if found.outputs is Outputs.REGRESSION:
        return [item.record("unscored", reason=NO_PROBABILITY) for item in items]
    place = {text: n for n, text in enumerate(texts)}
    records = []
    for item in items:
        at = [place[item.texts[side]] for side in SIDES]
        if reason := found.reasons[at[0]] or found.reasons[at[1]]:
            records.append(item.record("unscored", reason=reason))
            continue
        rows = [found.probabilities[n] for n in at]
        if not all(math.isfinite(p) for row in rows for p in row):
            records.append(item.record("unscored", reason="non-finite"))
            continue
        names = [called(row, found.labels, found.outputs) for row in rows]
        detail = {
            **item.meta,
            "divergence": divergence(rows[0], rows[1], found.outputs),
            "class": " + ".join(names[0]) or NO_LABEL,
            "called": " + ".join(names[1]) or NO_LABEL,
        }
        if "gold" in item.by:
            for side, name in zip(SIDES, names, strict=True):
                detail[f"right_{side}"] = name == (item.by["gold"],)
        records.append(item.scored(100.0 * (names[0] != names[1]), detail))
    return records


def _check_gold(items: Iterable[Item], labels: Sequence[str]) -> None:
    unknown = sorted({i.by["gold"] for i in items if "gold" in i.by} - set(labels))
    if unknown:
        raise UsageError(
            f"texts are labelled {', '.join(unknown[:5])}{', …' if unknown[5:] else ''}, which is "
            f"no label of the model; it gives {', '.join(labels)}. Write the model's own labels "
            "into the texts, or leave out `label` in the settings."
        )


def _right(side: str) -> Any:
    """Return a function that gives 100 for a text that is classified as labelled, else 0."""
    return lambda record: 100.0 * bool(record.detail[f"right_{side}"])


def dropped(record: Record) -> float:
    """Return the loss of correctness by the change: 100, 0, or -100 where only it is right."""
    return float(_right("clean")(record) - _right("perturbed")(record))


def _has_gold(record: Record) -> bool:
    return "gold" in record.by


BY: Final = (("perturbation",), ("severity",), ("perturbation", "severity"), ("source",))
_PERCENT: Final[Mapping[str, Any]] = {"unit": "%", "tolerance": 0.5}
_NATS: Final[Mapping[str, Any]] = {"ideal": 0, "unit": "nats/char", "tolerance": 0.005}

_LIKELIHOODS: Final = (
    Metric(
        "log_likelihood_change",
        Mean(own_value),
        bounds=(None, None),
        by=BY,
        headline=True,
        ideal_label="none",
        **_NATS,
    ),
    Metric(
        "token_perplexity_ratio",
        GeometricMean(log_perplexity_ratio),
        ideal=1,
        bounds=(0, None),
        unit="",
        tolerance=0.005,
        by=BY,
    ),
    Metric(
        "log_likelihood",
        Mean(lambda r: per_character(r, "perturbed")),
        bounds=(None, 0),
        by=(("source",),),
        **_NATS,
    ),
    Metric(
        "in_distribution_log_likelihood",
        Mean(lambda r: per_character(r, "clean")),
        bounds=(None, 0),
        by=(("source",),),
        **_NATS,
    ),
)

_CALLS: Final = (
    Metric(
        "flip_rate",
        Share(own_value),
        ideal=0,
        bounds=(0, 100),
        by=BY,
        headline=True,
        ideal_label="none",
        **_PERCENT,
    ),
    Metric(
        "divergence",
        Mean(lambda r: _number(r, "divergence")),
        ideal=0,
        bounds=(0, 1),
        unit="bits",
        tolerance=0.002,
        by=BY,
    ),
    Metric(
        "worst_class",
        WorstClass(own_value),
        ideal=0,
        bounds=(0, 100),
        by=(("perturbation",), ("source",)),
        **_PERCENT,
    ),
    Metric(
        "accuracy_drop",
        Mean(dropped),
        ideal=0,
        bounds=(-100, 100),
        by=BY,
        where=_has_gold,
        **{**_PERCENT, "unit": "points"},
    ),
    Metric(
        "accuracy",
        Share(_right("perturbed")),
        ideal=100,
        bounds=(0, 100),
        by=BY,
        where=_has_gold,
        **_PERCENT,
    ),
    Metric(
        "in_distribution_accuracy",
        Share(_right("clean")),
        ideal=100,
        bounds=(0, 100),
        by=BY,
        where=_has_gold,
        **_PERCENT,
    ),
)

_OPEN: Final = frozenset({Capability.OPEN_VOCABULARY})

SUITE: Final = Suite(
    name="perturbation",
    version="1",
    title="Perturbation",
    kind="robustness",
    configurations=(
        Configuration("en", "en", load, needs=_OPEN, clusters="texts"),
        Configuration(
            "own",
            "",
            load_own,
            needs=_OPEN,
            own_texts=True,
            clusters="texts",
            note="texts of your own",
        ),
    ),
    measures=(
        Measure(
            "pseudo-log-likelihood of the text",
            frozenset({Capability.PSEUDO_LOG_LIKELIHOOD}),
            score,
            _LIKELIHOODS,
        ),
        Measure(
            "log-likelihood of the text",
            frozenset({Capability.LOG_LIKELIHOOD}),
            score,
            _LIKELIHOODS,
        ),
        Measure(
            "label of the text",
            frozenset({Capability.CLASSIFY}),
            classify,
            _CALLS,
        ),
    ),
    scope=scope_card("perturbation"),
    tags=("robustness",),
    badge=(
        "small changes flip the label of {flip_rate} · none 0",
        "log-likelihood {log_likelihood_change} after small changes · none 0",
    ),
)
