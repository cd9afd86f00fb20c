"""Multiple-choice questions: options in the prompt, shown in every cyclic order.

A model's answer depends on where an option stands, so each question is asked once per cyclic order
and the outcomes are averaged: a model that always takes the first option takes every option equally
often. The answer is read from the probabilities of the letters as the next token, or from the text
that the model generates.
"""

import math
import multiprocessing
import os
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, NamedTuple

from pytest_bias.models.interface import Continuation, LabelScores, Model, Presented
from pytest_bias.records.report import Record, Value
from pytest_bias.scoring.estimators import Mean
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.statistics import Sampling, Test
from pytest_bias.suites.choice_rules import AnswerStatus, ChoiceReading, read_choice

LABELS: Final = string.ascii_uppercase
"""Labels of the options, in the order in which they are shown."""
TIE_NATS: Final = 1e-4
"""Labels within this of the likeliest one share the choice."""
SHARED_FROM: Final = 10_000
"""Number of logged texts from which several processes read them."""
LOW_MASS: Final = 0.5
"""Mean probability of the letters below which the user is told to read the text instead."""

LAST_LINES: Final[Mapping[str, tuple[str, str]]] = {
    "en": ("Answer with the letter of one option only.", "Answer:"),
    "ca": ("Respon només amb la lletra d'una opció.", "Resposta:"),
    "es": ("Responde solo con la letra de una opción.", "Respuesta:"),
    "ja": ("選択肢を一つだけ選び、そのアルファベットのみで答えてください。", "答え:"),
    "ko": ("보기 가운데 하나만 골라 그 알파벳으로만 답하세요.", "정답:"),
    "nl": ("Antwoord alleen met de letter van één optie.", "Antwoord:"),
    "tr": ("Yalnızca bir seçeneğin harfiyle yanıt verin.", "Yanıt:"),
    "zh": ("请只用一个选项的字母作答。", "答案:"),
}
"""Language to the last line for a model that answers chat turns, and for one that continues."""


