"""No score, record or change is infinite or NaN: there is none, and the reason is said."""

import json
import math
import re

import pytest

from bias_suites.robustness.perturbation_scores import GeometricMean
from made import record, report, result, score
from pytest_bias.records.report import canonical_json
from pytest_bias.scoring.estimators import Mean, own_value
from pytest_bias.scoring.finite import finite, finite_record
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.statistics import Estimate


def metric(estimate, ideal=0.0):
    free = {"bounds": (None, None), "unit": "", "tolerance": 0.0, "headline": True}
    return Metric("ratio", estimate(own_value), ideal=ideal, **free)


@pytest.mark.parametrize(
    ("estimate", "values"),
    [
        pytest.param(GeometricMean, [1e4] * 30, id="an exponential overflows"),
        pytest.param(GeometricMean, [1e6, *[1.0] * 29], id="one text is enough"),
        pytest.param(Mean, [1e308] * 30, id="a sum overflows"),
        pytest.param(Mean, [1e308, -1e308] * 20, id="sums that cancel"),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning:pytest_bias")
def test_a_score_that_is_no_number_has_no_value_and_a_reason(estimate, values):
    records = [record(f"a/{i:02}", v) for i, v in enumerate(values)]
    (found,) = score_records(records, [metric(estimate, ideal=1.0)], Context("x", "y"))
    numbers = [found.value, *(found.interval or ()), found.p_value]
    assert all(n is None or math.isfinite(n) for n in numbers)
    if found.value is None:
        assert re.search("is no finite number|too large for a number", found.note or "")
        assert (found.interval, found.interval_reason, found.p_value) == (None, "no value", None)
        assert found.n == len(values)
    json.loads(report(result(scores=[found], records=records)).to_json())


def test_an_interval_that_is_no_interval_leaves_the_value():
    endless = finite(Estimate(2.0, (1.0, math.inf), method="bca", p_value=math.nan, test="x"))
    assert (endless.value, endless.interval, endless.p_value) == (2.0, None, None)
    assert "finite" in f"{endless.interval_reason} {endless.p_reason}"
    assert endless.method is None
    sound = score()
    assert finite(sound) is sound


@pytest.mark.parametrize(
    "wrong", [{"value": math.nan}, {"value": 1.0, "detail": {"n": 3, "logp": -math.inf}}]
)
def test_a_record_with_such_a_number_is_unscored(wrong):
    found = finite_record(record("a/1", **wrong))
    assert (found.status, found.value, found.reason) == ("unscored", None, "non-finite")
    canonical_json(dict(found.detail))
    sound = record("a/2", 1.0, detail={"word": "inf", "n": 3})
    assert finite_record(sound) is sound
