"""Contrast sets of IMDb reviews: a review, and the same review changed so that its label flips.

Gardner et al. (Findings of EMNLP 2020): experts who know the task changed reviews by as little as
they could. Kaushik, Hovy and Lipton (ICLR 2020): workers did the same, to have training data
without spurious words. A classifier that relies on the topic of films is right on one of the two.
"""

from collections.abc import Sequence
from typing import Any, Final

from bias_suites.robustness.sentence_pairs import accuracy
from bias_suites.scope import scope_card
from pytest_bias.data import DataFile, DataFolder, FoundFile, Row, Source, csv_rows, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import EVEN, Floor, Mean, Metric, Share, own_value
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite, classifier_readings

CONTRAST_SETS: Final = Source(
    "allenai/contrast-sets",
    "e2b87316ba7b30093bc9ffbc340e6550cab79f67",
    "no clear licence",
    consent=True,
)
CONTRAST_FILES: Final = (
    DataFile(
        "imdb_contrast_sets/test_original.tsv",
        None,
        "9dc78ddeb5cb6ff6060d24df33a83b6d29f9828994f4b1a5e0086f7e774713bd",
    ),
    DataFile(
        "imdb_contrast_sets/test_contrast.tsv",
        None,
        "3bcb3bd41218b6a5d7bef7fe020a243919f3df0f12f55291b25ef8bbdbe04173",
    ),
)

COUNTERFACTUAL: Final = Source(
    "acmi-lab/counterfactually-augmented-data",
    "6f232a1d2a11462a30ce08fb4825b734ab30828e",
    "Apache-2.0",
)
COUNTERFACTUAL_FILE: Final = DataFile(
    "counterfactual_imdb/test_paired.tsv",
    f"{COUNTERFACTUAL.raw}/sentiment/combined/paired/test_paired.tsv",
    "9534b20850205c59015b313983cae7afb31c54c04ffcbd19cea7f1bce5011275",
)

ROLE: Final = "sentiment"
LABELS: Final = ("positive", "negative")
SIDES: Final = ("original", "contrast")
GUESSED_TWICE: Final = 25.0
"""Percentage of pairs that random guessing gets right on both sides."""


def load_contrast_sets(data: DataFolder) -> LoadedData:
    """Read the user's own copy of both files, whose rows are paired by number."""
    data.consent("imdb_contrast", CONTRAST_SETS)
    found = [data.find(file) for file in CONTRAST_FILES]
    originals, contrasts = (_rows(file, "Sentiment", "Text") for file in found)
    if len(originals) != len(contrasts):
        counts = f"{len(originals)} and {len(contrasts)}"
        raise DataError(f"{found[0].path} and {found[1].path} are not of the same pairs: {counts}.")
    pairs = list(zip(originals, contrasts, strict=True))
    items = tuple(_item(f"imdb/{n:03d}", *sides) for n, sides in enumerate(pairs))
    return LoadedData(items, describe_files(CONTRAST_SETS, found, len(items)))


def load_counterfactual(data: DataFolder) -> LoadedData:
    """Read the pairs, which are in consecutive rows, the original first."""
    found = data.find(COUNTERFACTUAL_FILE)
    rows = _rows(found, "Sentiment", "Text", "batch_id")
    pairs = list(zip(rows[::2], rows[1::2], strict=False))
    if len(rows) % 2 or any(a["batch_id"] != b["batch_id"] for a, b in pairs):
        raise DataError(f"{found.path} does not hold pairs: two rows of one batch_id each.")
    items = tuple(_item(f"counterfactual/{a['batch_id']}", a, b) for a, b in pairs)
    return LoadedData(items, describe_files(COUNTERFACTUAL, [found], len(items)))


def _rows(found: FoundFile, *columns: str) -> list[Row]:
    rows = csv_rows(found, columns, delimiter="\t")
    if not rows:
        raise DataError(f"{found.path} holds no reviews.")
    return rows


