"""Answers of a model that is run here, written as somebody's JSON lines."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_bias.models.answered import Query, Recorder
from pytest_bias.models.interface import Capability, Model
from pytest_bias.records.report import Item
from pytest_bias.suites.choosing import MultipleChoice
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.yes_no import WORDS, YesNo


def export(model: Model, measure: Measure, items: Sequence[Item], file: Path) -> Path:
    """Ask the model what a measure asks about each item, and write its answers to a file."""
    recorder = Recorder(model.identity, measure.needs)
    recorder.chat, recorder.label_names = model.chat, model.label_names
    queries: list[tuple[Item, Query]] = []
    for item in items:
        if item.status is None:
            recorder.asked.clear()
            measure.measure_items(recorder, [item])
            queries += [(item, query) for query in recorder.asked]
    rows: list[dict[str, Any]] = []
    for what in ("question", "likelihood", "text", "label"):
        own = [(i, q) for i, q in queries if q.what == what]
        if own:
            rows += globals()[f"_{what}"](model, own, measure)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


Asked = Sequence[tuple[Item, Query]]


def _question(model: Model, asked: Asked, measure: Measure) -> Iterator[dict[str, Any]]:
    questions = [
        (i, YesNo(q.text) if q.options == WORDS else MultipleChoice(q.text, q.options, _of(i)))
        for i, q in asked
    ]
    each = [(i, q, order) for i, q in questions for order in q.orders]
    prompts = [q.prompt(order, chat=model.chat) for _, q, order in each]
    if Capability.CHOOSE in measure.needs:
        found = model.choose(prompts, [q.labels(o) for _, q, o in each])
        for (item, q, order), scores in zip(each, found, strict=True):
            values = dict(zip(q.labels(order), scores.log_probabilities, strict=True))
            yield _row(item, options=[q.options[n] for n in order], loglik=values)
        return
    stop = () if model.chat else ("\n",)
    texts = model.generate(prompts, max_new_tokens=model.answer_tokens, stop=stop)
    for (item, q, order), text in zip(each, texts, strict=True):
        options = [q.options[n] for n in order]
        yield _row(item, options=options, answer=text.text, finished=text.finished)


def _likelihood(model: Model, asked: Asked, measure: Measure) -> Iterator[dict[str, Any]]:
    scores = model.log_likelihood([q.text for _, q in asked])
    for (item, query), score in zip(asked, scores, strict=True):
        tokens = {query.text: score.n_tokens}
        yield _row(item, loglik={query.text: score.total}, tokens=tokens)


def _text(model: Model, asked: Asked, measure: Measure) -> Iterator[dict[str, Any]]:
    n = asked[0][1].n
    found = iter(
        model.generate(
            [q.text for _, q in asked],
            # As in HONEST, the one suite that asks for texts and needs no classifier.
            max_new_tokens=5,
            sample=True,
            n=n,
            seed=model.seed,
            stop=(".", "!", "?", "\n"),
        )
    )
    for item, _ in asked:
        for sample in range(n):
            text = next(found)
            yield _row(item, answer=text.text, finished=text.finished, sample=sample)


def _label(model: Model, asked: Asked, measure: Measure) -> Iterator[dict[str, Any]]:
    found = model.classify([q.text for _, q in asked])
    for (item, _), row in zip(asked, found.probabilities, strict=True):
        yield _row(item, prob=dict(zip(found.labels, map(float, row), strict=True)))


def _of(item: Item) -> str:
    return str(item.meta.get("language", "en"))


def _row(item: Item, **more: Any) -> dict[str, Any]:
    return {"item": item.id, **more}
