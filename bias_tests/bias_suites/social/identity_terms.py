"""Identity terms: is harmless text called toxic because of the group that it names?

Dixon, Li, Sorensen, Thain and Vasserman (AIES 2018), with the templates of their second set and its
other languages; areas under the curve by Borkan, Dixon, Sorensen, Thain and Vasserman (WWW 2019).
Every term occurs in every sentence, so that the rates of two terms are over the same texts.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from bias_suites.scope import scope_card
from bias_suites.social import identity_sentences
from bias_suites.social.identity_sentences import Reading
from bias_suites.verdicts import called
from pytest_bias.data import DataFile, DataFolder, Source, csv_rows, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Record
from pytest_bias.scoring import Auc, Contribution, Deviation, Gap, Metric
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

COLUMNS: Final = ("template", "toxicity", "phrase")

SOURCE: Final = Source(
    "conversationai/unintended-ml-bias-analysis",
    "9c7d91aaa53406a362354661a93e07956d95e59a",
    "Apache-2.0",
)

SUMS: Final[Mapping[str, str]] = {
    "en": "8ed7d07f61000a95a2e18747b8f1fbf43d75257cd342cddef1f3533254374633",
    "de": "aeeb09e2c692cf0b03c05be95d54dfee14f997178381d894071f0826fdc45674",
    "hi-Latn": "b5fefdb73eb8dc5fe9ee5ae3954898e7cea9bf0773d8bdd2441d0cd4b9928bf8",
    "nl": "ce647c19e7d7dd70aa63b9df520654c7d232ab1f27bc4d75d03e4ea1270dd27e",
    "zh-cn": "d1eff6f6653435a58dda7c55e766ce84d3659bdfead3ada0011b3a233cf29cfe",
}

READINGS: Final[Mapping[str, Reading]] = {
    "en": Reading("am_hate_adj", r"I am (.+)"),
    "de": Reading(
        "am_hate_adj", r"Ich bin (.+)", inflection="er", templates=("am_hate_adj", "being_adj")
    ),
    "hi-Latn": Reading("i_am_identity", r"\S+ (.+) \S+"),
    "nl": Reading("am_identity", r"Ik ben (?:een )?(.+)"),
    "zh-cn": Reading("am_identity", r"我是(?:一名)?(.+)"),
}
"""File to how its texts name the terms. German: only templates without inflected terms."""


def file_of(tag: str) -> DataFile:
    """Return the file of a language, by its name in the repository."""
    name = f"sentence_templates/{tag}_sentence_templates.csv"
    url = f"{SOURCE.raw}/{name}"
    return DataFile(f"unintended_bias_templates/{name}", url, SUMS[tag])


def load(data: DataFolder, *, tag: str, balanced: bool) -> LoadedData:
    """Read the sentences of one language, all or a sample balanced over templates."""
    found = data.find(file_of(tag))
    items = identity_sentences.items(csv_rows(found, COLUMNS), READINGS[tag], balanced=balanced)
    if not any("term" in item.by for item in items):
        raise DataError(f"{found.path} holds no sentence that stands there for every term.")
    return LoadedData(items, describe_files(SOURCE, [found], len(items)))


take: Final = partial(called, role="toxicity", concept="toxic")
"""Classify every text as toxic or not."""


def is_toxic(record: Record) -> bool:
    """Whether a text is labelled toxic."""
    return record.by["toxicity"] == "toxic"


def is_harmless(record: Record) -> bool:
    """Whether a text is labelled as not toxic."""
    return record.by["toxicity"] == "nontoxic"


def probability(record: Record) -> float | None:
    """Return the probability that a text is toxic; None where only the label is known."""
    found = record.detail.get("probability")
    return None if found is None else float(found)


def flagged(record: Record) -> float | None:
    """Percentage: 100 for a text that is called toxic, else 0."""
    return record.value


def missed(record: Record) -> float | None:
    """Percentage: 100 for a text that is not called toxic, else 0."""
    return None if record.value is None else 100.0 - record.value


def _rates(kind: str, of: Contribution, **more: Any) -> Iterator[Metric]:
    """Yield the mean deviation of the terms' error rates, and each term's gap to the others."""
    shared: dict[str, Any] = {"ideal": 0, "unit": "points", "tolerance": 0.5}
    shared["where"] = is_toxic if of is missed else is_harmless
    yield Metric(f"{kind}_difference", Deviation(of, "term"), bounds=(0, 100), **shared, **more)
    yield Metric(
        f"{kind}_gap",
        Gap(of, "term"),
        bounds=(-100, 100),
        by=(("term",),),
        whole=False,
        versus="term",
        **shared,
    )


def _auc(name: str, estimate: Auc, **more: Any) -> Metric:
    return Metric(name, estimate, ideal=1, bounds=(0, 1), unit="", tolerance=0.002, **more)


_BY_TERM: Final[Mapping[str, Any]] = {"by": (("term",),), "whole": False}
_METRICS: Final = (
    *_rates("false_positive", flagged, headline=True),
    *_rates("false_negative", missed),
    _auc("auc", Auc(probability, is_toxic)),
    _auc("subgroup_auc", Auc(probability, is_toxic), **_BY_TERM),
    _auc("bpsn_auc", Auc(probability, is_toxic, "term", "negatives"), versus="term", **_BY_TERM),
    _auc("bnsp_auc", Auc(probability, is_toxic, "term", "positives"), versus="term", **_BY_TERM),
)


def _configuration(
    name: str, tag: str, *, balanced: bool = True, only_named: bool = False, note: str = ""
) -> Configuration:
    return Configuration(
        name,
        name.partition("-")[0],
        partial(load, tag=tag, balanced=balanced),
        files=(file_of(tag),),
        needs=frozenset({Capability.OPEN_VOCABULARY}),
        only_named=only_named,
        clusters="sentences",
        note=note,
    )


SUITE: Final = Suite(
    name="identity_terms",
    version="3",
    title="Identity terms",
    kind="downstream",
    configurations=(
        _configuration("en", "en", note="templates in balance"),
        _configuration("en-full", "en", balanced=False, only_named=True, note="all sentences"),
        _configuration("de", "de"),
        _configuration("hi-Latn", "hi-Latn", note="Hindi in Latin letters"),
        _configuration("nl", "nl"),
        _configuration("zh", "zh-cn"),
    ),
    measures=(
        Measure(
            "probability of the toxic label",
            frozenset({Capability.CLASSIFY}),
            take,
            _METRICS,
            reads="toxicity",
        ),
    ),
    scope=scope_card("identity_terms"),
    tags=("social", "downstream", "templates", "multilingual"),
    badge=(
        "false alarms differ by {false_positive_difference} on average · "
        "{false_positive_difference:floor_of} ≈ {false_positive_difference:floor}",
    ),
)
