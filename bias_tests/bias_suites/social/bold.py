"""BOLD: how does a model continue beginnings of Wikipedia articles about people and ideas?

Dhamala, Sun, Kumar, Krishna, Pruksachatkun, Chang and Gupta (FAccT 2021): prompts are the first
words of sentences about actors, occupations, people of four American ethnicities, religions and
political ideologies. Choices that the paper leaves open are stated in the scope card.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from bias_suites.continuations import has_answer
from bias_suites.maxima import NEW_TOKENS, fixed_sample, metrics, prompt_item, take
from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder, FoundFile, Source, describe_files, json_content
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item
from pytest_bias.scoring import Gap, Metric, Range, own_value
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

K: Final = 5
"""Continuations per prompt."""

SAMPLE: Final = 20
"""Prompts per group in the standard configurations."""

SOURCE: Final = Source(
    "amazon-science/bold", "3ad652c773f5d1e30d5f6f61657ed934d768ecad", "CC-BY-SA-4.0"
)
SHA256: Final = {
    "gender": "a863aaf2492e3c911c39f435005abee2eba5f5edabe836e97de110cd83273054",
    "political_ideology": "a83ea7cc272971b618231e13bcb5c1d1be5b208c92135c4ffde85be31f8ab4c6",
    "profession": "5508012069f20419559417e64d8bb2b8d864ebf8afedd21e5ca564393c291794",
    "race": "200337f6c43b09671e580b1df6aea2cdc0196ee02779260e9881da07029e1cb6",
    "religious_ideology": "633830ea87d569e5476895a93f68b8f686cb0dcae6d67a1091a9247c5c4c931d",
}
FILES: Final = SOURCE.files(
    SOURCE.raw,
    {f"bold/prompts/{domain}_prompt.json": digest for domain, digest in SHA256.items()},
)


def load(data: DataFolder, *, role: str, most: int | None) -> LoadedData:
    """Read the prompts of all domains, at most `most` per group; None for all."""
    found = [data.find(file) for file in FILES]
    items = tuple(item for file in found for item in _prompts(file, role))
    chosen = items if most is None else fixed_sample(items, most, _group)
    return LoadedData(chosen, describe_files(SOURCE, found, len(chosen)))


def _group(item: Item) -> str:
    return f"{item.by['domain']}/{item.by['group']}"


def _prompts(found: FoundFile, role: str) -> Iterator[Item]:
    """Yield the prompts of a file, which maps group to entity to list of prompts."""
    domain = found.path.rpartition("/")[2].removesuffix("_prompt.json")
    groups = json_content(found)
    if not isinstance(groups, dict) or not all(isinstance(g, dict) for g in groups.values()):
        raise DataError(f"{found.path} is no table of groups, each a table of entities.")
    for group, entities in groups.items():
        by = {"domain": domain, "group": group}
        for entity, prompts in entities.items():
            if not isinstance(prompts, list) or not all(isinstance(p, str) for p in prompts):
                raise DataError(
                    f"{found.path}: {group}, {entity}: its prompts are no list of texts."
                )
            for n, prompt in enumerate(prompts):
                name = f"bold/{domain}/{group}/{entity}/{n:03d}"
                cluster = f"{domain}/{entity}"
                yield prompt_item(name, prompt, role=role, k=K, by=by, cluster=cluster)


_DOMAINS: Final = (("domain",),)
_GROUPS: Final = (("domain", "group"),)

METRICS: Final = (
    *metrics(*_DOMAINS, *_GROUPS),
    Metric(
        "gap",
        Range(own_value, "group", within="domain"),
        ideal=0,
        bounds=(0, 1),
        unit="",
        tolerance=0.005,
        by=_DOMAINS,
        where=has_answer,
    ),
    Metric(
        "difference",
        Gap(own_value, "group"),
        ideal=0,
        bounds=(-1, 1),
        unit="",
        tolerance=0.005,
        by=_GROUPS,
        where=has_answer,
        whole=False,
        versus="group",
    ),
)


def _configuration(name: str, role: str, most: int | None, note: str, **more: Any) -> Configuration:
    return Configuration(
        name,
        "en",
        partial(load, role=role, most=most),
        files=FILES,
        needs=frozenset({Capability.OPEN_VOCABULARY}),
        clusters="entities",
        scorer=role,
        note=note,
        **more,
    )


_SAMPLED: Final = f"a fixed sample of up to {SAMPLE} prompts a group"

SUITE: Final = Suite(
    name="bold",
    version="3",
    title="BOLD",
    kind="intrinsic",
    configurations=(
        _configuration("en", "toxicity", SAMPLE, _SAMPLED),
        _configuration("en-sentiment", "sentiment", SAMPLE, f"negative sentiment; {_SAMPLED}"),
        _configuration("en-full", "toxicity", None, "all 23,679 prompts", only_named=True),
    ),
    measures=(
        Measure(
            f"harm in {K} sampled continuations of {NEW_TOKENS} tokens",
            frozenset({Capability.GENERATE}),
            take,
            METRICS,
        ),
    ),
    scope=scope_card("bold"),
    tags=("social", "generation"),
    badge=(f"harm in the worst of {K}: {{expected_maximum:bare}} · none 0 · gap {{gap:value}}",),
)
