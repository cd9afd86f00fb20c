"""Merging of results in a model card, decided on the data before any text changes.

A score is identified by its `Key`. Ours replaces one with the same key, whoever wrote it. A result
that we wrote is ours as a whole: it is replaced by the one of the same data and configuration, and
removed if the report no longer has one. Everything else stays.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

SOURCE: Final = "pytest-bias report"
MADE_BY: Final = "pytest-bias"
"""Value of ``dataset.args.made_by`` in our results."""
OF_A_REPORT: Final = ("made_by", "report", "date")
"""Keys below ``dataset.args`` that say who wrote a result, and from which report."""
_METRIC: Final = re.compile(r".*\(ideal .*\bn [\d,]+.*\)")
"""Pattern of our metric names, which identifies our results from before they had a mark."""

Key: TypeAlias = tuple[str, ...]
"""Dataset type, configuration, split and metric type, which identify a score."""


class Theirs(NamedTuple):
    """An existing result, by its position, without some of its metrics."""

    at: int
    metrics: frozenset[int] = frozenset()
    """Positions of the metrics that ours replace."""


class Ours(NamedTuple):
    """One of our results, by its position."""

    at: int


def is_own(result: Any) -> bool:
    """Whether we wrote a result, in this version or an earlier one."""
    source, args = _table(result, "source"), _table(_table(result, "dataset"), "args")
    if source.get("name") == SOURCE or args.get("made_by") == MADE_BY:
        return True
    metrics = result.get("metrics") if isinstance(result, Mapping) else None
    if not isinstance(metrics, list) or not metrics:
        return False
    names = [m.get("name") if isinstance(m, Mapping) else None for m in metrics]
    return all(isinstance(name, str) and _METRIC.fullmatch(name) for name in names)


def bare(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return one of our results without the keys that identify its report."""
    dataset = dict(_table(result, "dataset"))
    args = {k: v for k, v in _table(dataset, "args").items() if k not in OF_A_REPORT}
    dataset.pop("args", None)
    found = {k: v for k, v in result.items() if k != "source"}
    return {**found, "dataset": {**dataset, **({"args": args} if args else {})}}


def outcomes(
    entries: Sequence[Any], ours: Sequence[Any], last: int, *, keeps: bool = False
) -> list[list[Theirs | Ours]]:
    """Return the results of every entry of ``model-index`` after ours are merged in.

    Parameters
    ----------
    entries : sequence
        The entries, each with a list of results or None.
    ours : sequence
        Our results.
    last : int
        Entry to which those of our results are appended that replace nothing.
    keeps : bool
        Whether our results from earlier reports that are not in `ours` are kept.
    """
    keys = {key: i for i, result in enumerate(ours) for key in _keys(result)}
    left = dict.fromkeys(range(len(ours)))
    found = [
        [
            part
            for i, r in enumerate(e["results"] or ())
            for part in _outcome(i, r, keys, left, ours, keeps)
        ]
        for e in entries
    ]
    for part in map(Ours, left):
        found[last].append(part)
    return found


def _outcome(
    at: int,
    result: Any,
    keys: Mapping[Key | None, int],
    left: dict[int, None],
    ours: Sequence[Any],
    keeps: bool,
) -> list[Theirs | Ours]:
    """Return what replaces a result; `left` are those of ours that are not placed yet."""
    found = _keys(result)
    cut = frozenset(i for i, key in enumerate(found) if key in keys)
    fits = tuple(i for i in dict.fromkeys(keys[found[j]] for j in sorted(cut)) if i in left)
    is_gone = bool(cut) and len(cut) == len(found)
    if is_own(result):
        # Matched by data and configuration, since its metrics may have other names now.
        about = _about(result)
        same = [i for i, one in enumerate(ours) if _about(one) == about]
        fits = tuple(dict.fromkeys([*fits, *(i for i in same if i in left)]))
        # Also a result without metrics.
        is_gone = is_gone or bool(same) or not keeps
    for i in fits:
        del left[i]
    if len(fits) == 1 and result == ours[fits[0]]:
        return [Theirs(at)]
    return [*([] if is_gone else [Theirs(at, cut)]), *map(Ours, fits)]


def _table(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _about(result: Any) -> tuple[str, ...]:
    """Return the data and configuration that a result is about."""
    dataset = _table(result, "dataset")
    return tuple(str(dataset.get(name) or "") for name in ("type", "config", "split"))


def _keys(result: Any) -> list[Key | None]:
    """Return the keys of a result's metrics; None where a metric does not state its key."""
    dataset = result.get("dataset") if isinstance(result, Mapping) else None
    metrics = result.get("metrics") if isinstance(result, Mapping) else None
    if not (isinstance(dataset, Mapping) and isinstance(metrics, list)):
        return []
    about = [str(dataset.get(name) or "") for name in ("type", "config", "split")]
    return [(*about, str(m.get("type"))) if isinstance(m, Mapping) else None for m in metrics]
