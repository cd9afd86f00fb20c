"""What is told of hidden items: which groups are left out, and what is left of their results."""

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made import record, result, unscored
from pytest_bias.engine.hidden import scored_hidden, too_small
from pytest_bias.errors import BiasError, DataError, DataMissing, MeasurementError
from pytest_bias.records.report import DataInfo, Record, SuiteResult, items_digest, sha256
from pytest_bias.records.score import Score
from pytest_bias.scoring.estimators import Mean, own_value
from pytest_bias.scoring.gaps import Range
from pytest_bias.scoring.metric import Metric
from pytest_bias.suites.hiding import NOT_TOLD, Hiding, measure_quietly, read_quietly
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import Configuration, Suite

SALT = "0f" * 32
HIDING = Hiding(SALT, least=5)
SECRET = "zyxquokka"

SIZES = st.dictionaries(st.text(max_size=2), st.integers(0, 40), max_size=7)


# Groups that are left out


@given(SIZES, st.integers(1, 30))
def test_what_is_left_out_is_large_enough_to_hide_in(sizes: dict[str, int], least: int) -> None:
    out = too_small(sizes, least)
    assert {group for group, n in sizes.items() if n < least} <= out <= sizes.keys()
    if out and out != sizes.keys():
        assert sum(sizes[group] for group in out) >= least
        assert len(out) > 1


@given(SIZES, st.integers(1, 30))
def test_no_more_is_left_out_than_it_takes(sizes: dict[str, int], least: int) -> None:
    out = too_small(sizes, least)
    if others := [group for group in out if sizes[group] >= least]:
        rest = out - {max(others, key=lambda group: (sizes[group], repr(group)))}
        assert len(rest) < 2 or sum(sizes[group] for group in rest) < least


@pytest.mark.parametrize(
    ("sizes", "out"),
    [
        ({"a": 20, "b": 30}, set()),
        ({}, set()),
        ({"a": 19}, {"a"}),
        ({"a": 3, "b": 30, "c": 25}, {"a", "c"}),
        ({"a": 3, "b": 30}, {"a", "b"}),
        ({"a": 3, "b": 4, "c": 20, "d": 21}, {"a", "b", "c"}),
        ({"a": 12, "b": 13, "c": 20}, {"a", "b"}),
        ({"a": 0, "b": 30, "c": 30}, {"a", "b"}),
    ],
)
def test_groups_of_fewer_than_twenty(sizes: dict[str, int], out: set[str]) -> None:
    assert too_small(sizes, 20) == out


# Results


def suite(*metrics: Metric) -> Suite:
    configuration = Configuration("en", "en", lambda folder: None)  # type: ignore[arg-type, return-value]
    measure = Measure("mean", frozenset(), lambda model, items: (), metrics)
    return Suite(
        "own", "1", "Own", "intrinsic", (configuration,), (measure,), {"validity": "contested"}
    )


def metric(name: str, estimate: Any, **more: Any) -> Metric:
    return Metric(name, estimate, 5, (0, 100), "%", 0.5, **more)


MEAN = metric("mean", Mean(own_value), by=(("kind",),), headline=True)
GAP = metric("gap", Range(own_value, "kind"), headline=True)


def records(sizes: Mapping[str, int]) -> list[Record]:
    """Return records of groups; the k-th group has a mean of about 10 k."""
    return [
        record(f"{SECRET} {kind} {n}", 10.0 * k + n % 3, by={"kind": kind})
        for k, (kind, size) in enumerate(sizes.items())
        for n in range(size)
    ]


def measured(found: Sequence[Record]) -> SuiteResult:
    data = DataInfo("own", "ours", n_items=len(found), items_sha256=items_digest(found))
    return result("own", records=found, measure="mean", data=replace(data, visibility="hidden"))


def told(found: SuiteResult) -> dict[str, Score]:
    return {"".join(s.by.values()): s for s in found.scores}


FOUR = {"plain": 9, "other": 8, "third": 7, f"{SECRET} few": 2}


