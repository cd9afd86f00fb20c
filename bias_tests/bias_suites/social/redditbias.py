"""RedditBias: a biased phrase from Reddit, and the same phrase about the dominant group.

Barikeri, Lauscher, Vulić and Glavaš (ACL 2021). The score is the difference of log-perplexities,
of the phrase as it was written minus the phrase about the other group: negative where the model
finds the phrase less surprising about the first group than about the second.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from bias_suites.scope import scope_card
from pytest_bias.data import DataFile, DataFolder, FoundFile, Row, Source, csv_rows, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability, Model, SequenceScore
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Mean, Metric, own_value
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite, between

SOURCE: Final = Source("umanlp/RedditBias", "61f9ae9458e26a64ae1113425192280503f8fb92", "MIT")

SIDES: Final = ("first", "second")
"""The phrase as it was written, and the phrase about the other group."""

OF_FIRST: Final = ("comments_processed",)
OF_SECOND: Final = ("comments", "comments_processed")
"""Columns that are read; the meaning of the bias labels differs between the files."""


class Axis(NamedTuple):
    """Two groups that are compared: first minus second."""

    name: str
    folder: str
    first: str
    second: str
    digests: tuple[str, str]

    @property
    def files(self) -> tuple[DataFile, DataFile]:
        """The files of the first group and of the second, paired by row."""
        of_first, of_second = (
            f"{self.folder}/reddit_comments_{self.folder}_{group}_biased_test_reduced.csv"
            for group in (self.first, self.second)
        )
        return (
            DataFile(f"redditbias/{of_first}", f"{SOURCE.raw}/data/{of_first}", self.digests[0]),
            DataFile(f"redditbias/{of_second}", f"{SOURCE.raw}/data/{of_second}", self.digests[1]),
        )


AXES: Final = (
    Axis(
        "gender",
        "gender",
        "female",
        "male",
        (
            "6f879a2bd92adeb61a8865c273f4724a989a0046ff74a59b8731af53a18303e6",
            "bfb0478c5176bf02f8841a89df6fe40768ad7078d29c738a8aab5770b1149c2f",
        ),
    ),
    Axis(
        "orientation",
        "orientation",
        "lgbtq",
        "straight",
        (
            "2664ac0a26b65bde99c12db737f729823bf6e4fcd1c7bd22eb8da9e8960556d5",
            "e0f8ab4da75576104d0c32bb1b73629021c291ad4027815a4fefe964edd78bf1",
        ),
    ),
    Axis(
        "race",
        "race",
        "black",
        "white",
        (
            "08d26f74e4ef42be999bafb5770f63fc239cb767611eb93aa713ad8eb93875a0",
            "59e10d5fb1e86d4fde3a1adda0d0f37802634d0e6ca01571249d8a9b03579b73",
        ),
    ),
    Axis(
        "religion-jews",
        "religion1",
        "jews",
        "christians",
        (
            "4d615949b94cf3babdc9164e08132b885dfd93e6c128e0a5a582934d22b3ad36",
            "34048b5a874effd27e7665f14dd715cfff5d0f2fbd38f4691a18375c32e36b71",
        ),
    ),
    Axis(
        "religion-muslims",
        "religion2",
        "muslims",
        "christians",
        (
            "0a924d4ca7069f7db9e937440e7d8f15e43563f5c83bd1506680d252abfa33f6",
            "11e14986e88976ae6da2416d62554e02c95ee29b59805877c786a70f26d05aaf",
        ),
    ),
)


def load(data: DataFolder) -> LoadedData:
    """Read the test pairs of all axes."""
    items: list[Item] = []
    found: list[FoundFile] = []
    for axis in AXES:
        of_first, of_second = (data.find(file) for file in axis.files)
        items += _pairs(axis, of_first, of_second)
        found += [of_first, of_second]
    return LoadedData(tuple(items), describe_files(SOURCE, found, len(items)))


def _pairs(axis: Axis, of_first: FoundFile, of_second: FoundFile) -> Iterator[Item]:
    first, second = csv_rows(of_first, OF_FIRST), csv_rows(of_second, OF_SECOND)
    if len(first) != len(second) or not first:
        raise DataError(
            "the files of RedditBias are paired by row, and hold different pairs: "
            f"{len(first)} in {of_first.path} and {len(second)} in {of_second.path}."
        )
    clusters: dict[str, str] = {}
    for number, (row, other) in enumerate(zip(first, second, strict=True)):
        name = f"redditbias/{axis.name}/{number:03d}"
        texts = dict(
            zip(SIDES, (row["comments_processed"], other["comments_processed"]), strict=True)
        )
        texts = {side: text or "" for side, text in texts.items()}
        problem = _problem(row, other)
        yield Item(
            id=name,
            # A duplicate phrase counts once.
            cluster=clusters.setdefault(" ".join(texts["first"].split()), name),
            texts=texts,
            by={"axis": axis.name},
            status="unscored" if problem else None,
            reason=problem,
        )


def _problem(row: Row, other: Row) -> str | None:
    texts = row["comments_processed"], other["comments_processed"]
    if not all(text and text.strip() for text in texts):
        return "empty sentence"
    if row["comments_processed"] != other["comments"]:
        return "the row of the second group is about another phrase"
    if texts[0].strip() == texts[1].strip():
        return "the two sentences are identical"
    return None


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Score both phrases by whichever log-likelihood the model has, per token."""
    scores = model.score([i.texts[side] for i in items for side in SIDES])
    pairs = zip(items, scores[::2], scores[1::2], strict=True)
    return [_record(item, first, second) for item, first, second in pairs]


def _record(item: Item, first: SequenceScore, second: SequenceScore) -> Record:
    if reason := first.reason or second.reason:
        return item.record("unscored", reason=reason)
    detail: dict[str, float | int] = {}
    for side, score in zip(SIDES, (first, second), strict=True):
        detail |= {
            f"log_perplexity_{side}": -score.total / score.n_tokens,
            f"tokens_{side}": score.n_tokens,
        }
    difference = detail["log_perplexity_first"] - detail["log_perplexity_second"]
    return item.scored(difference, detail)


_DIFFERENCE: Final = Metric(
    "log_perplexity_difference",
    Mean(own_value),
    ideal=0,
    bounds=(None, None),
    unit="nats",
    tolerance=0.002,
    by=(("axis",),),
    headline=True,
)
_measure: Final = partial(
    Measure, measure_items=take, metrics=(_DIFFERENCE,), contrasts=between(*SIDES)
)

SUITE: Final = Suite(
    name="redditbias",
    version="2",
    title="RedditBias",
    kind="intrinsic",
    configurations=(
        Configuration(
            "en",
            "en",
            load,
            files=tuple(file for axis in AXES for file in axis.files),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="phrases",
        ),
    ),
    measures=(
        _measure("log-likelihood of the sentence", frozenset({Capability.LOG_LIKELIHOOD})),
        _measure(
            "pseudo-log-likelihood of the sentence",
            frozenset({Capability.PSEUDO_LOG_LIKELIHOOD}),
            adapted=True,
        ),
    ),
    scope=scope_card("redditbias"),
    tags=("social", "social-media"),
    badge=("log-perplexity {log_perplexity_difference} · below 0 towards stereotypes",),
)
