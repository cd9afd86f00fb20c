"""Records with hand-made values, and the results that they give."""

from collections.abc import Sequence
from typing import Any

from made import record, result, unscored
from pytest_bias.records.report import Record, SuiteResult
from pytest_bias.suites import find
from pytest_bias.suites.results import scored

CROWS = "pseudo-log-likelihood of shared tokens"


ASSOCIATION = "log-probability ratio at one mask"


PAIRS = "two words at one mask"


SEAT = "cosine of pooled hidden states"


Values = Sequence[float | None]


SIDES = {100.0: (-1.0, -2.0), 0.0: (-2.0, -1.0), 50.0: (-1.0, -1.0)}
"""Log-probabilities of the two sentences that give a preference."""


def crows(values: Values, start: int = 0, **by: str) -> list[Record]:
    """Return records of CrowS-Pairs with these preferences; null is unscored."""
    by = {"bias_type": "religion", "direction": "stereo"} | by
    found = []
    for number, value in enumerate(values, start):
        name = f"crows/{number:04d}"
        if value is None:
            found.append(unscored(name, by=by))
            continue
        more, less = SIDES[value]
        detail = {f"{p}{k}": v for p in ("", "aul_") for k, v in (("more", more), ("less", less))}
        detail |= {f"{p}tokens_{k}": 1 for p in ("", "aul_") for k in ("more", "less")}
        found.append(record(name, value, by=by, detail=detail))
    return found


def associations(values: Values, start: int = 0, **more: Any) -> list[Record]:
    """Return records of the template association; one cluster an item unless one is given."""
    more = {"by": {"axis": "gender"}} | more
    names = [f"association/{n:04d}" for n in range(start, start + len(values))]
    return [
        unscored(n, **more) if v is None else record(n, float(v), **more)
        for n, v in zip(names, values, strict=True)
    ]


def measured(records: Sequence[Record], name: str = "template_association") -> SuiteResult:
    measures = {"crows_pairs": CROWS, "gendered_pair_entropy": PAIRS, "seat": SEAT}
    made = result(name, records=records, measure=measures.get(name, ASSOCIATION))
    return scored(made, find(name), seed=0)


def targets(values: Sequence[float]) -> list[Record]:
    sides = ["xy"[n % 2] for n in range(len(values))]
    return [
        record(f"t{n}", v, by={"test": "t"}, detail={"side": sides[n], "word": f"w{n}"})
        for n, v in enumerate(values)
    ]
