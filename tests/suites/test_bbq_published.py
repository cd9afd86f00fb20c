"""BBQ: the scores that its paper gives of UnifiedQA, from the answers that its authors published.

Figures 2, 3 and 5 of Parrish et al. (2022), for options written as in RACE and as in ARC. Counts of
answers are kept here, as their files are large; the last test counts them again where these are.
"""

import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from bias_suites.social import bbq, bbq_rows
from bias_suites.social.bbq_scores import ANSWERED
from pytest_bias.data.sources import DataFolder
from pytest_bias.records.report import Item, Record


class Counts(NamedTuple):
    """Answers in contexts of one kind: stereotypical, of the other person, unknown."""

    biased: int
    counter: int
    unknown: int


class Published(NamedTuple):
    """Answers in ambiguous contexts and in those whose right answer is stereotypical, or is not.

    With accuracies of figure 5, bias scores of figure 3, and the accuracy cost of figure 2, which
    is accuracy where the right answer is not stereotypical minus accuracy where it is.
    """

    ambiguous: Counts
    aligned: Counts
    opposed: Counts
    accuracies: tuple[float, float]
    scores: tuple[float, float]
    cost: float


PUBLISHED: Final = {
    ("Age", "race"): Published(
        Counts(691, 143, 1006),
        Counts(870, 0, 50),
        Counts(0, 850, 70),
        (54.7, 93.5),
        (29.8, 1.2),
        -2.2,
    ),
    ("Age", "arc"): Published(
        Counts(1058, 158, 623),
        Counts(850, 1, 69),
        Counts(5, 799, 116),
        (33.9, 89.6),
        (48.9, 3.3),
        -5.5,
    ),
    ("Disability_status", "race"): Published(
        Counts(264, 99, 415),
        Counts(359, 6, 29),
        Counts(0, 363, 21),
        (53.3, 92.8),
        (21.2, -1.4),
        3.4,
    ),
    ("Disability_status", "arc"): Published(
        Counts(376, 122, 280),
        Counts(358, 6, 30),
        Counts(1, 358, 25),
        (36.0, 92.0),
        (32.6, -0.7),
        2.4,
    ),
    ("Nationality", "race"): Published(
        Counts(308, 216, 1016),
        Counts(731, 3, 36),
        Counts(1, 712, 57),
        (66.0, 93.7),
        (6.0, 1.2),
        -2.5,
    ),
    ("Nationality", "arc"): Published(
        Counts(561, 338, 641),
        Counts(716, 7, 47),
        Counts(2, 714, 54),
        (41.6, 92.9),
        (14.5, -0.2),
        -0.3,
    ),
    ("Physical_appearance", "race"): Published(
        Counts(363, 35, 390),
        Counts(338, 40, 48),
        Counts(9, 309, 44),
        (49.5, 82.1),
        (40.9, -5.8),
        6.7,
    ),
    ("Physical_appearance", "arc"): Published(
        Counts(440, 58, 290),
        Counts(331, 52, 43),
        Counts(13, 290, 59),
        (36.8, 78.8),
        (47.7, -3.4),
        3.3,
    ),
    ("Religion", "race"): Published(
        Counts(148, 62, 390),
        Counts(265, 21, 14),
        Counts(20, 263, 17),
        (65.0, 88.0),
        (14.3, 0.2),
        -0.7,
    ),
    ("Religion", "arc"): Published(
        Counts(242, 95, 263),
        Counts(262, 11, 27),
        Counts(17, 249, 34),
        (43.8, 85.2),
        (24.5, 3.5),
        -4.3,
    ),
    ("Sexual_orientation", "race"): Published(
        Counts(80, 55, 297),
        Counts(202, 1, 13),
        Counts(0, 204, 12),
        (68.8, 94.0),
        (5.8, -0.7),
        0.9,
    ),
    ("Sexual_orientation", "arc"): Published(
        Counts(130, 79, 223),
        Counts(201, 0, 15),
        Counts(0, 199, 17),
        (51.6, 92.6),
        (11.8, 0.5),
        -0.9,
    ),
}
"""Category and format to what was counted and published."""

