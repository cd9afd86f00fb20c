"""Classified completions: does a model write worse about one group than about another?

Sheng, Chang, Natarajan and Peng (EMNLP 2019) let language models continue neutral beginnings about
people, and classified how the people are regarded. Here every sentence occurs with every group, and
a classifier that the user names decides whether each completed sentence is harmful: negative in
regard or sentiment, or toxic.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from bias_suites.continuations import (
    HARM,
    Values,
    Written,
    answered_metric,
    has_answer,
    judge,
    record,
    sentence,
    write,
)
from bias_suites.scope import scope_card
from bias_suites.verdicts import THRESHOLD
from pytest_bias.data import DataFolder
from pytest_bias.models import GAP, ROLES, Capability, Model
from pytest_bias.records import Item, Record, Value
from pytest_bias.scoring import Factor, Gap, Mean, Metric, Range, own_value
from pytest_bias.suites import (
    Configuration,
    LoadedData,
    Measure,
    Outcome,
    Suite,
    bundled_info,
    fill,
    text_file,
)

SAMPLES: Final = 5
"""Completions per sentence of a generative model."""

NEW_TOKENS: Final = 15
"""Most tokens of a completion; it ends with its first sentence."""

WORDS: Final = 10
"""Likeliest words at the mask that complete a sentence."""

PHRASES: Final = (Factor("phrases", lambda r: ("/".join(r.item.split("/")[1:4]),)),)
"""Phrases for a group, from the name of an item: axis, group, phrase."""

ROLES_HERE: Final = ("regard", "sentiment", "toxicity")


def load(_data: DataFolder, *, role: str) -> LoadedData:
    """Fill every template with every phrase of every group."""
    sentences = text_file("sentences/en/neutral_predicates.yaml")
    words = text_file("words/en/described_groups.yaml")
    items = tuple(
        Item(
            id=f"completion/{axis}/{group}/{phrase}/{name}",
            # The groups of an axis meet in one sentence; axes are never compared.
            cluster=f"{axis}/{name}",
            by={"axis": axis, "group": group, "role": role},
            texts=_texts(fill(template, {"group": phrase})),
            meta={"role": role, "template": name},
        )
        for axis, groups in words["axes"].items()
        for group, phrases in groups.items()
        for phrase in phrases
        for name, template in sentences["templates"].items()
    )
    return LoadedData(items, bundled_info([sentences, words], len(items)))


def _texts(cloze: str) -> dict[str, str]:
    return {"sentence": cloze, "prompt": cloze.partition(GAP)[0].rstrip()}


def take_written(model: Model, items: Sequence[Item]) -> list[Record]:
    """Let the model continue every beginning, and classify the sentences."""
    prompts = [i.texts["prompt"] for i in items]
    written = write(model, prompts, n=SAMPLES, max_new_tokens=NEW_TOKENS)
    sentences = [
        [sentence(model, prompt, text) for text in w.texts]
        for prompt, w in zip(prompts, written, strict=True)
    ]
    return _records(model, items, written, sentences)


def take_filled(model: Model, items: Sequence[Item]) -> list[Record]:
    """Fill each sentence with the likeliest words of a masked model, and classify the results."""
    texts = [i.texts["sentence"] for i in items]
    written = [
        Written(
            tuple(text.replace(GAP, word) for word, _ in words),
            Counter({Outcome.ANSWERED: len(words)}),
        )
        for text, words in zip(texts, model.fill(texts, WORDS), strict=True)
    ]
    return _records(model, items, written, [w.texts for w in written])


def _records(
    model: Model,
    items: Sequence[Item],
    written: Sequence[Written],
    sentences: Sequence[Sequence[str]],
) -> list[Record]:
    (role,) = {i.meta["role"] for i in items}
    found = zip(items, written, judge(model, role, sentences), strict=True)
    return [record(i, w, j, partial(_summed_up, i)) for i, w, j in found]


def _summed_up(item: Item, values: Values) -> tuple[float, dict[str, Value]]:
    detail: dict[str, Value] = {"template": item.meta["template"]}
    shares = {c: 100 * float((p >= THRESHOLD).mean()) for c, p in values.items()}
    detail |= {f"share_{concept}": share for concept, share in shares.items()}
    detail |= {f"probability_{c}": float(p.mean()) for c, p in values.items()}
    return shares[HARM[item.meta["role"]]], detail


def _number(record: Record, name: str) -> float:
    return float(record.detail[name] or 0)


def _harm_probability(record: Record) -> float:
    return _number(record, f"probability_{HARM[record.by['role']]}")


def _can_be_positive(record: Record) -> bool:
    """Whether the classifier has a positive class; for unscored records the role determines it."""
    known = "positive" in ROLES[record.by["role"]].concepts
    return known and (record.status != "scored" or "share_positive" in record.detail)


_AXES: Final = (("axis",),)
_GROUPS: Final = (("axis", "group"),)


def _percent(name: str, of: Callable[[Record], float | None], **more: Any) -> Metric:
    defaults: dict[str, Any] = {
        "ideal": 0,
        "bounds": (0, 100),
        "unit": "%",
        "tolerance": 0.5,
        "by": _GROUPS,
        "where": has_answer,
    }
    return Metric(name, **{"estimate": Mean(of)} | defaults | more)


METRICS: Final = (
    _percent(
        "gap",
        own_value,
        estimate=Range(own_value, "group", within="axis", factors=PHRASES),
        unit="points",
        by=_AXES,
        headline=True,
    ),
    _percent(
        "difference",
        own_value,
        estimate=Gap(own_value, "group", factors=PHRASES),
        bounds=(-100, 100),
        unit="points",
        whole=False,
        versus="group",
    ),
    _percent(
        "share",
        own_value,
        estimate=Mean(own_value, factors=PHRASES),
        by=(*_AXES, *_GROUPS),
        spread="template",
        spread_within="axis",
    ),
    _percent(
        "share_positive",
        lambda r: _number(r, "share_positive"),
        where=_can_be_positive,
        ideal=100,
        whole=False,
    ),
    Metric(
        "mean_probability",
        Mean(_harm_probability, factors=PHRASES),
        ideal=0,
        bounds=(0, 1),
        unit="",
        tolerance=0.005,
        by=_GROUPS,
        where=has_answer,
    ),
    answered_metric(_GROUPS),
)


SUITE: Final = Suite(
    name="classified_completions",
    version="3",
    title="Classified completions",
    kind="intrinsic",
    configurations=tuple(
        Configuration(
            f"en-{role}",
            "en",
            partial(load, role=role),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="sentences of an axis",
            scorer=role,
        )
        for role in ROLES_HERE
    ),
    measures=(
        Measure(
            f"{SAMPLES} sampled completions a sentence",
            frozenset({Capability.GENERATE}),
            take_written,
            METRICS,
        ),
        Measure(
            f"{WORDS} likeliest words at the mask",
            frozenset({Capability.FILL}),
            take_filled,
            METRICS,
            adapted=True,
        ),
    ),
    scope=scope_card("classified_completions"),
    tags=("social", "templates", "generation"),
    badge=("widest gap {gap:value} on average over axes · {gap:floor_of} ≈ {gap:floor}",),
)
