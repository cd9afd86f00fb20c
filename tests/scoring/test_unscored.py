"""Partners of what could not be scored: who leaves, who stays, and what is said of it."""

from collections.abc import Mapping, Sequence

import pytest

from made import record, unscored
from pytest_bias.records.report import Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.estimators import own_value
from pytest_bias.scoring.gaps import Gap, Range
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import Context, score_records

OTHERS = Metric(
    "gap", Gap(own_value, "group"), 0, (-100, 100), "points", 0.5, by=(("group",),), whole=False,
    versus="group",
)  # fmt: skip
WIDEST = Metric("widest", Range(own_value, "group"), 0, (0, 100), "points", 0.5)


def grid(values: Mapping[str, Sequence[float | None]], *, apart: bool = False) -> list[Record]:
    """Return records of groups, number n of each in one cluster, or each in its own."""
    found = []
    for group, of in values.items():
        for n, v in enumerate(of):
            about = {"by": {"group": group}, "cluster": f"{group if apart else ''}{n:02d}"}
            name = f"{group}/{n:02d}"
            found.append(unscored(name, **about) if v is None else record(name, v, **about))
    return found


def scores(records: Sequence[Record], metric: Metric) -> dict[str, Score]:
    found = score_records(records, [metric], Context("made", "en"))
    return {s.by.get("group", ""): s for s in found}


EASY_AND_HARD = [100.0] * 12 + [0.0] * 12


def test_a_sentence_without_one_of_its_groups_leaves_for_all():
    values = {g: list(EASY_AND_HARD) for g in "abc"}
    values["a"][0] = None
    found = scores(grid(values), WIDEST)[""]
    assert (found.value, found.n, found.n_unscored, found.n_clusters) == (0, 69, 1, 23)
    assert found.note == "2 scored items are left out, whose partners are unscored"
    for group, score in scores(grid(values), OTHERS).items():
        assert (score.value, score.n, score.n_unscored) == (0, 69, 1), group


def test_what_has_no_partner_takes_nobody_along():
    values = {"a": [None, *EASY_AND_HARD[1:]], "b": EASY_AND_HARD}
    found = scores(grid(values, apart=True), WIDEST)[""]
    assert found.value == pytest.approx(100 * (12 / 24 - 11 / 23))
    assert (found.n, found.n_unscored, found.note) == (47, 1, "greatest in b, least in a")


def test_a_whole_sentence_that_is_unscored_leaves_no_one_behind():
    values = {g: [None, *EASY_AND_HARD[1:]] for g in "ab"}
    found = scores(grid(values), WIDEST)[""]
    assert (found.value, found.n, found.n_unscored, found.note) == (0, 46, 2, None)


def test_what_the_suite_excludes_is_no_partner():
    values = dict.fromkeys("ab", EASY_AND_HARD)
    records = grid(values)
    records[0] = unscored("a/00", status="excluded", by={"group": "a"}, cluster="00")
    found = scores(records, WIDEST)[""]
    assert (found.n, found.n_unscored, found.n_excluded) == (47, 0, 1)


def test_where_every_sentence_lacks_a_group_there_is_no_value():
    groups = [f"g{n:02d}" for n in range(20)]
    values = {g: [None if n == k else 1.0 for k in range(20)] for n, g in enumerate(groups)}
    found = scores(grid(values), WIDEST)[""]
    assert (found.value, found.n, found.n_unscored) == (None, 0, 20)
    assert found.note == "380 scored items are left out, whose partners are unscored"
    assert (found.interval, found.interval_reason) == (None, "no value")
