"""Reports that are whole in themselves and tell of a run that never was: `verify` knows better."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from publications import ENTRY, SUITE, Repository, forge, with_records
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.engine.sampling import extent, in_order
from pytest_bias.engine.session import Session
from pytest_bias.records.report import Item, Record, Report
from pytest_bias.settings.settings import Settings


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    """Return the items of the suite."""
    settings = Settings(suites=(SUITE,), languages=("en",), offline=True)
    session = Session(plan(describe_for(settings, "demo"), settings))
    (planned,) = [p for p in session.plan.entries if p.entry.id == ENTRY]
    return tuple(session.prepare(planned).items)


def edited(report: Report, **fields: Any) -> Report:
    """Return a report whose suite says something else of itself."""
    suites = [replace(s, **fields) if s.name == SUITE else s for s in report.suites]
    return replace(report, suites=tuple(suites), sealed=None)


def data_of(repository: Repository) -> str:
    return repository.failing()[f"{ENTRY} data"]


def test_a_good_item_counted_twice_in_the_place_of_a_bad_one(repository, made):
    records = made.suite(SUITE).records
    good, bad = records[0], records[1]
    forge(repository, with_records(made, lambda r: good if r.item == bad.item else r))
    assert data_of(repository) == "1 records are of an item that has one already"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda r: replace(r, cluster=r.item), "830 items are in another group or cluster"),
        (
            lambda r: replace(r, by=dict.fromkeys(r.by, "mine")),
            "830 items are in another group or cluster",
        ),
    ],
    ids=["clusters, for narrower intervals", "groups"],
)
def test_items_in_other_groups(
    repository: Repository, made: Report, change: Callable[[Record], Record], what: str
) -> None:
    forge(repository, with_records(made, change))
    assert data_of(repository).startswith(what)


def test_a_sample_that_was_picked(repository, made, items):
    """The best of the items, called a sample: every sample is a beginning of one order."""
    clusters = {i.cluster for i in items}
    picked = set(sorted(clusters)[: len(clusters) // 3])
    fewer = with_records(made, lambda r: r if r.cluster in picked else None)
    sampled, of = extent(items, {r.item for r in fewer.suite(SUITE).records})
    forge(repository, edited(fewer, sampled=sampled, n_available=of))
    assert (
        data_of(repository)
        == "the items are not those that a run under --budget takes with the seed 0"
    )


def test_an_honest_sample_and_how_large_it_is_said_to_be(repository, made, items):
    order = in_order(items, 0)
    first = {item.id for cluster in order.clusters[:40] for item in cluster}
    fewer = with_records(made, lambda r: r if r.item in first else None)
    sampled, of = extent(items, first)
    forge(repository, edited(fewer, sampled=sampled, n_available=of))
    assert repository.outcomes()[f"{ENTRY} data"] == "holds"
    forge(repository, edited(fewer, sampled=sampled, n_available=sampled))
    assert f"a sample of {sampled} of {sampled} items is stated" in data_of(repository)


def test_a_quick_sample_is_the_quick_one(repository, made, items):
    order = in_order(items, 0)
    more = {item.id for cluster in [*order.quick(), *order.clusters[-3:]] for item in cluster}
    fewer = with_records(made, lambda r: r if r.item in more else None)
    sampled, of = extent(items, more)
    quick = replace(
        edited(fewer, sampled=sampled, n_available=of),
        settings={**made.settings, "profile": "quick"},
    )
    forge(repository, quick)
    assert "not those that --profile quick takes" in data_of(repository)


def test_more_items_stated_than_there_are_records(repository, made):
    data = replace(made.suite(SUITE).data, n_items=10_000)
    forge(repository, edited(made, data=data))
    assert data_of(repository) == "10000 items are stated, the records have 830"


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"control_of": "other"}, "control of is given as other, it is None"),
        ({"clusters": "people"}, "clusters is given as people, it is "),
        ({"title": "Results Validated"}, "title is given as Results Validated, it is "),
    ],
)
def test_a_suite_that_says_what_it_is_not(repository, made, fields, what):
    forge(repository, edited(made, **fields))
    assert repository.failing()[f"{ENTRY} scores"].startswith(what)


def test_data_that_are_not_at_hand_are_not_said_to_hold(repository, monkeypatch):
    monkeypatch.setattr("pytest_bias.evidence.data_check._at_hand", lambda suite, settings: None)
    (check,) = [c for c in repository.verify().checks if (c.about, c.what) == (ENTRY, "data")]
    assert check.outcome == "unknown"
    assert f"pytest-bias data fetch --suite {SUITE}" in check.detail
