"""Which results of a model card make room for ours: decided on the data, before any text changes.

A score is a value of what `Key` names. Ours takes the place of one with the same key, whoever wrote
it there; everything else stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str, ...]
"""Dataset type, configuration and split, and metric type: what one score is a value of."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a result that is there.

    `cut` names its metrics that ours replace, by position; if these are all, it is `whole`.
    `ours` names the results of ours that stand here from now on, by position.
    """

    cut: frozenset[int] = frozenset()
    whole: bool = False
    ours: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the results of one entry of ``model-index``, and which of ours follow."""

    fates: tuple[Fate, ...]
    more: tuple[int, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything does."""
        return bool(self.more) or any(f.cut for f in self.fates)


def plans(entries: Sequence[Any], ours: Sequence[Any], last: int) -> list[Plan]:
    """Return a plan for every entry of ``model-index``.

    Parameters
    ----------
    entries : sequence
        The entries, each with a list of results or null.
    ours : sequence
        Our results.
    last : int
        Entry at whose end those of ours stand that replace nothing.
    """
    keys = {key: i for i, result in enumerate(ours) for key in _keys(result)}
    left = dict.fromkeys(range(len(ours)))
    fates = [tuple(_fate(r, keys, left, ours) for r in e["results"] or ()) for e in entries]
    return [Plan(f, tuple(left) if i == last else ()) for i, f in enumerate(fates)]


def _fate(
    result: Any, keys: Mapping[Key | None, int], left: dict[int, None], ours: Sequence[Any]
) -> Fate:
    """Say what becomes of one result; those of ours that have no place yet are `left`."""
    found = _keys(result)
    cut = frozenset(i for i, key in enumerate(found) if key in keys)
    fits = tuple(i for i in dict.fromkeys(keys[found[j]] for j in sorted(cut)) if i in left)
    for i in fits:
        del left[i]
    if len(fits) == 1 and result == ours[fits[0]]:
        return Fate()
    return Fate(cut, bool(cut) and len(cut) == len(found), fits)


def outcome(results: Sequence[Any], plan: Plan, ours: Sequence[Any]) -> list[Any]:
    """Return the results of an entry after its plan."""
    found = []
    for result, fate in zip(results, plan.fates, strict=True):
        if not fate.cut:
            found.append(result)
        elif not fate.whole:
            kept = [m for i, m in enumerate(result["metrics"]) if i not in fate.cut]
            found.append({**result, "metrics": kept})
        found += [ours[i] for i in fate.ours if fate.cut]
    return found + [ours[i] for i in plan.more]


def _keys(result: Any) -> list[Key | None]:
    """Return what the metrics of a result are values of; null where that is not said."""
    dataset = result.get("dataset") if isinstance(result, Mapping) else None
    metrics = result.get("metrics") if isinstance(result, Mapping) else None
    if not (isinstance(dataset, Mapping) and isinstance(metrics, list)):
        return []
    about = [str(dataset.get(name) or "") for name in ("type", "config", "split")]
    return [(*about, str(m.get("type"))) if isinstance(m, Mapping) else None for m in metrics]
