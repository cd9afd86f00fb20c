"""Kind ``completions``: how often does a model write harmful text about a group?

A text is harmful if it has a word from a list, or if a classifier named by the user says so.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from bias_suites.continuations import (
    HARM,
    Judged,
    Values,
    Written,
    answered_metric,
    has_answer,
    judge,
    record,
    sentence,
    write,
)
from bias_suites.social.classified_completions import NEW_TOKENS, SAMPLES, WORDS
from bias_suites.verdicts import THRESHOLD
from pytest_bias.models import GAP, Capability, Model
from pytest_bias.records import Item, Record, Value
from pytest_bias.scoring import Gap, Mean, Metric, Range, own_value
from pytest_bias.suites import (
    DataRow,
    Definition,
    Key,
    Kind,
    Measure,
    Outcome,
    count,
    one_of,
    word,
    words,
)


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    gap = definition.options.get("gap", GAP)
    for row in rows:
        text = row.cells["prompt"].replace(gap, GAP)
        problem = f"{text.count(GAP)} open places" if text.count(GAP) > 1 else None
        filled = text if GAP in text else f"{text} {GAP}."
        prompt = text.partition(GAP)[0].rstrip()
        if text and not prompt:
            problem = "nothing stands before the open place"
        yield row.item({"prompt": prompt, "sentence": filled if text else ""}, problem=problem)


def _written(model: Model, items: Sequence[Item], definition: Definition) -> list[Record]:
    """Let the model continue every beginning."""
    options, prompts = definition.options, [i.texts["prompt"] for i in items]
    written = write(
        model,
        prompts,
        n=options.get("samples", SAMPLES),
        max_new_tokens=options.get("new_tokens", NEW_TOKENS),
    )
    own = "lexicon" in options
    # A listed word in the prompt is not evidence of what the model wrote.
    texts = [
        [text if own else sentence(model, prompt, text) for text in w.texts]
        for prompt, w in zip(prompts, written, strict=True)
    ]
    return _records(model, items, written, texts, definition)


def _filled(model: Model, items: Sequence[Item], definition: Definition) -> list[Record]:
    """Fill the mask with the likeliest words of a masked model."""
    texts = [i.texts["sentence"] for i in items]
    predicted = model.predict(texts, WORDS)
    written = [
        Written(tuple(p.words), Counter({Outcome.ANSWERED: len(p.words)}), reason=p.reason)
        for p in predicted
    ]
    own = "lexicon" in definition.options
    read = [
        [word if own else text.replace(GAP, word) for word in w.texts]
        for text, w in zip(texts, written, strict=True)
    ]
    return _records(model, items, written, read, definition)


def _records(
    model: Model,
    items: Sequence[Item],
    written: Sequence[Written],
    texts: Sequence[Sequence[str]],
    definition: Definition,
) -> list[Record]:
    options = definition.options
    judged = (
        _by_words(texts, options["lexicon"])
        if "lexicon" in options
        else judge(model, options["scorer"], texts)
    )
    harm = HARM.get(options.get("scorer", ""), "listed")
    return [
        record(i, w, j, partial(_summed_up, harm))
        for i, w, j in zip(items, written, judged, strict=True)
    ]


def _by_words(texts: Sequence[Sequence[str]], lexicon: Sequence[str]) -> list[Judged]:
    """Return whether each text has a listed word or phrase."""
    listed = "|".join(re.escape(entry) for entry in sorted(lexicon, key=len, reverse=True))
    found = re.compile(rf"(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE)
    return [
        Judged({"listed": np.array([float(bool(found.search(t))) for t in group])})
        for group in texts
    ]


def _summed_up(harm: str, values: Values) -> tuple[float, dict[str, Value]]:
    share = 100 * float((values[harm] >= THRESHOLD).mean())
    return share, {"n": len(values[harm])}


def _measures(definition: Definition) -> tuple[Measure, ...]:
    by, of = definition.groups, _percent
    metrics: list[Metric] = [of("share", Mean(own_value), by=by, headline=True, ideal_label="none")]
    for (key,) in by:
        metrics += [
            of(f"gap_{key}", Range(own_value, key), unit="points"),
            of(
                f"difference_{key}",
                Gap(own_value, key),
                bounds=(-100, 100),
                unit="points",
                by=((key,),),
                whole=False,
                versus=key,
            ),
        ]
    metrics.append(answered_metric(by))
    scorer = definition.options.get("scorer", "")
    return (
        Measure(
            f"{definition.options.get('samples', SAMPLES)} sampled completions a beginning",
            frozenset({Capability.GENERATE}),
            partial(_written, definition=definition),
            tuple(metrics),
            scorer=scorer,
        ),
        Measure(
            f"{WORDS} likeliest words at the mask",
            frozenset({Capability.FILL}),
            partial(_filled, definition=definition),
            tuple(metrics),
            adapted=True,
            scorer=scorer,
        ),
    )


def _percent(name: str, estimate: Any, **more: Any) -> Metric:
    usual: dict[str, Any] = {
        "ideal": 0,
        "bounds": (0, 100),
        "unit": "%",
        "tolerance": 0.5,
        "where": has_answer,
    }
    return Metric(name, estimate, **usual | more)


def _check(definition: Definition) -> None:
    given = [key for key in ("lexicon", "scorer") if key in definition.options]
    if len(given) != 1:
        raise definition.marked.error(
            (),
            "completions are judged by a lexicon or by a scorer: one of them is needed.",
            "lexicon: [word, two words]\n  scorer: toxicity",
        )


KIND: Final = Kind(
    name="completions",
    about="percentage of completions that hold a listed word, or that a classifier calls harmful",
    suite_kind="intrinsic",
    columns={
        "prompt": Key(word, "a beginning, or a sentence with one [MASK]", needed=True),
    },
    options={
        "lexicon": Key(words, "words that count, whatever their casing"),
        "scorer": Key(one_of(*HARM), "role of a classifier that the user names by --scorer"),
        "samples": Key(count, f"completions a beginning; {SAMPLES} by default"),
        "new_tokens": Key(count, f"most tokens of a completion; {NEW_TOKENS} by default"),
        "gap": Key(word, "what marks the open place in the data, if not [MASK]"),
    },
    items=_items,
    measures=_measures,
    badge=("{share} harmful · none 0",),
    check=_check,
)
