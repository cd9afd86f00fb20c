"""Parts of a run: which items are in a shard, and what several processes measured put together."""

import random
from collections import defaultdict
from dataclasses import replace

import pytest

import ours
from made import record, report, result
from pytest_bias.engine.merging import Measured, gathered
from pytest_bias.engine.planning import shard
from pytest_bias.errors import ReportError, UsageError
from pytest_bias.models.devices import in_words, listed
from pytest_bias.models.placing import shared
from pytest_bias.records.report import Item, records_digest
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.suites import find
from pytest_bias.suites.results import scored

# Shards


def item(name: str, cluster: str, length: int, **more: str) -> Item:
    return Item(name, cluster, {"text": "x" * length}, **more)


def costs(items: tuple[Item, ...], of: int) -> list[int]:
    """Return the characters of every shard."""
    parts = [shard(items, (n, of)) for n in range(1, of + 1)]
    return [sum(len(t) for i in part for t in i.texts.values()) for part in parts]


def test_the_heaviest_cluster_goes_first_to_the_lightest_shard():
    # 7 | 5, then 4 to the second, 3 to the first, 2 to the second: 10 and 11.
    items = tuple(item(name, name, n) for name, n in zip("abcde", (7, 5, 4, 3, 2), strict=True))
    assert [i.id for i in shard(items, (1, 2))] == ["a", "d"]
    assert [i.id for i in shard(items, (2, 2))] == ["b", "c", "e"]


def test_what_the_data_decide_costs_nothing():
    items = (item("a", "a", 90, status="excluded"), item("b", "b", 2), item("c", "c", 1))
    parts = [shard(items, (n, 2)) for n in (1, 2)]
    assert sorted(i.id for part in parts for i in part) == ["a", "b", "c"]
    # The long one follows when the others have their places.
    assert [i.id for i in parts[0]] == ["b"]


def test_a_shard_depends_on_the_items_and_not_on_their_order():
    rng = random.Random(5)
    items = [item(f"{n:03d}", f"c{n % 40}", rng.randrange(1, 9)) for n in range(200)]
    for of in (1, 2, 7):
        for number in range(1, of + 1):
            first = shard(tuple(items), (number, of))
            again = shard(tuple(rng.sample(items, len(items))), (number, of))
            assert sorted(i.id for i in first) == sorted(i.id for i in again)


ENTRIES = (
    ("template_association", "en"),
    ("gendered_pair_entropy", "en"),
    ("seat", "en"),
    ("seat", "en-published"),
    ("crows_pairs", "en"),
)


@pytest.mark.parametrize(("suite", "configuration"), ENTRIES)
@pytest.mark.parametrize("of", [2, 4, 8])
def test_shards_of_the_real_data_cost_about_the_same(suite, configuration, of, data_dir):
    items = ours.items(suite, configuration, data_dir)
    parts = [shard(items, (n, of)) for n in range(1, of + 1)]
    assert sorted(i.id for part in parts for i in part) == sorted(i.id for i in items)
    clusters = [{i.cluster for i in part} for part in parts]
    assert sum(map(len, clusters)) == len(set().union(*clusters))
    weights: dict[str, int] = defaultdict(int)
    for one in items:
        weights[one.cluster] += 0 if one.status else sum(map(len, one.texts.values()))
    # No way is better than the mean or the largest cluster; this one is at most a third worse.
    best = max(sum(weights.values()) / of, max(weights.values()))
    largest = max(sum(weights[c] for c in part) for part in clusters)
    assert largest <= best * 4 / 3


# Devices by name


def test_devices_in_words():
    assert in_words({"cpu": "cpu"}) == "cpu"
    assert in_words({"cuda:0": "NVIDIA H100", "cuda:1": "NVIDIA H100"}) == "2 x NVIDIA H100"
    assert in_words({"cuda:0": "A", "cuda:1": "B"}) == "A, B"


