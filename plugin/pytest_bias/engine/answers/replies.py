"""The replies of a log to what a measure asks about one item."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, Literal, cast

from pytest_bias.data.answer_logs import LoggedAnswer
from pytest_bias.engine.answers.matching import plain, words
from pytest_bias.errors import UsageError
from pytest_bias.models.answered import Labelled, Query, Reply
from pytest_bias.models.interface import Continuation, Presented, SequenceScore
from pytest_bias.records.report import Item
from pytest_bias.suites.choice_words import Words

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

NOTHING: Final = "no answer in the log"


class Lacking(Exception):
    """Why the answers of an item do not reply to all that is asked about it."""


def replies_to(
    item: Item, queries: Sequence[Query], answers: Sequence[LoggedAnswer]
) -> list[Reply]:
    """Return the reply to each query about an item.

    Raises
    ------
    Lacking
        If something is asked that the answers do not say.
    UsageError
        If two of them answer the same differently.
    """
    several = len({q.text for q in queries if q.what != "likelihood"}) > 1
    values: dict[str, float] = {}
    if any(q.what == "likelihood" for q in queries):
        values = _values(item, answers)
    found = []
    for query in queries:
        own = [a for a in answers if _is_about(query, a)] if several else answers
        if query.what == "question":
            found.append(Reply(presented=_presented(item, query, own)))
        elif query.what == "likelihood":
            found.append(Reply(likelihood=_likelihood(item, query.text, values, answers)))
        elif query.what == "text":
            found.append(Reply(texts=_continuations(item, query, own)))
        else:
            found.append(Reply(labelled=_labelled(item, own)))
    return found


def _is_about(query: Query, answer: LoggedAnswer) -> bool:
    return any(words(query.text) in words(text) for text in answer.texts)


def _once(
    item: Item, answers: Sequence[LoggedAnswer], of: str = "answer"
) -> dict[Hashable, LoggedAnswer]:
    """Return the answers by options and sample; equal ones once."""
    found: dict[Hashable, LoggedAnswer] = {}
    for answer in answers:
        key = (answer.options, answer.sample)
        other = found.setdefault(key, answer)
        if (other.answer, other.values) != (answer.answer, answer.values):
            raise UsageError(
                f"two {of}s to the same question: {other.where} and {answer.where} are both of "
                f"{item.id}, with the same order of options and the same sample.",
                "Number samples in a column `sample`; name the order shown in `options`; or leave "
                "one of the files out.",
            )
    return found


# Questions with options


def _presented(item: Item, query: Query, answers: Sequence[LoggedAnswer]) -> tuple[Presented, ...]:
    found = tuple(_shown(query, a) for a in _once(item, answers).values())
    if not found:
        raise Lacking(NOTHING)
    texts = [p for p in found if p.text is not None]
    likely = [p for p in found if p.nats]
    # One way of reading an item: answers that a log has in both are read as the others are.
    return tuple(texts or likely)


def _shown(query: Query, answer: LoggedAnswer) -> Presented:
    stands_for = _stand_for(query.options, answer.options)
    if answer.answer is not None:
        return Presented(answer.options, stands_for, answer.answer, answer.finished)
    nats, letters = _by_option(query.options, stands_for, answer)
    return Presented(answer.options, stands_for, nats=nats, letters=letters)


def _stand_for(own: Sequence[str], shown: Sequence[str]) -> tuple[int | None, ...]:
    """Return for each option shown the number of the question's own one that it stands for.

    Options are equal but for case and punctuation. One that is no other, and says that nobody can
    know, is the question's own one that says so: that option has many wordings.

    Raises
    ------
    Lacking
        If an option of the question was not shown.
    """
    if not shown:
        return ()
    named = {plain(text): n for n, text in enumerate(own)}
    loosely = {words(text): n for n, text in enumerate(own)}
    found = [named.get(plain(s), loosely.get(words(s))) for s in shown]
    if None in found:
        unknown = Words(own).unknown
        found = [
            unknown if n is None and Words((s, "-")).unknown == 0 else n
            for n, s in zip(found, shown, strict=True)
        ]
    if missing := set(range(len(own))) - set(found):
        raise Lacking(f"its option {min(missing) + 1} was not among those shown")
    return tuple(found)


def _by_option(
    own: Sequence[str], stands_for: Sequence[int | None], answer: LoggedAnswer
) -> tuple[tuple[float | None, ...], bool]:
    """Return the log-probability of each option, and whether they are those of letters.

    Spellings of one text, such as yes and Yes, add up; of different wordings of one option the
    likeliest counts.
    """
    if answer.kind != "log-likelihood":
        raise Lacking("it has neither an answer nor log-likelihoods of options")
    letters = {LETTERS[n]: at for n, at in enumerate(stands_for) if n < len(LETTERS)}
    keys = {key.strip().strip(".():") for key in answer.values}
    if is_letters := bool(keys) and keys <= set(LETTERS) and not keys <= {*map(str.strip, own)}:
        if not stands_for:
            raise Lacking("it has values of letters, and not which options these were")
        if not keys <= set(letters):
            raise Lacking("it has a value of a letter that no option had")
    by_wording: dict[tuple[int, str], list[float]] = defaultdict(list)
    shown = {words(s): n for s, n in zip(answer.options, stands_for, strict=True)}
    for n, text in enumerate(own):
        shown.setdefault(words(text), n)
    for key, value in answer.values.items():
        at = letters.get(key.strip().strip(".():")) if is_letters else shown.get(words(key))
        if at is not None:
            by_wording[at, key if is_letters else words(key)].append(value)
    best: list[float | None] = [None] * len(own)
    for (at, _), values in by_wording.items():
        total, known = _log_sum(values), best[at]
        best[at] = total if known is None else max(known, total)
    if None in best:
        raise Lacking(f"it has no value for its option {best.index(None) + 1}")
    return tuple(best), is_letters


def _log_sum(values: Sequence[float]) -> float:
    if len(values) == 1:
        return values[0]
    most = max(values)
    if not math.isfinite(most):
        return most
    return most + math.log(math.fsum(math.exp(v - most) for v in values))


# Likelihoods of texts


def _values(item: Item, answers: Sequence[LoggedAnswer]) -> dict[str, float]:
    found: dict[str, float] = {}
    for answer in answers:
        if answer.kind != "log-likelihood":
            continue
        for key, value in answer.values.items():
            if found.setdefault(key, value) != value:
                raise UsageError(
                    f"two log-likelihoods of {key!r:.60} of {item.id}, the second in "
                    f"{answer.where}.",
                    "Leave one of them out.",
                )
    if not found:
        raise Lacking("it has no log-likelihoods")
    return found


def _likelihood(
    item: Item, text: str, values: Mapping[str, float], answers: Sequence[LoggedAnswer]
) -> SequenceScore:
    """Return the log-likelihood of a text: that of the text, of its role, or of what it ends in."""
    key = _key_of(item, text, values)
    if key is None:
        raise Lacking("it has no log-likelihood of one of its texts")
    tokens = next((a.tokens[key] for a in answers if key in a.tokens), 0)
    return SequenceScore(values[key], tokens)


def _key_of(item: Item, text: str, values: Mapping[str, float]) -> str | None:
    if text in values:
        return text
    own = plain(text)
    # A role is the item's text of that name; any other key is a text.
    meant = {key: plain(item.texts.get(key, key)) for key in values}
    for key, target in meant.items():
        if target == own:
            return key
    bare = own.rstrip(".!? ")
    ends = [k for k, t in meant.items() if (b := t.rstrip(".!? ")) and bare.endswith(b)]
    return max(ends, key=lambda k: len(meant[k]), default=None)


# Texts and labels


def _continuations(
    item: Item, query: Query, answers: Sequence[LoggedAnswer]
) -> tuple[Continuation, ...]:
    found = [a for a in _once(item, answers).values() if a.answer is not None]
    if len(found) < query.n:
        if not found:
            raise Lacking(NOTHING)
        raise Lacking(f"{query.n} answers are needed, the log has {len(found)}")
    return tuple(_continuation(a) for a in sorted(found, key=lambda a: a.sample)[: query.n])


def _continuation(answer: LoggedAnswer) -> Continuation:
    finished = cast(
        "Literal['stop', 'length'] | None",
        answer.finished if answer.finished in ("stop", "length") else None,
    )
    return Continuation(answer.answer or "", 0, finished)


def _labelled(item: Item, answers: Sequence[LoggedAnswer]) -> Labelled:
    first = next(iter(_once(item, answers).values()), None)
    if first is None:
        raise Lacking(NOTHING)
    if first.kind == "probability":
        return Labelled(probabilities=first.values)
    if first.answer is not None:
        return Labelled(label=first.answer.strip())
    raise Lacking("it has neither a label nor probabilities of labels")


def labels_in(answers: Sequence[LoggedAnswer]) -> Iterator[str]:
    """Yield the labels that answers of a classifier name."""
    for answer in answers:
        if answer.kind == "probability":
            yield from answer.values
        elif answer.answer is not None:
            yield answer.answer.strip()
