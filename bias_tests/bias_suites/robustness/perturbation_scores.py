"""Scores of classifications of clean and changed texts: divergence, worst class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from bias_suites.verdicts import THRESHOLD
from pytest_bias.models import Outputs
from pytest_bias.records import Record
from pytest_bias.scoring import (
    SHUFFLED,
    Additive,
    Contribution,
    Estimate,
    Floats,
    Sampling,
    Sums,
    Test,
    exp,
    null_estimate,
    permutation,
    size_of_means,
    without_overflow,
)

TOO_LARGE: Final = "too large for a number"
NO_LABEL: Final = "no label"
"""Class of a text without a probable label, where labels are not mutually exclusive."""


def called(row: Floats, labels: Sequence[str], outputs: Outputs) -> tuple[str, ...]:
    """Return the predicted labels of a text, from its probabilities, of shape (n_labels,).

    The likeliest label (of equal ones the first) where labels are mutually exclusive; all with a
    probability of one half or more where they are not.
    """
    if outputs is Outputs.SINGLE_LABEL:
        return (labels[int(row.argmax())],)
    return tuple(label for label, p in zip(labels, row, strict=True) if p >= THRESHOLD)


def divergence(one: Floats, other: Floats, outputs: Outputs) -> float:
    """Return the Jensen-Shannon divergence of two answers, in bits, from 0 to 1.

    For labels that are not mutually exclusive it is the mean over the labels, each of which applies
    or not (Lin 1991, IEEE Transactions on Information Theory 37).

    Parameters
    ----------
    one, other : array of shape (n_labels,)
        Probabilities.
    """
    if outputs is not Outputs.SINGLE_LABEL:
        one, other = (np.stack([p, 1 - p]) for p in (one, other))
    middle = entr((one + other) / 2) - (entr(one) + entr(other)) / 2
    # The divergence of equal distributions may be below zero by rounding.
    return max(0.0, float(middle.sum(axis=0).mean() / np.log(2)))


class GeometricMean(Additive):
    """Geometric mean over the records of a positive number; `of` gives its natural logarithm."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        return without_overflow(super().__call__(records, sampling), TOO_LARGE)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        of_logs = super().sums(records)

        def of_totals(totals: Floats) -> Floats:
            return exp(of_logs.of_totals(totals))

        return replace(of_logs, of_totals=of_totals)

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the mean of the logarithms is that of the ideal."""
        kept, values = self.contributing(records)
        clusters = [r.cluster for r in kept]
        return permutation.mean_test(values, clusters, float(np.log(ideal)), sampling)


@dataclass(frozen=True)
class WorstClass:
    """Greatest mean contribution of a class of records, by the class of their clean texts.

    The greatest of several is above the mean of all by chance as well: its floor is its value when
    texts change their classes at random, and its test is that shuffle. Its interval is that of an
    unsigned statistic (`unsigned`). Two models may classify the clean texts differently, so that
    two such values have no common items and cannot be paired.
    """

    of: Contribution
    floor_of = SHUFFLED

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        values = np.array([self.of(r) for r in records], dtype=np.float64)
        names = [str(r.detail["class"]) for r in records]
        classes, group = np.unique(names, return_inverse=True)
        if len(classes) < 2:
            return Estimate(None, interval_reason="all clean texts are of one class")
        # A text is of one class: its clean version is the same in all of its records.
        clusters = [f"{r.cluster} {name}" for r, name in zip(records, names, strict=True)]
        texts, text = np.unique(clusters, return_inverse=True)
        class_of = np.empty(len(texts), dtype=np.int64)
        class_of[text] = group
        shuffled = (
            float(_means(values, sampling.rng.permutation(class_of)[text]).max())
            for _ in range(sampling.draws.shuffles)
        )
        means = _means(values, group)
        worst = int(means.argmax())
        sums = size_of_means(values, texts[text].tolist(), group.tolist(), _greatest)
        found = null_estimate(sums, shuffled, "shuffles of classes", sampling)
        if np.ptp(means) == 0:
            return found
        n_texts = int((class_of == worst).sum())
        return replace(found, note=f"in {classes[worst]} ({n_texts} of {len(texts)} texts)")


def _greatest(means: Floats) -> Floats:
    found: Floats = means.max(-1)
    return found


def _means(values: Floats, group: NDArray[np.int64]) -> Floats:
    """Return the mean of each group; every group has a text, and so a value."""
    found: Floats = np.bincount(group, weights=values) / np.bincount(group)
    return found
