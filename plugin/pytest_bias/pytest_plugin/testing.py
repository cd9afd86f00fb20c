"""Tools for hand-written tests: a model to query, and comparisons with an interval."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from pytest_bias.models.interface import Model
from pytest_bias.records.report import SuiteResult
from pytest_bias.reports.verdicts import Decided, of_interval
from pytest_bias.scoring import resampling
from pytest_bias.scoring.digits import beside, edge
from pytest_bias.scoring.resampling import Sums, mean_sums
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling

SEED: Final = 0


class UndecidedWarning(UserWarning):
    """A comparison could not be decided with the texts that were given."""


@dataclass(frozen=True)
class Difference:
    """Difference of the means of two groups, the first minus the second, with its interval."""

    estimate: Estimate
    n: tuple[int, int]

    @property
    def value(self) -> float | None:
        """The difference itself."""
        return self.estimate.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval, or None."""
        return self.estimate.interval

    def verdict(self, within: float) -> Decided:
        """Decide whether the interval is inside, outside, or across ``-within … within``."""
        return of_interval(self.estimate, (-within, within))[0]

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, within: float | None = None) -> str:
        """Describe the difference, with as many digits as a decision on a limit needs."""
        if self.value is None:
            return f"no difference: {self.estimate.interval_reason}"
        edges = [] if within is None else [-within, within]
        value, *ends = beside([self.value, *(self.interval or ())], edges, 3)
        between = " to ".join(ends) or f"no interval: {self.estimate.interval_reason}"
        return f"{value} ({between}), n = {self.n}"


def difference(
    first: NDArray[np.float64], second: NDArray[np.float64], *, paired: bool, seed: int = SEED
) -> Difference:
    """Compare the means of two groups.

    Parameters
    ----------
    first, second : array of shape (n,)
        One number per text; of equal length if `paired`.
    paired : bool
        Whether ``first[i]`` and ``second[i]`` come from the same sentence.
    """
    sampling = Sampling(np.random.default_rng(seed))
    if paired:
        if len(first) != len(second):
            raise ValueError(f"{len(first)} texts against {len(second)}; pairs need as many.")
        found = resampling.mean(first - second, range(len(first)), sampling)
    else:
        found = difference_of_means(first, second, sampling)
    return Difference(found, (len(first), len(second)))


def difference_of_means(first: Floats, second: Floats, sampling: Sampling) -> Estimate:
    """Mean of the first sample minus that of the second, with its BCa bootstrap interval."""
    if len(first) == 0 or len(second) == 0:
        return Estimate(None, interval_reason="a sample is empty")
    # Sorted, so that the order of the values does not matter.
    parts = [mean_sums(np.sort(v), range(len(v))) for v in (first, second)]

    def gap(x: Floats, y: Floats) -> Floats:
        return parts[0].of_totals(x) - parts[1].of_totals(y)

    samples = (parts[0].samples[0], parts[1].samples[0])
    sums = Sums(samples, gap, max(p.scale for p in parts))
    return resampling.estimate(sums, sampling, constant="all values of a sample are equal")


def assert_within(
    found: Difference,
    within: float,
    undecided: Literal["warn", "fail"],
    *,
    withholds: bool = False,
) -> None:
    """Fail if a difference is outside a limit as a whole; warn, or fail, if it is undecided.

    If it `withholds`, the message has the verdict without the difference.
    """
    verdict = found.verdict(within)
    what = "difference" if withholds else f"difference {found.in_words(within)}"
    text = f"{what} against a limit of ±{edge(within)}: {verdict}"
    if verdict == "exceeded" or (verdict == "undecided" and undecided == "fail"):
        raise AssertionError(text)
    if verdict == "undecided":
        warnings.warn(text, UndecidedWarning, stacklevel=3)


Numbers = TypeVar("Numbers", bound=NDArray[Any])


def _finite(numbers: Numbers) -> Numbers:
    if not np.isfinite(numbers).all():
        raise ValueError("the model gives numbers that are not finite")
    return numbers


@dataclass(frozen=True)
class BiasModel:
    """The model under test, for tests written by hand."""

    model: Model

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Log-likelihood (causal, seq2seq) or pseudo-log-likelihood (masked) of each text, in nats.

        Raises
        ------
        ValueError
            If a text cannot be scored; the message states which and why.
        """
        found = self.model.score(list(texts))
        for number, one in enumerate(found):
            if one.reason:
                raise ValueError(f"text {number} cannot be scored: {one.reason}")
        return _finite(np.array([one.total for one in found]))

    def fill(self, text: str, k: int = 5) -> list[tuple[str, float]]:
        """Return the `k` most likely words at ``[MASK]`` with their log-probabilities."""
        return self.model.fill([text], k)[0]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, shape (n_texts, dimension)."""
        found = self.model.embed(list(texts))
        for number, reason in enumerate(found.reasons):
            if reason:
                raise ValueError(f"text {number} cannot be embedded: {reason}")
        return _finite(found.vectors)

    def compare(self, first: Sequence[str], second: Sequence[str]) -> Difference:
        """Compare two groups of texts, paired in their order, by their log-likelihood in nats."""
        return difference(self.score(first), self.score(second), paired=True)

    def assert_alike(
        self,
        first: Sequence[str],
        second: Sequence[str],
        *,
        within: float,
        undecided: Literal["warn", "fail"] = "warn",
    ) -> None:
        """Assert that two groups of texts, paired in their order, are about equally likely.

        Parameters
        ----------
        first, second : sequence of str
            Sentences that differ only in the group.
        within : float
            Largest allowed mean difference, in nats per sentence.
        undecided : str
            What to do if the interval crosses the limit.
        """
        assert_within(self.compare(first, second), within, undecided)


def group_values(result: SuiteResult, **group: str) -> NDArray[np.float64]:
    """Return the values of the scored records of a group."""
    found = [
        r.value
        for r in result.records
        if r.status == "scored" and r.value is not None and group.items() <= dict(r.by).items()
    ]
    if not result.records and result.scores:
        raise ValueError(f"{result.entry} is hidden: its items have no values outside of the run.")
    if not found:
        known = sorted({f"{k}={v}" for r in result.records for k, v in r.by.items()})
        raise ValueError(f"{result.entry} has no group {group}; it has {', '.join(known)}")
    return np.array(found)
