"""MultiNLI's entailed pairs with a negation word: is "not" taken for a contradiction?

Meissner, Sugawara and Aizawa (2022) take those entailed pairs of the matched development set whose
hypothesis has one of 15 words. In training data such words occur mostly in contradictions
(Gururangan et al. 2018), so that a classifier that relies on them is wrong here.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from bias_suites.robustness import mnli
from bias_suites.robustness.sentence_pairs import (
    NLI,
    OUT,
    WHERE,
    accuracy,
    both,
    gap,
    guessing,
    is_in,
    take,
)
from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder, Row, describe_files
from pytest_bias.models import Capability
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Metric
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

WORDS: Final = (
    *("no", "not", "don't", "none", "nothing", "never", "aren't", "isn't", "weren't", "neither"),
    *("didn't", "doesn't", "cannot", "hasn't", "won't"),
)
_WORD: Final = re.compile(rf"(?<!\w)(?:{'|'.join(WORDS)})(?!'?\w)")
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("’‘ʼ＇´`", "'"))

ENTAILMENT, CONTRADICTION = "entailment", "contradiction"


def negations(hypothesis: str) -> list[str]:
    """Return the negation words of a hypothesis, in order.

    Whole words, in any case, with a straight or a curly apostrophe.
    """
    return _WORD.findall(hypothesis.casefold().translate(_APOSTROPHES))


def load(data: DataFolder) -> LoadedData:
    """Read the whole set, and its entailed pairs with a negation word a second time."""
    glue, rows = mnli.rows(data)
    items = [item for n, row in enumerate(rows) for item in both_of(n, row)]
    return LoadedData(tuple(items), describe_files(mnli.SOURCE, [glue], len(items)))


def both_of(number: int, row: Row) -> Iterator[Item]:
    """Yield the pair of a row, twice if it is in the subset: one text, one cluster."""
    label = mnli.gold(row)
    words = negations(str(row["hypothesis"] or ""))
    whole = mnli.item(number, row, label, negation="yes" if words else "no")
    yield whole
    if label == ENTAILMENT and words:
        word = words[0] if len(set(words)) == 1 else "several"
        name = f"negation/{number:04d}"
        yield replace(whole, id=name, by={"label": label, WHERE: OUT, "word": word})


def _is_negated(record: Record) -> bool:
    return is_in(record) and record.by.get("negation") == "yes"


def _is_entailed(record: Record) -> bool:
    return is_in(record) and record.by.get("label") == ENTAILMENT


def _is_plain(record: Record) -> bool:
    return _is_entailed(record) and record.by.get("negation") == "no"


_METRICS: Final[tuple[Metric, ...]] = (
    *both(("word",), in_by=(("label",),)),
    accuracy("accuracy_without_negation", where=_is_plain, floor=guessing()),
    gap("negation_gap", "negation", "no", "yes", where=_is_entailed),
    gap("shortcut_gap", "label", CONTRADICTION, ENTAILMENT, where=_is_negated),
)

SUITE: Final = Suite(
    name="mnli_negation",
    version="1",
    title="MNLI negation",
    kind="robustness",
    configurations=(
        Configuration(
            "en",
            "en",
            load,
            files=(mnli.FILE,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="pairs",
        ),
    ),
    measures=(
        Measure(
            "likeliest answer to premise and hypothesis, of three",
            frozenset({Capability.CLASSIFY}),
            partial(take, roles=NLI),
            _METRICS,
            reads=NLI.role,
            reads_also=mnli.LABELS,
        ),
    ),
    scope=scope_card("mnli_negation"),
    tags=("robustness", "shortcuts"),
    badge=("right {accuracy} · whole set {in_distribution_accuracy:percent}",),
)