@dataclass(frozen=True, slots=True)
class MultipleChoice:
    """A question with options.

    Parameters
    ----------
    text : str
        Everything before the options, such as context and question.
    options : tuple of str
        From 2 to 26 texts, all different.
    language : str
        Language of the texts, one of `LAST_LINES`.

    Raises
    ------
    ValueError
        If there are too few or too many options, or some are empty or equal, or nothing is known to
        be said in the language.
    """

    text: str
    options: tuple[str, ...]
    language: str = "en"
    label: ClassVar[str] = "the letter of an option"
    """What an answer begins with, in messages."""

    def __post_init__(self) -> None:
        if not 2 <= len(self.options) <= len(LABELS):
            raise ValueError(f"{len(self.options)} options; there must be 2 to {len(LABELS)}")
        seen = [" ".join(option.split()).casefold() for option in self.options]
        if not all(seen):
            raise ValueError("an option is empty")
        if len(set(seen)) < len(seen):
            raise ValueError("two options are equal")
        if self.language not in LAST_LINES:
            known = ", ".join(LAST_LINES)
            raise ValueError(f"no last line in {self.language!r}, only in {known}")

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Every cyclic order of the options, by number.

        Examples
        --------
        >>> MultipleChoice("Who?", ("he", "she", "unknown")).orders
        ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        """
        numbers = tuple(range(len(self.options)))
        return tuple((*numbers[n:], *numbers[:n]) for n in numbers)

    def prompt(self, order: Sequence[int], *, chat: bool) -> str:
        """Return the question with its options in an order.

        Examples
        --------
        >>> print(MultipleChoice("Who?", ("he", "she")).prompt((1, 0), chat=False))
        Who?
        A. she
        B. he
        Answer:
        """
        shown = [f"{label}. {self.options[n]}" for label, n in zip(LABELS, order, strict=False)]
        instruction, answer = LAST_LINES[self.language]
        return "\n".join((self.text, *shown, instruction if chat else answer))

    def labels(self, order: Sequence[int]) -> tuple[str, ...]:
        """Return the labels of the options in an order."""
        return tuple(LABELS[: len(order)])

    def read(self, text: str, order: Sequence[int], finished: str | None) -> ChoiceReading:
        """Read which of the options as shown a generated answer chooses."""
        options = [self.options[n] for n in order]
        return read_choice(text, options, finished=finished, language=self.language)

    def read_as_shown(self, found: Presented) -> ChoiceReading:
        """Read which option an answer of others chooses, by its number in `options`.

        Where the order is unknown, it is read in every one: an answer by letter names another
        option in each, and is unparsed.
        """
        text = found.text or ""
        if found.shown:
            read = read_choice(text, found.shown, finished=found.finished, language=self.language)
            chosen = None if read.option is None else found.stands_for[read.option]
            if read.option is not None and chosen is None:
                return ChoiceReading(AnswerStatus.UNPARSED, None, read.rule, read.thoughts)
            return read._replace(option=chosen)
        readings = [
            r if r.option is None else r._replace(option=order[r.option])
            for order in self.orders
            if (r := self.read(text, order, found.finished))
        ]
        first = readings[0]
        if any((r.status, r.option) != (first.status, first.option) for r in readings):
            return ChoiceReading(AnswerStatus.UNPARSED, None, "", first.thoughts)
        return first


class Shown(NamedTuple):
    """The answer to a question whose options were shown in one order.

    `shares` has for each option, in the order of the question, the share of the choice that it got:
    1 for one of them, or equal parts of likeliest letters; all are 0 unless `status` is answered.
    `log_probabilities` are those of the options' letters in nats, None where a server does not give
    them, and empty where the answer is a text. `reason` states why the question could not be asked.
    Of a log `order` is empty where it is unknown, and without `of_letters` the log-probabilities
    are those of the options' texts.
    """

    order: tuple[int, ...]
    status: AnswerStatus
    shares: tuple[float, ...] = ()
    log_probabilities: tuple[float | None, ...] = ()
    text: str = ""
    thoughts: int = 0
    reason: str | None = None
    of_letters: bool = True

    @property
    def mass(self) -> float:
        """Probability of all letters together."""
        return sum(math.exp(p) for p in self.log_probabilities if p is not None)


Answers = Sequence[Shown]
"""The answers to one question: one per order, or several samples, order by order; of a log those
that it has."""


def choose_by_letters(model: Model, questions: Sequence[MultipleChoice]) -> list[Answers]:
    """Answer by the likeliest letter as the next token; needs `Capability.CHOOSE`."""
    if (known := _known(model, questions)) is not None:
        return known
    asked = [(n, order) for n, q in enumerate(questions) for order in q.orders]
    found = model.choose(
        [questions[n].prompt(order, chat=model.chat) for n, order in asked],
        [questions[n].labels(order) for n, order in asked],
        [n for n, _ in asked],
    )
    shown = [_by_letters(o, s) for (_, o), s in zip(asked, found, strict=True)]
    scored = [s.mass for s in shown if not s.reason]
    if scored and (mean := sum(scored) / len(scored)) < LOW_MASS:
        model.meter.notice(
            f"Of the next token, {100 * mean:.0f} % is {questions[0].label}: this model begins "
            "its answers in another way. --answers text reads what it writes."
        )
    return _grouped(shown, questions)


def choose_by_text(model: Model, questions: Sequence[MultipleChoice]) -> list[Answers]:
    """Answer by generated text; needs `Capability.GENERATE`.

    One answer per order is decoded greedily, or `Model.answer_samples` of them are sampled.
    """
    if (known := _known(model, questions)) is not None:
        return known
    n = model.answer_samples
    asked = [(q, order) for q in questions for order in q.orders]
    found = model.generate(
        [q.prompt(order, chat=model.chat) for q, order in asked],
        max_new_tokens=model.answer_tokens,
        sample=n > 1,
        n=n,
        seed=model.seed,
        stop=() if model.chat else ("\n",),
    )
    each = [one for one in asked for _ in range(n)]
    shown = [_by_text(q, o, c) for (q, o), c in zip(each, found, strict=True)]
    return _grouped(shown, questions, n)


def _known(model: Model, questions: Sequence[MultipleChoice]) -> list[Answers] | None:
    """Return the answers that a log has; None of a model that can be asked."""
    found = model.presented([(q.text, q.options) for q in questions])
    if found is None:
        return None
    each = [(q, p) for q, of in zip(questions, found, strict=True) for p in of]
    shown = iter(_all_shown(each))
    return [[next(shown) for _ in of] for of in found]


def _all_shown(each: Sequence[tuple[MultipleChoice, Presented]]) -> list[Shown]:
    """Return the choices of many answers; reading texts takes time, so processes share many."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    texts = sum(p.text is not None for _, p in each)
    # A copy of a process that has threads, such as those of torch, may hang.
    if texts < SHARED_FROM or cores < 2 or "torch" in sys.modules:
        return [_as_shown(q, p) for q, p in each]
    with ProcessPoolExecutor(cores, multiprocessing.get_context("fork")) as pool:
        return list(pool.map(_shown_of, each, chunksize=1_000))


def _shown_of(one: tuple[MultipleChoice, Presented]) -> Shown:
    return _as_shown(*one)


def _as_shown(question: MultipleChoice, found: Presented) -> Shown:
    if found.reason:
        return Shown(found.order, AnswerStatus.UNPARSED, reason=found.reason)
    if found.nats:
        options = tuple(range(len(found.nats)))
        scores = LabelScores(tuple(-math.inf if p is None else p for p in found.nats))
        return _by_letters(options, scores)._replace(order=found.order, of_letters=found.letters)
    read = question.read_as_shown(found)
    shares = tuple(float(n == read.option) for n in range(len(question.options)))
    text = found.text or ""
    return Shown(found.order, read.status, shares, text=text, thoughts=read.thoughts)


def _grouped(
    shown: Sequence[Shown], questions: Sequence[MultipleChoice], n: int = 1
) -> list[Answers]:
    left = iter(shown)
    return [[next(left) for _ in range(n * len(q.orders))] for q in questions]


