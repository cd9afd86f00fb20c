"""What a suite can see: formulas against scipy and against simulation, and words about it."""

from io import StringIO
from math import sqrt

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from pytest_bias.cli.screens.scope import show_card
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import UnknownName
from pytest_bias.reports.detectable_change import NotHere, OfMean, OfShare, Resolution, resolutions
from pytest_bias.scoring.power import (
    half_width_of_mean,
    half_width_of_share,
    smallest_change_of_mean,
    smallest_change_of_share,
)
from pytest_bias.suites import find

RUNS = 4000
NOISE = 4 * sqrt(0.8 * 0.2 / RUNS)
"""Four standard errors of a simulated power."""


# Formulas


@pytest.mark.parametrize("n", [1, 2, 20, 250, 1508])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_half_width_of_a_share_is_that_of_scipy_s_wilson_interval(n, level):
    # Twice as many, so that one half is a whole number of successes.
    found = stats.binomtest(n, 2 * n, 0.5).proportion_ci(level, method="wilson")
    assert half_width_of_share(2 * n, level) == pytest.approx(100 * (found.high - 0.5), rel=1e-12)


def test_values_by_hand():
    # z = 1.959964, K = 1.959964 + 0.841621 = 2.801585.
    assert half_width_of_share(1508) == pytest.approx(2.5204, abs=1e-4)
    assert smallest_change_of_share(1508, 0.1) == pytest.approx(
        100 * 2.801585 * sqrt(0.1 / (1508 + 2.801585**2)), rel=1e-6
    )
    assert half_width_of_mean([4] * 25) == pytest.approx(1.959964 / 5, rel=1e-6)
    assert smallest_change_of_mean([4] * 25) == pytest.approx(2.801585 / 5, rel=1e-6)
    # Sizes 3 and 1: sqrt(10) / 4 of a standard deviation.
    assert half_width_of_mean([3, 1]) == pytest.approx(1.959964 * sqrt(10) / 4, rel=1e-6)


