"""Values that were read, against the types that their class states."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from pytest_bias.records.validation import checked


@dataclass(frozen=True)
class Part:
    number: float = 0.5
    count: int = 1
    perhaps: float | None = None
    ends: tuple[float | None, float | None] = (0, 1)
    rest: tuple[int, ...] = ()
    by: Mapping[str, float | str] = field(default_factory=dict)
    word: Literal["one", "two"] = "one"
    anything: Any = None


LARGEST = sys.float_info.max


@pytest.mark.parametrize(
    "fits",
    [
        {"number": 3},
        {"number": LARGEST},
        {"number": -LARGEST},
        {"count": 2**200},
        {"perhaps": None},
        {"ends": (None, 2)},
        {"rest": (1, 2, 3)},
        {"by": {"a": 1.5, "b": "c"}},
        {"word": "two"},
        {"anything": math.nan},
    ],
    ids=str,
)
def test_what_fits_is_returned(fits):
    value = Part(**fits)
    assert checked(value) is value


@pytest.mark.parametrize(
    "wrong",
    [
        *({"number": n} for n in (math.nan, math.inf, -math.inf, 10**400, -(10**400), True, "1")),
        *({"count": n} for n in (1.0, True, 10**400, None)),
        *({"perhaps": n} for n in (math.nan, 10**400, "")),
        *({"ends": e} for e in ((0,), [0, 1], (0, math.inf), (0, 10**400))),
        {"rest": (1, None)},
        *({"by": b} for b in ({"a": math.nan}, {"a": None}, {1: 1.0}, [], {"a": 10**400})),
        {"word": "three"},
    ],
    ids=lambda w: str(w)[:40],
)
def test_what_does_not_fit_is_named(wrong):
    (name,) = wrong
    with pytest.raises(TypeError, match=f"{name} is "):
        checked(Part(**wrong))
