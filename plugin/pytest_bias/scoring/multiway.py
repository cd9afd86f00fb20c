"""Multiway cluster variance: of units that share levels of several factors, such as words.

Where occupations and pairs of words cross, resampling the occupations alone holds the pairs
fixed, and the interval is too narrow (Clark 1973). Units that share a level of any factor vary
together, so the variance is that over the levels of each factor, less what is counted twice.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_bias.scoring.statistics import Bounds, Floats

INTERVAL: Final = "multiway clusters"
TEST: Final = "t test over multiway clusters"

FEWEST_APART: Final = 7
"""Degrees of freedom below which several variances do not count."""


class Cell(NamedTuple):
    """Levels of a unit, factor by factor: one, or two different ones where an item has two.

    `factors` are the names of the factors in the plural, the same for all cells of a sample.
    """

    levels: tuple[tuple[str, ...], ...]
    factors: tuple[str, ...]


class _Groups(NamedTuple):
    """Membership of units in groups: row numbers and group numbers side by side."""

    unit: NDArray[np.int64]
    group: NDArray[np.int64]
    n: int


@dataclass(frozen=True, slots=True)
class Crossing:
    """The cells of the units of a sample, in the order of their rows.

    `pooled` says that the variances over a factor that is nested in the sides count as one estimate
    with the levels of all sides; else as several, with those of the side that has the fewest, but
    `FEWEST_APART` degrees of freedom at least.
    """

    cells: tuple[Cell, ...]
    pooled: bool = True

    @classmethod
    def of(cls, units: Sequence[Hashable]) -> "Crossing | None":
        """Return the crossing of units that are cells, None of others."""
        cells = tuple(unit for unit in units if isinstance(unit, Cell))
        return cls(cells) if cells else None

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors."""
        return self.cells[0].factors

    def by_level(self, sizes: Floats) -> list[Floats]:
        """Add up the sizes of units over the levels of each factor, (n_levels, n_sides) each."""
        found = []
        for number in range(len(self.factors)):
            groups = self._levels(number)
            added = np.zeros((groups.n, sizes.shape[1]))
            np.add.at(added, groups.group, sizes[groups.unit])
            found.append(added[added.any(axis=1)])
        return found

    def degrees_of_freedom(self, sizes: Floats) -> int:
        """Return the number of levels of the factor with the fewest, less one or its sides.

        A factor is nested in the sides that are compared where each of its levels has
        units of one side only.
        """
        found: list[int] = []
        for added in self.by_level(sizes):
            is_nested = added.shape[1] > 1 and ((added > 0).sum(axis=1) == 1).all()
            if is_nested and not self.pooled:
                least = int((added > 0).sum(axis=0).min()) - 1
                # Variances of several sides make up for one another in part.
                found.append(max(least, min(FEWEST_APART, len(added) - added.shape[1])))
            else:
                found.append(len(added) - (added.shape[1] if is_nested else 1))
        return min(found)

    def covariance(self, rows: Floats, of_totals: Callable[[Floats], Floats]) -> Floats | None:
        """Return the covariance of a statistic of totals, shape (m, m).

        The variance over the levels of each factor is that of a jackknife that leaves them out one
        by one; of a factor of which a unit has two levels, such as two occupations of a sentence,
        the variance over pairs of levels is counted once. It is never less than over one factor.

        Parameters
        ----------
        rows : array of shape (n_units, k)
            Additive numbers of the units.
        of_totals : callable
            Maps totals, of shape (..., k), to the statistic, of shape (..., m).

        Returns
        -------
        array of shape (m, m) or None
            None where the statistic needs a level that is left out.

        References
        ----------
        Cameron, Gelbach and Miller (2011), Journal of Business & Economic Statistics 29, section
        2.3; Aronow, Samii and Assenova (2015), Political Analysis 23, equation 3, for pairs of
        levels; MacKinnon, Nielsen and Webb (2023), Journal of Econometrics 232, for the jackknife.
        """

        def jackknife(groups: _Groups) -> Floats:
            added = np.zeros((groups.n, rows.shape[1]))
            np.add.at(added, groups.group, rows[groups.unit])
            with np.errstate(invalid="ignore", divide="ignore"):
                left = of_totals(rows.sum(axis=0) - added)
            apart = left - left.mean(axis=0)
            found: Floats = (groups.n - 1) / groups.n * np.einsum("gi,gj->ij", apart, apart)
            return found

        single = []
        for number in range(len(self.factors)):
            over_levels = jackknife(self._levels(number))
            if any(len(cell.levels[number]) > 1 for cell in self.cells):
                over_pairs = jackknife(self._sets((number,)))
                over_levels = _at_least(over_levels - over_pairs, [over_pairs])
            single.append(over_levels)
        total = np.sum(single, axis=0)
        for size in range(2, len(single) + 1):
            for chosen in combinations(range(len(single)), size):
                total = total + (-1) ** (size + 1) * jackknife(self._sets(chosen))
        return _at_least(total, single) if np.isfinite(total).all() else None

    def _levels(self, number: int) -> _Groups:
        names = sorted({name for cell in self.cells for name in cell.levels[number]})
        at = {name: n for n, name in enumerate(names)}
        pairs = [
            (unit, at[name]) for unit, cell in enumerate(self.cells) for name in cell.levels[number]
        ]
        unit, group = np.array(pairs, dtype=np.int64).T
        return _Groups(unit, group, len(names))

    def _sets(self, numbers: Sequence[int]) -> _Groups:
        """Return the units that have all their levels of some factors in common."""
        keys = [tuple(tuple(sorted(c.levels[n])) for n in numbers) for c in self.cells]
        at = {key: n for n, key in enumerate(sorted(set(keys)))}
        group = np.array([at[key] for key in keys], dtype=np.int64)
        return _Groups(np.arange(len(keys)), group, len(at))