def test_where_not_even_all_changes_would_do_there_is_none():
    assert smallest_change_of_share(66, 0.1) is None
    assert smallest_change_of_share(66, 0.3) == pytest.approx(17.86, abs=0.01)
    n = 70.6  # K^2 (1 - c) / c for c = 0.1
    assert smallest_change_of_share(int(n), 0.1) is None
    assert smallest_change_of_share(int(n) + 1, 0.1) == pytest.approx(10, abs=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: half_width_of_share(0), "`n` must be at least 1"),
        (lambda: half_width_of_share(5, 1.0), "between 0 and 1"),
        (lambda: smallest_change_of_share(0, 0.1), "`n` must be at least 1"),
        (lambda: smallest_change_of_share(9, 0.0), "`changed` must be above 0"),
        (lambda: smallest_change_of_share(9, 1.1), "at most 1"),
        (lambda: smallest_change_of_share(9, 0.1, power=0), "between 0 and 1"),
        (lambda: half_width_of_mean([]), "at least one cluster"),
        (lambda: smallest_change_of_mean([3, 0]), "none that is empty"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Simulation


@pytest.mark.parametrize("n", [250, 1508])
@pytest.mark.parametrize("changed", [0.1, 0.3])
def test_the_change_of_a_share_is_found_as_often_as_promised(n, changed):
    rng = np.random.default_rng(7)
    change = smallest_change_of_share(n, changed) / 100
    up, down = (changed + change) / 2, (changed - change) / 2
    ups, downs, _ = rng.multinomial(n, [up, down, 1 - up - down], RUNS).T
    found = (ups - downs) / n
    error = np.sqrt(((ups + downs) / n - found**2) / n)
    assert np.mean(found - 1.959964 * error > 0) == pytest.approx(0.8, abs=NOISE + 0.01)


@pytest.mark.parametrize("sizes", [[4] * 100, [1] * 60 + [9] * 40], ids=["equal", "unequal"])
def test_the_change_of_a_mean_is_found_as_often_as_promised(sizes):
    rng = np.random.default_rng(7)
    weights = np.array(sizes) / sum(sizes)
    changes = rng.normal(smallest_change_of_mean(sizes), 1, (RUNS, len(sizes)))
    found = changes @ weights
    interval = half_width_of_mean(sizes)
    assert np.mean(found - interval > 0) == pytest.approx(0.8, abs=NOISE)
    centred = found - smallest_change_of_mean(sizes)
    assert np.mean(np.abs(centred) < interval) == pytest.approx(0.95, abs=NOISE)


# Suites


def folder(data_dir=None, **accepted):
    return DataFolder(data_dir, offline=True, accepted=accepted)


def test_a_suite_of_pairs_sees_points(data_dir):
    en, fr, nl, controls = resolutions(find("crows_pairs"), folder(data_dir))
    assert (en.entry, en.n, en.n_clusters, en.clusters) == ("crows_pairs[en]", 1508, 1508, "pairs")
    assert isinstance(en.sees, OfShare)
    assert en.sees.half_width == half_width_of_share(1508)
    assert en.sees.changes == {c: smallest_change_of_share(1508, c) for c in (0.1, 0.3)}
    # Two rows in French cannot be scored.
    assert (fr.n, nl.entry) == (1461, "crows_pairs[nl]")
    assert isinstance(controls, NotHere)


def test_controls_count_by_their_originals(data_dir):
    accepted = {"crows_pairs": "no clear licence"}
    (found,) = resolutions(find("crows_pairs"), folder(data_dir, **accepted), "en-controls")
    assert (found.n, found.n_clusters) == (250, 250)


def test_a_suite_of_clusters_sees_standard_deviations():
    (found,) = resolutions(find("template_association"), folder())
    assert (found.n, found.n_clusters, found.clusters) == (830, 166, "attributes")
    assert isinstance(found.sees, OfMean)
    assert found.sees.half_width == half_width_of_mean([5] * 166)
    assert found.sees.change == smallest_change_of_mean([5] * 166)


def test_an_effect_size_is_no_mean():
    found = resolutions(find("seat"), folder())[0]
    assert isinstance(found, Resolution)
    assert found.sees is None


@pytest.mark.parametrize(
    ("suite", "accepted", "number", "hint"),
    [
        ("crows_pairs", {}, 0, "pytest-bias data fetch --suite crows_pairs"),
        ("crows_pairs", {}, 3, "accept_licences: {crows_pairs: no clear licence}"),
        ("crows_pairs", {"crows_pairs": "no clear licence"}, 3, "give --data-dir"),
        ("seat", {}, 1, "accept_licences: {seat: CC-BY-NC-4.0}"),
        ("seat", {"seat": "CC-BY-NC-4.0"}, 1, "pytest-bias data fetch --suite seat"),
    ],
)
def test_what_is_not_here_says_what_helps(tmp_path, suite, accepted, number, hint):
    found = resolutions(find(suite), folder(tmp_path, **accepted))[number]
    assert isinstance(found, NotHere)
    assert hint in found.hint


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "crows_pairs").mkdir()
    (tmp_path / "crows_pairs" / "crows_pairs_anonymized.csv").write_text("a,b\n1,2\n")
    found = resolutions(find("crows_pairs"), folder(tmp_path))[0]
    assert "has no sent_more" in found.hint


def test_a_configuration_by_name_is_looked_at_alone(data_dir):
    (found,) = resolutions(find("crows_pairs"), folder(data_dir), "en-revised")
    assert found.entry == "crows_pairs[en-revised]"
    with pytest.raises(UnknownName, match="Did you mean 'en-revised'"):
        resolutions(find("crows_pairs"), folder(data_dir), "en-revized")


def card(suite, *found, width=80):
    stream = StringIO()
    show_card(find(suite), Console(file=stream, width=width), found)
    assert max(map(len, stream.getvalue().splitlines())) <= width
    return " ".join(stream.getvalue().split())


def test_the_card_says_it_in_few_lines(data_dir):
    text = card("crows_pairs", *resolutions(find("crows_pairs"), folder(data_dir))[:1])
    assert "What it can see crows_pairs[en]: 1,508 items interval at 50 %: 2.5 points" in text
    line = "change found, in points: from 2.3 if 10 % of items change, from 3.9 if 30 %"
    assert line in text
    line = "limits on stereotype_preference: max_distance can be held from 2.6 points on, "
    assert f"{line}max_regression from 1.6 points on if 10 % of items change" in text
    few = OfShare(12.0, {0.1: None, 0.3: 17.9})
    text = card("crows_pairs", Resolution("x[en]", 66, 66, "pairs", few))
    assert "change found, in points: none if 10 % of items change, from 17.9 if 30 %" in text
    text = card("template_association", *resolutions(find("template_association"), folder()))
    assert "830 items of 166 attributes" in text
    assert "from 0.22 standard deviations of a cluster's change" in text
    assert "the score is no mean over items" in card("seat", *resolutions(find("seat"), folder()))
    assert "What it can see" not in card("seat")
    assert "worst class: ideal 0, 0 to 100 %; floor: shuffled labels; no max_regression" in card(
        "perturbation"
    )
    assert "checks passed (headline): ideal 100, 0 to 100 %; no limit" in card("structure")