def _by_letters(order: tuple[int, ...], scores: LabelScores) -> Shown:
    """Return the answer that has the likeliest letter; without any letter there is none."""
    if scores.reason:
        return Shown(order, AnswerStatus.UNPARSED, reason=scores.reason)
    values = dict(zip(order, scores.log_probabilities, strict=True))
    known = tuple(values[n] if math.isfinite(values[n]) else None for n in range(len(order)))
    best = max(values.values())
    if not math.isfinite(best):
        return Shown(order, AnswerStatus.UNPARSED, (0.0,) * len(order), known)
    chosen = [n for n, value in values.items() if value >= best - TIE_NATS]
    shares = tuple((n in chosen) / len(chosen) for n in range(len(order)))
    return Shown(order, AnswerStatus.ANSWERED, shares, known)


def _by_text(question: MultipleChoice, order: tuple[int, ...], found: Continuation) -> Shown:
    if found.reason:
        return Shown(order, AnswerStatus.UNPARSED, reason=found.reason)
    read = question.read(found.text, order, found.finished)
    chosen = None if read.option is None else order[read.option]
    shares = tuple(float(n == chosen) for n in range(len(order)))
    return Shown(order, read.status, shares, text=found.text, thoughts=read.thoughts)


# Records

_MOST_TEXT: Final = 2_000
"""Characters of a generated answer that a record keeps."""


def times_chosen(answers: Answers, option: int) -> float:
    """Return how many times an option was chosen; a whole number unless letters were equal."""
    return sum(shown.shares[option] for shown in answers)


def not_asked(answers: Answers) -> str | None:
    """Return why a question could not be asked in one of the orders, or None."""
    return next((shown.reason for shown in answers if shown.reason), None)


def details(answers: Answers) -> dict[str, Value]:
    """Return what a record keeps of the answers to one question.

    In how many of the times that it was ``asked`` (orders, times samples) the question was
    ``answered``, ``refused``, ``unparsed`` and ``cut``, and the option shown at a position was
    chosen (``position_1``); and for each of them (``order_0``: numbers of the options as shown) the
    log-probability of each option (``nats_0_1``), or the text (``text_0``). Counts, since sums of
    thirds are not exact.
    """
    found: dict[str, Value] = {"asked": len(answers)}
    for status in AnswerStatus:
        found[status.value] = sum(shown.status is status for shown in answers)
    # In a log the order may be unknown.
    for place in range(min(len(shown.order) for shown in answers)):
        found[f"position_{place + 1}"] = sum(shown.shares[shown.order[place]] for shown in answers)
    if answers[0].log_probabilities:
        if all(shown.of_letters for shown in answers):
            found["label_mass"] = sum(shown.mass for shown in answers)
    else:
        found["thoughts"] = sum(shown.thoughts for shown in answers)
    for number, shown in enumerate(answers):
        found[f"order_{number}"] = " ".join(map(str, shown.order))
        for option, nats in enumerate(shown.log_probabilities):
            found[f"nats_{number}_{option}"] = nats
        if not shown.log_probabilities:
            found[f"text_{number}"] = shown.text[:_MOST_TEXT]
    return found


def _percent(name: str, of: str, record: Record) -> float | None:
    if name not in record.detail:
        return None
    n, whole = (float(record.detail[key] or 0) for key in (name, of))
    return 100.0 * n / whole if whole else None


def control_metrics(n_options: int, *, letters: bool) -> tuple[Metric, ...]:
    """Return the metrics that say how a model answered, whatever it chose.

    The first one is shown beside the headline. ``position_1`` is the percentage of the answers that
    took the option shown first: over all cyclic orders a model without a preference for a position
    takes each equally often, and one that always takes the same position shows no bias at all.

    Parameters
    ----------
    n_options : int
        Number of options of every question of the suite.
    letters : bool
        Whether answers were read from the probabilities of letters, or from texts.
    """
    how = {"label_mass": 100.0} if letters else dict.fromkeys(AnswerStatus, 0.0)
    if not letters:
        how[AnswerStatus.ANSWERED] = 100.0
    whole = (
        control_percentage(str(name), partial(_percent, name, "asked"), ideal, beside=not at)
        for at, (name, ideal) in enumerate(how.items())
    )
    places = (f"position_{n + 1}" for n in range(n_options))
    return (
        *whole,
        *(control_percentage(p, partial(_percent, p, "answered"), 100 / n_options) for p in places),
    )


class _Control(Mean):
    """A mean that says how a model was read; no hypothesis about it is tested."""

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Return no test."""
        return Test(reason="a control of how the model answers")


def control_percentage(
    name: str, of: Callable[[Record], float | None], ideal: float, *, beside: bool = False
) -> Metric:
    """Return a metric in percent that says how a model answered, without a test."""
    bounds = (0.0, 100.0)
    return Metric(
        name, _Control(of), ideal=ideal, bounds=bounds, unit="%", tolerance=0.5, beside=beside
    )