def _at_least(found: Floats, single: Sequence[Floats]) -> Floats:
    """Return a covariance made positive semidefinite, no variance of it below one of `single`."""
    if not np.isfinite(found).all():
        return found
    values, vectors = np.linalg.eigh(found)
    clipped: Floats = (vectors * np.maximum(values, 0)) @ vectors.T
    least = np.max([np.diag(s) for s in single], axis=0)
    now = np.diag(clipped)
    grow = np.sqrt(np.divide(np.maximum(least, now), now, out=np.ones_like(now), where=now > 0))
    # A variance that was clipped to zero has no covariance with the others.
    widened: Floats = grow[:, None] * clipped * grow + np.diag(np.where(now > 0, 0.0, least))
    return widened


def interval(
    value: float, variance: float, df: int, bounds: Bounds, level: float
) -> tuple[float, float]:
    """Return the Student's t interval of a value, within its bounds.

    For a share, which is bounded by 0 and another number, it is that of the log-odds.

    References
    ----------
    Korn and Graubard (1998), Survey Methodology 24, for shares.
    """
    from scipy.special import stdtrit

    half = float(stdtrit(df, 0.5 + level / 2)) * math.sqrt(variance)
    low, high = bounds
    if low == 0 and high is not None and 0 < value < high:
        odds, step = value / (high - value), half * high / (value * (high - value))
        ends = (odds * math.exp(min(700, max(-700, step * sign))) for sign in (-1, 1))
        down, up = (high * end / (1 + end) for end in ends)
        return down, up
    down = max(value - half, -math.inf if low is None else low)
    return down, min(value + half, math.inf if high is None else high)


def p_value(value: float, variance: float, df: int) -> float:
    """Return the two-sided p-value of a value against zero by Student's t."""
    from scipy.special import stdtr

    one_side = float(stdtr(df, -abs(value) / math.sqrt(variance)))
    return 2 * one_side