def test_devices_listed():
    assert listed("cuda:0, cuda:1") == ("cuda:0", "cuda:1")
    assert shared("cpu,cpu") == ("cpu", "cpu")


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ("", "none is named"),
        (",", "none is named"),
        ("all,cpu", "all cannot be combined"),
        ("gpu", "device 'gpu' is not known"),
        ("auto", "device 'auto' is not known"),
        ("cpu,meta", "of one kind"),
    ],
)
def test_what_names_no_devices(devices, said):
    with pytest.raises(UsageError, match=said):
        shared(devices)


# Put together

RECORDS = tuple(
    record(f"ta/{n:04d}", n / 4, by={"axis": "gender", "group": "he", "attribute": "x"})
    for n in range(9)
)
SUITE, ENTRY = find("template_association"), "template_association[en]"
STRUCTURE = result("structure", "all", kind="structure", records=[record("determinism", 100.0)])


def association(records, status="scored"):
    about = result("template_association", records=records, status=status)
    about = replace(about, data=replace(about.data, n_items=len(records)))
    kept = replace(about, records=tuple(records), records_sha256=records_digest(records))
    measure = SUITE.measures[0].name
    return replace(kept, measure=measure, scores=(), sampled=len(records))


def sent(*suites, **sampled):
    """Send pairs of a part and a result, as a worker does."""
    made = report(*(s for _, s in suites))
    made = replace(made, settings={**made.settings, "seed": 0})
    cost = {"wall_s": 1.0, "model_s": 0.5, "tokens": 10, "forwards": 2}
    made = replace(made, run={**made.run, "cost": cost})
    measured = Measured(made, tuple(p for p, _ in suites), sampled)
    return Measured.from_json(measured.to_json())


def test_parts_of_one_entry_on_one_worker_or_on_several_are_the_whole():
    (whole,) = with_decision_family([scored(replace(association(RECORDS), sampled=None), SUITE, 0)])
    one, two, three = (((n, 3), association(RECORDS[n - 1 :: 3])) for n in (1, 2, 3))
    for split in (
        [sent((None, STRUCTURE), one, two, three)],
        [sent((None, STRUCTURE), three), sent((None, STRUCTURE), one, two)],
        [sent(two), sent(one), sent(three), sent((None, STRUCTURE))],
    ):
        found = gathered(split, ["structure[all]", ENTRY])
        assert [s.entry for s in found.suites] == ["structure[all]", ENTRY]
        assert found.suite("template_association") == whole
        assert found.suite("template_association").records == RECORDS
        assert found.run["cost"]["tokens"] == 10 * len(split)


def test_a_missing_part_makes_no_score():
    split = [sent(((1, 3), association(RECORDS[::3]))), sent(((3, 3), association(RECORDS[2::3])))]
    found = gathered(split, [ENTRY]).suite("template_association")
    assert found.status == "inconclusive"
    assert found.reason == "not every part of it was measured: 2/3 missing"
    assert (found.scores, found.records, found.records_sha256) == ((), (), None)


def test_a_part_that_failed_fails_the_whole():
    failed = replace(association((), "error"), reason="CUDA is gone", records_sha256=None)
    nothing = replace(association((), "skipped"), reason="none of its items", records_sha256=None)
    for other in (association(RECORDS), nothing):
        found = gathered([sent(((1, 2), other)), sent(((2, 2), failed))], [])
        assert found.suite("template_association").status == "error"
        assert found.suite("template_association").reason == "CUDA is gone"


def test_devices_of_the_parts_are_counted_once():
    made = []
    for name in ("cuda:0", "cuda:1", "cuda:1"):
        one = sent((None, STRUCTURE))
        about = {"environment": {"device": "H100", "devices": {name: "H100"}}}
        made.append(replace(one, report=replace(one.report, run={**one.report.run, **about})))
    assert gathered(made, []).run["environment"]["device"] == "2 x H100"


def test_parts_of_different_models_are_refused():
    one, two = sent(((1, 2), association(RECORDS[:4]))), sent(((2, 2), association(RECORDS[4:])))
    other = replace(two.report.model, config_sha256="x" * 64)
    with pytest.raises(ReportError, match="different models"):
        gathered([one, replace(two, report=replace(two.report, model=other))], [])
