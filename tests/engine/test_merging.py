"""What several workers measured of one model, put together as if one had."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import permutations, zip_longest
from typing import Any

import pytest

from made import record, report, result, score, unscored
from pytest_bias.engine.merging import merged
from pytest_bias.errors import ReportError
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Record, Report, SuiteResult

MODEL = ModelIdentity(
    "org/name", "masked", "BertForMaskedLM", 4_416_698, revision="abc", weights_sha256="w" * 64
)
UNLOADED = replace(MODEL, weights_sha256=None, dtype="auto")
"""As a worker knows the model that has not read the weights."""

STRUCTURE = result(
    "structure",
    "all",
    kind="structure",
    scores=[score("checks_passed", 100.0, ideal=100)],
    records=[record("determinism", 100.0)],
)
CROWS = result(scores=[score()], records=[record("crows/0001", 100.0), unscored("crows/0002")])
SEAT = result("seat", scores=[score("mean_absolute_effect", 0.62)], records=[record("seat/1", 0.6)])
SKIPPED = result("honest", "it", status="skipped", reason="the licence is not accepted")
ORDER = [s.entry for s in (STRUCTURE, CROWS, SEAT, SKIPPED)]


def part(
    *suites: SuiteResult,
    model: ModelIdentity = MODEL,
    cost: Sequence[float] = (0, 0, 0, 0),
    **run: Any,
) -> Report:
    """Return what one worker measured, with its wall time, model time, tokens and forwards."""
    names = ("wall_s", "model_s", "tokens", "forwards", "energy_kwh", "co2e_g")
    costs = dict(zip_longest(names, cost))
    made = report(*suites, coverage={"languages": ["en"], "social_suites": ["crows_pairs"]})
    return replace(made, model=model, run={**made.run, "cost": costs} | run)


def sent(made: Report) -> Report:
    """Send a part through JSON, records beside it, as a worker does."""
    records = {s.entry: json.dumps([asdict(r) for r in s.records]) for s in made.suites}
    read = Report.from_json(made.to_json())
    suites = (
        replace(s, records=tuple(Record(**r) for r in json.loads(records[s.entry])))
        for s in read.suites
    )
    return replace(read, suites=tuple(suites))


WHOLE = part(STRUCTURE, CROWS, SEAT, SKIPPED)
PARTS = (
    part(STRUCTURE, CROWS, cost=(10.0, 8.0, 1000, 12)),
    part(STRUCTURE, SEAT, cost=(15.0, 3.5, 200, 7)),
    part(SKIPPED, model=UNLOADED, cost=(0.5, 0, 0, 0)),
)


@pytest.mark.parametrize("arrived", list(permutations(range(3))), ids=str)
def test_the_digest_is_that_of_one_worker_in_whatever_order_parts_arrive(arrived):
    found = merged([sent(PARTS[n]) for n in arrived], ORDER)
    assert found.digest == WHOLE.digest
    assert Report.from_json(found.to_json()).digest == WHOLE.digest
    assert found.suites == WHOLE.suites
    assert found.model == MODEL


@pytest.mark.parametrize(
    "split",
    [
        [(STRUCTURE, CROWS, SEAT, SKIPPED)],
        [(SKIPPED, SEAT, CROWS, STRUCTURE)],
        [(STRUCTURE, CROWS), (STRUCTURE, SEAT, SKIPPED)],
        [(STRUCTURE,), (CROWS,), (SEAT,), (SKIPPED,)],
        [(), (STRUCTURE, CROWS, SEAT, SKIPPED)],
    ],
    ids=["one", "one backwards", "two", "four", "one idle"],
)
def test_the_digest_does_not_depend_on_the_split(split):
    assert merged([sent(part(*suites)) for suites in split], ORDER).digest == WHOLE.digest


def test_what_was_measured_is_in_the_digest():
    other = replace(SEAT, scores=(score("mean_absolute_effect", 0.63),))
    found = merged([sent(part(STRUCTURE, CROWS)), sent(part(other, SKIPPED))], ORDER)
    assert found.digest != WHOLE.digest
    assert found.suite("seat").headline.value == 0.63


def test_entries_stand_in_the_order_of_the_plan():
    found = merged(PARTS[::-1], ORDER)
    assert [s.entry for s in found.suites] == ORDER
    found = merged(PARTS, ORDER[::-1])
    assert [s.entry for s in found.suites] == ORDER[::-1]


def test_records_stay_with_their_entry():
    found = merged([sent(p) for p in PARTS], ORDER)
    assert {s.entry: s.records for s in found.suites} == {
        STRUCTURE.entry: STRUCTURE.records,
        CROWS.entry: CROWS.records,
        SEAT.entry: SEAT.records,
        SKIPPED.entry: (),
    }


def test_what_every_worker_measures_for_itself_is_there_once():
    found = merged([part(STRUCTURE, CROWS), part(STRUCTURE, SEAT), part(STRUCTURE)], ORDER)
    assert [s.name for s in found.suites] == ["structure", "crows_pairs", "seat"]


def test_an_entry_that_no_worker_measured_is_not_made_up():
    found = merged(PARTS[:1], ORDER)
    assert [s.entry for s in found.suites] == [STRUCTURE.entry, CROWS.entry]
    with pytest.raises(KeyError):
        found.suite("seat")
    assert merged([part()], ORDER).suites == ()


def test_a_failure_of_one_worker_is_kept_beside_the_others_results():
    failed = result("seat", status="error", reason="CUDA is gone")
    found = merged([part(STRUCTURE, CROWS), part(failed)], ORDER)
    assert (found.suite("seat").status, found.suite("seat").reason) == ("error", "CUDA is gone")
    assert found.suite("crows_pairs") == CROWS


def test_costs_are_added_but_workers_share_the_time_on_the_wall():
    cost = merged(PARTS, ORDER).run["cost"]
    assert cost == {
        "wall_s": 15.0,
        "model_s": 11.5,
        "tokens": 1200,
        "forwards": 19,
        "energy_kwh": None,
        "co2e_g": None,
        "suites": {},
    }


def test_costs_of_a_suite_are_added():
    crows = {"wall_s": 2.0, "model_s": 1.5, "tokens": 10, "forwards": 3}
    parts = [part(CROWS), part(SEAT)]
    for made, costs in zip(parts, ({"a": crows}, {"a": crows, "b": crows}), strict=True):
        made.run["cost"]["suites"] = costs
    twice = {name: 2 * amount for name, amount in crows.items()}
    assert merged(parts, ORDER).run["cost"]["suites"] == {"a": twice, "b": crows}


def test_what_users_were_told_is_told_once():
    parts = [part(CROWS, notices=["tested in fr"]), part(SEAT, notices=["tested in fr", "memory"])]
    found = merged(parts, ORDER)
    assert found.notices == ("tested in fr", "memory")
    assert part(CROWS, notices="not a list").notices == ()


def test_merging_leaves_the_parts_as_they_were():
    before = [p.to_json() for p in PARTS]
    merged(PARTS, ORDER)
    assert [p.to_json() for p in PARTS] == before


def test_settings_coverage_and_environment_are_kept():
    found = merged(PARTS, ORDER)
    assert found.settings == WHOLE.settings
    assert found.coverage == WHOLE.coverage
    assert found.run["environment"] == {"device": "cpu"}
    assert found.run["created"] == "2026-11-27T12:00:00+00:00"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    "other",
    [
        replace(MODEL, reference="org/other"),
        replace(MODEL, revision="def"),
        replace(MODEL, weights_sha256="v" * 64),
        replace(MODEL, tokenizer_sha256="t" * 64),
        replace(MODEL, kind="causal"),
        replace(MODEL, dtype="bfloat16"),
        replace(UNLOADED, revision="def"),
    ],
    ids=["name", "revision", "weights", "tokenizer", "kind", "precision", "unloaded"],
)
def test_parts_of_different_models_are_refused(other, order):
    parts = [part(CROWS), part(SEAT, model=other)]
    with pytest.raises(ReportError, match="different models"):
        merged([parts[n] for n in order], ORDER)


def test_a_part_that_read_no_weights_fits_to_those_that_did():
    for parts in (PARTS[::2], PARTS[::-2]):
        assert merged(parts, ORDER).model == MODEL
    assert merged([part(SKIPPED, model=UNLOADED)], ORDER).model == UNLOADED


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"profile": "quick"}, {"requested": ["seat"]}, {"level": 0.9}], ids=str
)
def test_parts_under_different_settings_are_refused(change):
    other = part(SEAT)
    other = replace(other, settings={**other.settings, **change})
    with pytest.raises(ReportError, match="different settings"):
        merged([part(CROWS), other], ORDER)
    with pytest.raises(ReportError, match="different settings"):
        merged([part(CROWS), other, part(SKIPPED)], ORDER)


INCONCLUSIVE = replace(STRUCTURE, status="inconclusive", reason="determinism")


@pytest.mark.parametrize("results", list(permutations((STRUCTURE, STRUCTURE, INCONCLUSIVE))))
def test_a_failed_structure_check_of_one_worker_counts(results):
    found = merged([part(r) for r in results], ORDER)
    assert found.suites == (INCONCLUSIVE,)


@pytest.mark.parametrize("stopped", [(True, False), (False, True), (False, False)])
def test_one_interrupted_worker_interrupts_the_run(stopped):
    found = merged([part(STRUCTURE, interrupted=s) for s in stopped], ORDER)
    assert found.run["interrupted"] == any(stopped)


def test_nothing_that_was_measured_is_dropped():
    assert merged([part(SEAT), part(CROWS)], [CROWS.entry]).suites == (CROWS, SEAT)