def test_scores_are_those_of_open_items_but_those_of_small_groups() -> None:
    found = measured(records(FOUR))
    hidden, seen = scored_hidden(found, suite(MEAN), 0, HIDING), scored(found, suite(MEAN), 0)
    assert told(hidden).keys() == {"", "plain", "other"}
    assert told(seen).keys() == {"", *FOUR}
    assert hidden.scores == tuple(
        s for s in seen.scores if told(hidden).get("".join(s.by.values()))
    )
    assert hidden.data
    assert hidden.data.groups_left_out == 2


def test_a_gap_is_that_of_the_groups_that_are_told() -> None:
    found = measured(records(FOUR))
    large = measured([r for r in records(FOUR) if r.by["kind"] in ("plain", "other")])
    (gap,) = scored_hidden(found, suite(GAP), 0, HIDING).scores
    (of_two,), (of_all,) = (scored(each, suite(GAP), 0).scores for each in (large, found))
    assert gap.value == of_two.value != of_all.value
    assert gap.note is None
    assert SECRET in str(of_all.note)


def test_digests_are_salted_and_records_have_none() -> None:
    found = measured(records(FOUR))
    hidden = scored_hidden(found, suite(MEAN), 0, HIDING)
    assert hidden.data
    digest = items_digest(found.records)
    assert hidden.data.items_sha256 == sha256(bytes.fromhex(SALT) + digest.encode())
    assert (found.records_sha256 is None, hidden.records_sha256) == (False, None)
    assert len(hidden.records) == len(found.records)
    assert hidden.without_hidden_records() == replace(hidden, records=())
    assert hidden.without_hidden_records().records == ()


def test_nothing_is_told_of_fewer_items_than_a_group_needs() -> None:
    hidden = scored_hidden(measured(records({"plain": 4})), suite(MEAN), 0, HIDING)
    assert (hidden.status, hidden.scores) == ("inconclusive", ())
    assert hidden.reason == "4 items were scored; of fewer than 5 no score is told"


def test_why_items_are_unscored_is_not_told() -> None:
    bad = [unscored(f"bad {n}", f"no {SECRET}", by={"kind": "plain"}) for n in range(5)]
    hidden = scored_hidden(measured([*records(FOUR), *bad]), suite(MEAN), 0, HIDING)
    assert hidden.status == "inconclusive"
    assert hidden.reason == f"5 of 31 items could not be scored; why is {NOT_TOLD}"
    assert [s.note for s in hidden.scores if s.value is None] == [NOT_TOLD, NOT_TOLD]
    assert SECRET not in repr(hidden)


# What goes wrong


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (ValueError(SECRET), MeasurementError, "ValueError while its items were measured"),
        (DataMissing(SECRET), MeasurementError, "DataMissing while its items were measured"),
        (KeyboardInterrupt(SECRET), KeyboardInterrupt, ""),
        (SystemExit(SECRET), SystemExit, "1"),
        (SystemExit(143), SystemExit, "143"),
        # As pytest's own, which a time limit raises.
        (pytest.fail.Exception(SECRET), MeasurementError, "Failed while its items were measured"),
    ],
)
def test_an_exception_knows_nothing_of_the_one_before(
    raised: BaseException, kind: type[BaseException], said: str
) -> None:
    def ask() -> None:
        text = f"a {SECRET}"
        raise raised from ValueError(text)

    with pytest.raises(kind) as caught:
        measure_quietly(ask)
    assert str(caught.value).removesuffix(f"; more is {NOT_TOLD}.") == said
    trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    frames = [frame.name for frame in trace.stack]
    assert "ask" not in frames
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize(("error", "kind"), [(DataMissing, DataMissing), (DataError, DataError)])
def test_that_a_file_is_missing_is_said(error: type[BiasError], kind: type[BiasError]) -> None:
    def read() -> None:
        raise error("there is no file a.csv.", "a hint")

    with pytest.raises(kind) as caught:
        read_quietly(read)
    is_told = error is DataMissing
    assert ("a.csv" in str(caught.value), caught.value.hint == "a hint") == (is_told, is_told)