SAME_ACCURACY_ALONE: Final = {"Physical_appearance"}
"""Categories whose published bias scores are not those of the published answers.

In the authors' file of these answers 36 rows have two equal groups, which their questions have not.
"""

METRICS: Final = {m.name: m.estimate for m in bbq.SUITE.measures[0].metrics}


def records(category: str, context: str, counts: Counts, *, aligned: bool) -> Iterator[Record]:
    for answer, n in zip(("biased", "counter", "unknown"), counts, strict=True):
        right = "unknown" if context == "ambiguous" else "biased" if aligned else "counter"
        for k in range(n):
            name = f"{context}/{aligned}/{answer}/{k}"
            yield Record(
                name,
                name,
                "scored",
                100.0 * (answer == right),
                {"category": category, "context": context},
                {
                    "right": float(answer == right),
                    "named": float(answer != "unknown"),
                    "biased": float(answer == "biased"),
                    "unknown": float(answer == "unknown"),
                    "aligned": float(aligned),
                },
            )


@pytest.mark.parametrize("name", PUBLISHED, ids="-".join)
def test_scores_of_published_answers(name):
    category, _ = name
    found = PUBLISHED[name]
    before = list(records(category, "ambiguous", found.ambiguous, aligned=False))
    after = list(records(category, "disambiguated", found.aligned, aligned=True))
    after += records(category, "disambiguated", found.opposed, aligned=False)

    def score(metric: str, of: list[Record]) -> float:
        return round(METRICS[metric].sums(of).value, 1)

    assert (score("accuracy", before), score("accuracy", after)) == found.accuracies
    scores = score("bias_ambiguous", before), score("bias_disambiguated", after)
    assert score("diff_bias_ambiguous", before) == scores[0]
    same = category not in SAME_ACCURACY_ALONE
    assert (scores == found.scores) is same
    assert (score("diff_bias_disambiguated", after) == -found.cost) is same


# The files


@cache
def items(data_dir: Path) -> dict[str, Item]:
    return {i.id: i for i in bbq_rows.load(DataFolder(data_dir)).items}


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower().replace("'", "")))


def chosen(item: Item, answer: str) -> list[int]:
    """Return the option that an answer is, or whose beginning it is where it was cut."""
    options = [words(item.texts[key]) for key in bbq_rows.ANSWERS]
    said = words(answer)
    same = [n for n, option in enumerate(options) if option == said]
    begun = [n for n, option in enumerate(options) if said and option.startswith(said)]
    return same or (begun if len(begun) == 1 else [])


def published_rows(data_dir: Path, category: str) -> list[dict[str, Any]]:
    path = data_dir / "bbq" / "results" / "UnifiedQA" / f"preds_{category}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no published answers at {path}")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_the_published_answers_are_counted(data_dir):
    for (category, form), expected in PUBLISHED.items():
        found: dict[tuple[str, bool], list[int]] = {}
        for row in published_rows(data_dir, category):
            item = items(data_dir)[f"bbq/{category}/{row['example_id']}"]
            answers = chosen(item, row[f"unifiedqa-t5-11b_pred_{form}"])
            detail = {ANSWERED: float(bool(answers))}
            record = bbq._record(item, bbq._times(answers), detail)
            kind = record.by["context"], bool(record.detail["aligned"])
            biased, named, unknown = (int(record.detail[k]) for k in ("biased", "named", "unknown"))
            own = found.setdefault(kind, [0, 0, 0])
            for k, n in enumerate((biased, named - biased, unknown)):
                own[k] += n
        assert found == {
            ("ambiguous", False): list(expected.ambiguous),
            ("disambiguated", True): list(expected.aligned),
            ("disambiguated", False): list(expected.opposed),
        }, (category, form)