def _item(name: str, original: Row, contrast: Row) -> Item:
    golds = [str(row["Sentiment"] or "").casefold() for row in (original, contrast)]
    texts = [str(row["Text"] or "").strip() for row in (original, contrast)]
    problem = None
    if not all(texts):
        problem = "empty text"
    elif set(golds) != set(LABELS):
        problem = "the labels of the two reviews are not one positive and one negative"
    return Item(
        name,
        name,
        dict(zip(SIDES, texts, strict=True)),
        {"label": golds[1]} if problem is None else {},
        dict(zip(SIDES, golds, strict=True)),
        status="unscored" if problem else None,
        reason=problem,
    )


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Classify every review as positive or negative, whichever is likelier.

    The value of a record is 100 where the changed review is classified correctly, else 0.
    """
    found = classifier_readings.probabilities(
        model, ROLE, [i.texts[s] for i in items for s in SIDES]
    )
    positive, negative = (found.values[c] for c in LABELS)
    records = []
    for number, item in enumerate(items):
        places = dict(zip(SIDES, (2 * number, 2 * number + 1), strict=True))
        if reason := next((found.reasons[n] for n in places.values() if found.reasons[n]), None):
            records.append(item.record("unscored", reason=reason))
            continue
        detail: dict[str, Any] = {}
        for side, n in places.items():
            answer = LABELS[0] if positive[n] >= negative[n] else LABELS[1]
            detail |= {
                f"{side}_p_positive": float(positive[n]),
                f"{side}_p_negative": float(negative[n]),
                f"{side}_right": 100.0 * (answer == item.meta[side]),
            }
        records.append(item.scored(detail["contrast_right"], detail))
    return records


def original_right(record: Record) -> float | None:
    """Percentage: 100 where the original review is classified correctly."""
    return None if record.value is None else float(record.detail["original_right"] or 0)


def lost(record: Record) -> float | None:
    """Points: 100 where the original is right and its contrast wrong, -100 for the reverse."""
    original = original_right(record)
    return None if record.value is None or original is None else original - record.value


def both_right(record: Record) -> float | None:
    """Percentage: 100 where both reviews are classified correctly."""
    original = original_right(record)
    return None if record.value is None or original is None else min(original, record.value)


_BY: Final = (("label",),)
_METRICS: Final[tuple[Metric, ...]] = (
    accuracy(
        "accuracy",
        estimate=Share(own_value),
        by=_BY,
        headline=True,
        floor=Floor("guessing", lambda records: EVEN),
    ),
    accuracy(
        "in_distribution_accuracy",
        estimate=Share(original_right),
        by=_BY,
        floor=Floor("guessing", lambda records: EVEN),
    ),
    Metric("gap", Mean(lost), ideal=0, bounds=(-100, 100), unit="points", tolerance=0.5, by=_BY),
    accuracy(
        "consistency",
        estimate=Share(both_right),
        by=_BY,
        floor=Floor("guessing", lambda records: GUESSED_TWICE),
    ),
)

_NEEDS: Final = frozenset({Capability.OPEN_VOCABULARY})

SUITE: Final = Suite(
    name="imdb_contrast",
    version="1",
    title="IMDb contrast",
    kind="robustness",
    configurations=(
        Configuration(
            "en",
            "en",
            load_contrast_sets,
            files=CONTRAST_FILES,
            consents=(CONTRAST_SETS,),
            needs=_NEEDS,
            clusters="pairs of reviews",
            note="contrast sets by experts",
        ),
        Configuration(
            "en-counterfactual",
            "en",
            load_counterfactual,
            files=(COUNTERFACTUAL_FILE,),
            needs=_NEEDS,
            clusters="pairs of reviews",
            note="counterfactually augmented pairs by workers",
        ),
    ),
    measures=(
        Measure(
            "the likelier of positive and negative",
            frozenset({Capability.CLASSIFY}),
            take,
            _METRICS,
            reads=ROLE,
            reads_also=("negative",),
        ),
    ),
    scope=scope_card("imdb_contrast"),
    tags=("robustness", "shortcuts"),
    badge=(
        "right {accuracy} · originals {in_distribution_accuracy:percent} · "
        "both {consistency:percent}",
    ),
)
