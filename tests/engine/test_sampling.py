"""The fixed order of a suite's clusters, and the samples that are its beginnings."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ours
from pytest_bias.engine.sampling import Cluster, Order, extent, in_order, n_open
from pytest_bias.records.report import Item


def item(number: int, cluster: str = "", status: str | None = None, **by: str) -> Item:
    name = f"i{number:04d}"
    return Item(name, cluster or name, {"text": name}, by=by, status=status)  # type: ignore[arg-type]


def many(**sizes: int) -> list[Item]:
    """Return items of one group after another."""
    names = [group for group, size in sizes.items() for _ in range(size)]
    return [item(n, group=group) for n, group in enumerate(names)]


def flat(clusters: tuple[Cluster, ...]) -> list[Item]:
    return [i for cluster in clusters for i in cluster]


ITEMS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.sampled_from("abc"),
        st.sampled_from("xy"),
        st.sampled_from([None, None, None, "excluded", "unscored"]),
    ),
    max_size=60,
).map(
    lambda rows: [
        item(n, f"c{cluster}", status, first=a, second=b)
        for n, (cluster, a, b, status) in enumerate(rows)
    ]
)


@given(ITEMS, st.integers(0, 3), st.randoms())
def test_whole_clusters_each_once_in_an_order_that_only_the_seed_decides(items, seed, rng):
    order = in_order(items, seed)
    assert sorted(flat(order.clusters), key=lambda i: i.id) == items
    for cluster in order.clusters:
        assert len({i.cluster for i in cluster}) == 1
    assert len({c[0].cluster for c in order.clusters}) == len(order.clusters)
    shuffled = rng.sample(items, len(items))
    assert in_order(shuffled, seed) == order


@given(ITEMS, st.integers(0, 40), st.integers(0, 40))
def test_more_is_a_superset(items, n, m):
    order = in_order(items, 0)
    less, more = (order.quick(k, n_clusters=0) for k in sorted((n, m)))
    assert more[: len(less)] == less == order.clusters[: len(less)]
    assert n_open(flat(less)) >= min(n, m, n_open(items))


@given(ITEMS)
def test_the_smallest_sample_has_every_group(items):
    groups = {pair for i in items if i.status is None for pair in i.by.items()}
    taken = flat(in_order(items, 0).quick(0, n_clusters=0))
    assert {pair for i in taken if i.status is None for pair in i.by.items()} == groups


@given(st.integers(0, 9), st.integers(1, 8))
def test_every_stretch_holds_about_its_share_of_every_group(seed, parts):
    order = in_order(many(large=300, small=60, rare=3), seed)
    taken = Counter(i.by["group"] for i in flat(order.clusters[: 363 * parts // 10]))
    for group, size in (("large", 300), ("small", 60), ("rare", 3)):
        # One more or less from rounding, and one that stands in front for its group.
        assert abs(taken[group] - size * parts / 10) <= 2.5
        assert taken[group] >= 1


def test_groups_of_two_kinds_are_represented_together():
    items = [
        item(n, kind="abcdefghi"[n % 9], direction="stereo" if n % 7 else "anti")
        for n in range(1512)
    ]
    taken = flat(in_order(items, 0).quick())
    assert len(taken) == 200
    pairs = Counter((i.by["kind"], i.by["direction"]) for i in taken)
    assert len(pairs) == 18
    assert all(
        abs(n - 200 * (144 if d == "stereo" else 24) / 1512) < 2 for (_, d), n in pairs.items()
    )


def test_what_the_data_alone_decide_does_not_fill_the_sample():
    items = [item(n, status="excluded" if n % 4 else None, group="ab"[n % 2]) for n in range(2000)]
    taken = flat(in_order(items, 0).quick())
    assert n_open(taken) == 200
    # The others come along in proportion.
    assert len(taken) - 200 == pytest.approx(600, abs=20)
    assert extent(items, {i.id for i in taken}) == (200, 500)


def test_a_key_that_names_single_things_makes_no_groups():
    items = [item(n, cluster=f"w{n // 4}", word=f"w{n // 4}", axis="ab"[n % 2]) for n in range(400)]
    order = in_order(items, 0)
    assert order.n_front == 1
    assert len(flat(order.quick())) == 200


def test_a_sample_has_enough_clusters_for_an_interval():
    items = [item(n, cluster=f"c{n // 50}") for n in range(5000)]
    assert len(in_order(items, 0).quick()) == 30


def test_the_order_is_that_of_every_version():
    # A new order would change every sample: raise the versions of the suites with it.
    items = many(large=6, small=2)
    found = ["".join(i.id[-1] for i in flat(in_order(items, seed).clusters)) for seed in (0, 1)]
    assert found == ["57321604", "73146502"]


def test_extent_is_null_for_the_whole():
    items = [item(0), item(1, status="excluded"), item(2, status="unscored")]
    assert extent(items, {"i0000", "i0001", "i0002"}) == (None, None)
    assert extent(items, {"i0000", "i0001"}) == (1, 2)
    assert extent(items, {"i0000", "i0002"}) == (2, 2)
    assert extent([], set()) == (None, None)


def test_no_items_are_no_clusters():
    assert in_order([], 0) == Order((), 0)
    assert in_order([], 0).quick() == ()


# The suites that there are


def groups(items: list[Item], key: str) -> Counter[str]:
    return Counter(i.by[key] for i in items if i.status is None and key in i.by)


def test_quick_on_bundled_suites():
    seat = ours.items("seat", "en")
    assert len(flat(in_order(seat, 0).quick())) == len(seat)  # its groups are whole tests
    association = flat(in_order(ours.items("template_association", "en"), 0).quick())
    assert len(association) == 200
    assert len(groups(association, "group")) == 36
    pairs = flat(in_order(ours.items("gendered_pair_entropy", "en"), 0).quick())
    assert len({i.cluster for i in pairs}) == 30
    assert len(groups(pairs, "pair")) == 19
    assert groups(pairs, "part")["control"] > 0


def test_quick_on_benchmark_data(data_dir: Path):
    crows = list(ours.items("crows_pairs", "en", data_dir))
    taken = flat(in_order(crows, 0).quick())
    assert len(taken) == 200
    for key in ("bias_type", "direction"):
        whole, part = groups(crows, key), groups(taken, key)
        assert all(abs(part[g] - whole[g] * 200 / 1508) <= 3 for g in whole)
    wikitext = list(ours.items("gendered_pair_entropy", "en-wikitext2", data_dir))
    taken = flat(in_order(wikitext, 0).quick())
    assert n_open(taken) == 200
    assert groups(taken, "pair").keys() == groups(wikitext, "pair").keys()


def test_another_seed_is_another_sample():
    items = many(large=600, small=300)
    random.Random(0).shuffle(items)
    first, second = ({i.id for i in flat(in_order(items, seed).quick())} for seed in (0, 1))
    assert 20 < len(first & second) < 90
