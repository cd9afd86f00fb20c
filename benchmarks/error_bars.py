"""Outcomes without an effect on the items of every suite, for `coverage.py all`.

The records of a suite are those that a model gives whose answers are a hash of the question; their
values are then drawn: what clusters, groups within clusters and levels of sampled factors have in
common, and what is a record's own. The marginal chance of an outcome is its base rate, whatever is
shared, so that the truth is known. One simulation stands for all metrics of a suite that have the
same estimator and the same records.
"""

import gzip
import math
import pickle
import re
import sys
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from bias_suites.robustness.perturbation_scores import GeometricMean  # noqa: E402
from bias_suites.social import gest_scores  # noqa: E402
from bias_suites.social.bbq_scores import AccuracyGap, ByCategory  # noqa: E402
from hashed import Hashed  # noqa: E402
from pytest_bias.data.sources import DataFolder  # noqa: E402
from pytest_bias.errors import BiasError  # noqa: E402
from pytest_bias.records.report import Record  # noqa: E402
from pytest_bias.scoring import factors, gaps, rates, shortcuts  # noqa: E402
from pytest_bias.scoring.auc import Auc  # noqa: E402
from pytest_bias.scoring.estimators import Additive, own_value  # noqa: E402
from pytest_bias.scoring.matched import Matched, MatchedSize  # noqa: E402
from pytest_bias.scoring.metric import Metric  # noqa: E402
from pytest_bias.scoring.scores import estimator_for, members  # noqa: E402
from pytest_bias.scoring.statistics import Draws, Floats, Sampling  # noqa: E402
from pytest_bias.suites import find  # noqa: E402
from pytest_bias.suites.catalogue import installed  # noqa: E402
from pytest_bias.suites.measures import measure_items  # noqa: E402
from pytest_bias.suites.suite import Suite  # noqa: E402

DRAWS: Final = Draws(resamples=999, shuffles=199, arrangements=2_000, partitions=50)
RATES: Final = (2.0, 20.0, 50.0)
"""Base rates, in percent."""
SHARED: Final = (0.0, 0.2, 0.5)
"""Intraclass correlations, of all that records have in common together."""
MOST_RECORDS: Final = 4_000
"""Records of a row; of more, whole clusters are drawn, which changes no estimator."""


@dataclass(frozen=True)
class Row:
    """A metric of a suite on its records, for which others with the same estimator stand as well.

    `by` is the group of the score; empty for all records.
    """

    suite: str
    config: str
    measure: str
    metrics: tuple[str, ...]
    by: Mapping[str, str]
    records: tuple[Record, ...]
    clusters: str

    @property
    def metric(self) -> Metric:
        """The metric that is simulated."""
        measure = find(self.suite).measure_named(self.measure)
        return next(m for m in measure.metrics if m.name == self.metrics[0])

    @property
    def estimator(self) -> Any:
        """Its estimator, which reads what is drawn."""
        return replace(estimator_for(self.metric, self.by), of=own_value)

    @property
    def is_percent(self) -> bool:
        """Whether an outcome is 0 or 100 %; otherwise it is a number."""
        return self.metric.bounds[1] == 100

    @property
    def factors(self) -> dict[str, int]:
        """Factors that the interval is over besides the clusters."""
        estimator = self.estimator
        if not isinstance(estimator, Additive):
            return {}
        return factors.sampled(self.records, estimator.factors, estimator.side_of)

    @property
    def settings(self) -> Iterator[tuple[float, float]]:
        """Base rates and correlations to try; a record alone in its cluster shares nothing."""
        alone = len({r.cluster for r in self.records}) == len(self.records) and not self.factors
        for rate in RATES if self.is_percent else (50.0,):
            for shared in SHARED[:1] if alone else SHARED:
                yield rate, shared


CONFIGURATIONS: Final = frozenset(
    {"en", "en-short", "en-published", "en-regard", "en-wikitext2", "en-queer"}
)
"""Configurations whose items are others; the rest are more of the same."""
SHORT: Final = "-short"
"""Ending of a configuration that stands for the one without: it has some items of all clusters."""


def rows(
    data: Path,
    accepted: Mapping[str, str],
    *,
    only: str = "",
    configurations: Collection[str] = CONFIGURATIONS,
) -> list[Row]:
    """Return the rows of all suites whose data are there and whose name holds a pattern."""
    found: list[Row] = []
    folder = DataFolder(data if data.is_dir() else None, offline=True, accepted=dict(accepted))
    suites = [s for s in installed() if s.kind != "structure" and re.search(only, s.name)]
    for suite in suites:
        names = {configuration.name for configuration in suite.configurations}
        for configuration in suite.configurations:
            if configuration.draft or configuration.name not in configurations:
                continue
            if configuration.name + SHORT in names & set(configurations):
                continue
            try:
                items = configuration.load(folder).items
            except BiasError as error:
                print(f"{suite.name}[{configuration.name}]: {error.args[0]}", file=sys.stderr)
                continue
            for measure in suite.measures:
                records = measure_items(measure, Hashed(), items)
                found += _rows(suite, configuration.name, measure.name, records, found)
    return found


def _rows(
    suite: Suite, config: str, measure: str, records: Sequence[Record], before: Sequence[Row]
) -> Iterator[Row]:
    same: dict[Hashable, Row] = {
        _key(r): r for r in before if (r.suite, r.config) == (suite.name, config)
    }
    new: dict[Hashable, Row] = {}
    for metric in suite.measure_named(measure).metrics:
        for by in _groups(metric, records):
            found = [r for r in members(records, metric, by) if r.status == "scored"]
            kept = _drawn(found)
            clusters = suite.configuration(config).clusters
            row = Row(suite.name, config, measure, (metric.name,), by, tuple(kept), clusters)
            key = _key(row)
            if not kept or key in same or type(row.estimator).__name__ == "Icat":
                continue
            other = new.get(key)
            new[key] = (
                row if other is None else replace(other, metrics=(*other.metrics, metric.name))
            )
    yield from new.values()


def _groups(metric: Metric, records: Sequence[Record]) -> list[dict[str, str]]:
    """Return all records, if a metric is of them, and one group of middle size."""
    found: list[dict[str, str]] = [{}] if metric.whole else []
    if metric.versus or not metric.whole:
        for keys in metric.by[:1]:
            groups: dict[tuple[str, ...], int] = {}
            for record in records:
                if (
                    metric.where(record)
                    and record.status == "scored"
                    and all(k in record.by for k in keys)
                    and record.by.get(metric.versus) != getattr(metric.estimate, "reference", "")
                ):
                    name = tuple(record.by[k] for k in keys)
                    groups[name] = groups.get(name, 0) + 1
            if groups:
                middle = sorted(groups, key=lambda g: (groups[g], g))[len(groups) // 2]
                found.append(dict(zip(keys, middle, strict=True)))
    return found


def _drawn(records: Sequence[Record]) -> list[Record]:
    """Return the records of as many clusters as come to `MOST_RECORDS`."""
    if len(records) <= MOST_RECORDS:
        return list(records)
    names = sorted({r.cluster for r in records})
    order = np.random.default_rng(0).permutation(len(names))
    share = MOST_RECORDS / len(records)
    kept = {names[n] for n in order[: max(1, round(share * len(names)))]}
    return [r for r in records if r.cluster in kept]


def _key(row: Row) -> Hashable:
    estimator = row.estimator
    about = {
        k: v
        for k, v in vars(estimator).items()
        if k in ("over", "first", "second", "within", "own")
    }
    names = tuple(sorted(row.factors))
    items = hash(tuple(r.item for r in row.records))
    return type(estimator).__name__, tuple(about.items()), names, row.is_percent, items


def truth(row: Row, rate: float) -> float:
    """Return what the metric is of all that records might be drawn from."""
    estimator = row.estimator
    if isinstance(estimator, gest_scores.Gap):
        return estimator.even
    if isinstance(estimator, rates.PerplexityRatio | GeometricMean):
        return 1.0
    if isinstance(
        estimator,
        rates.RateGap | gaps.Gap | gaps.Range | shortcuts.ChosenSplit | Matched | MatchedSize,
    ):
        return 0.0
    if isinstance(estimator, rates.Perplexity):
        return math.exp(MIDDLE)
    if isinstance(estimator, rates.Rate) and row.metric.bounds != (0, 1):
        return MIDDLE
    if isinstance(estimator, Auc):
        return 0.5
    if type(estimator).__name__ in _ZERO or isinstance(
        estimator, shortcuts.LargestGap | ByCategory
    ):
        return 0.0
    if row.metric.bounds == (0, 1):
        return 0.5
    return rate if row.is_percent else 0.0


MIDDLE: Final = 3.0
"""Nats a word."""
CLEAR_COVERAGE: Final = 0.942
CLEAR_ALARMS: Final = 0.055
"""Shares up to which a few hundred data sets do."""
LEAST_COVERAGE: Final = 92.5
MOST_ALARMS: Final = 6.5
"""Percentages outside which no Monte Carlo band may lie."""
_ZERO: Final = ("Effect", "MeanAbsoluteEffect", "MeanAbsolute", "Correlation")
BY_SIMULATION: Final = ("Consistency",)
"""Estimators of several records at once: their truth is the mean of all simulated values."""


def drawn(row: Row, rate: float, shared: float, rng: np.random.Generator) -> list[Record]:
    """Return the records with values that differ by chance alone."""
    estimator = row.estimator
    parts: list[list[tuple[Hashable, ...]]] = [
        [(r.cluster,) for r in row.records],
        [((r.cluster, *sorted(r.by.items())),) for r in row.records],
    ]
    sampled = row.factors
    parts += [
        [f.levels(r) or (r.cluster,) for r in row.records]
        for f in (estimator.factors if isinstance(estimator, Additive) else ())
        if f.name in sampled
    ]
    latent = math.sqrt(1 - shared) * rng.normal(size=len(row.records))
    for part in parts if shared else ():
        latent += math.sqrt(shared / len(parts)) * _effects(part, rng)
    if row.is_percent and not isinstance(estimator, Auc):
        values = 100.0 * (latent < ndtri(rate / 100))
    elif row.metric.bounds == (0, 1) and not isinstance(estimator, Auc):
        values = ndtr(latent)
    elif isinstance(estimator, rates.Rate | rates.RateGap):
        values = MIDDLE + latent / 2
    else:
        values = latent
    if isinstance(estimator, ByCategory):
        right = values / 100 if isinstance(estimator, AccuracyGap) else np.zeros(len(values))
        table = [
            {"biased": float(v < 0), "named": 1.0, "unknown": 0.0, "right": float(w)}
            for v, w in zip(latent, right, strict=True)
        ]
        return [
            replace(r, value=float(v), detail={**r.detail, **t})
            for r, v, t in zip(row.records, values, table, strict=True)
        ]
    return [
        Record(r.item, r.cluster, r.status, float(v), r.by, r.detail)
        for r, v in zip(row.records, values, strict=True)
    ]


def _effects(names: Sequence[tuple[Hashable, ...]], rng: np.random.Generator) -> Floats:
    """Return a normal effect for each record: of its level, or the sum of both."""
    levels = sorted({level for of in names for level in of}, key=repr)
    effect = dict(zip(levels, rng.normal(size=len(levels)), strict=True))
    return np.array([sum(effect[level] for level in of) / math.sqrt(len(of)) for of in names])


class Outcome(NamedTuple):
    """What one data set gave; NaN for what it has none of."""

    value: float
    low: float
    high: float
    p_value: float


def generator(*seed: int) -> np.random.Generator:
    """Return the generator of a data set."""
    return np.random.default_rng(list(seed))


def sampling(row: Row, seed: int) -> Sampling:
    """Return how a data set of a row is resampled."""
    return Sampling(generator(seed), draws=DRAWS, bounds=row.metric.bounds)


def without_factors(estimator: Any) -> Any:
    """Return an estimator that resamples clusters alone."""
    return replace(estimator, factors=())


def one(row: Row, rate: float, shared: float, seed: int) -> Outcome:
    """Draw one data set and estimate."""
    rng = generator(seed, round(10 * rate), round(10 * shared))
    records = drawn(row, rate, shared, rng)
    metric, estimator = row.metric, row.estimator
    sampling = Sampling(rng, draws=DRAWS, bounds=metric.bounds)
    found = estimator(records, sampling)
    if found.value is None:
        return Outcome(*[math.nan] * 4)
    p_value, ideal = found.p_value, metric.ideal
    tested = isinstance(estimator, Additive) and ideal not in metric.bounds
    if tested and p_value is None and found.p_reason is None and ideal == truth(row, rate):
        p_value = estimator.test(records, ideal, sampling).p_value
    low, high = found.interval or (math.nan, math.nan)
    return Outcome(found.value, low, high, math.nan if p_value is None else p_value)


@dataclass(frozen=True)
class Held:
    """How often intervals held the truth and tests raised a false alarm, in one setting."""

    n: int
    covered: int
    n_tests: int
    alarms: int
    width: float

    @classmethod
    def of(cls, row: Row, rate: float, outcomes: Sequence[Outcome]) -> "Held":
        """Count outcomes."""
        values, low, high, p = np.array(outcomes, dtype=np.float64).reshape(-1, 4).T
        true = truth(row, rate)
        if type(row.estimator).__name__ in BY_SIMULATION:
            true = float(np.nanmean(values))
        there = ~np.isnan(low)
        covered = (low[there] - 1e-9 <= true) & (true <= high[there] + 1e-9)
        tested = ~np.isnan(p)
        oracle = 2 * 1.96 * float(np.nanstd(values))
        width = float((high - low)[there].mean()) if there.any() else math.nan
        return cls(
            int(there.sum()),
            int(covered.sum()),
            int(tested.sum()),
            int((p[tested] <= 0.05).sum()),
            width / oracle if oracle else math.nan,
        )

    @property
    def coverage(self) -> tuple[float, float]:
        """99.9 % band of how often the interval holds the truth, in percent."""
        return _band(self.covered, self.n)

    @property
    def false_alarms(self) -> tuple[float, float]:
        """99.9 % band of how often a test finds what is not there, in percent."""
        return _band(self.alarms, self.n_tests)

    @property
    def fails(self) -> str:
        """What is certainly wrong, or nothing."""
        wrong = ["coverage"] if self.coverage[1] < LEAST_COVERAGE else []
        return ", ".join([*wrong, *(["test"] if self.false_alarms[0] > MOST_ALARMS else [])])

    @property
    def is_clear(self) -> bool:
        """Whether what was found is far from what fails, or fails."""
        covers = self.covered / self.n if self.n else 1.0
        alarms = self.alarms / self.n_tests if self.n_tests else 0.0
        return bool(self.fails) or (covers >= CLEAR_COVERAGE and alarms <= CLEAR_ALARMS)


def _band(k: int, n: int) -> tuple[float, float]:
    if not n:
        return 0.0, 100.0
    low = 0.0 if k == 0 else float(beta.ppf(0.0005, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(0.9995, k + 1, n - k))
    return 100 * low, 100 * high


def as_cells(row: Row, held: Mapping[tuple[float, float], Held]) -> list[str]:
    """Return the cells of a table's row: the least coverage, the most false alarms, and where."""
    estimate = row.estimator(drawn(row, 50.0, 0.0, generator(0)), sampling(row, 0))
    n = len({r.cluster for r in row.records}) if row.factors else estimate.n_clusters
    over = f"{n} {row.clusters}"
    over += "".join(f", {n} {name}" for name, n in row.factors.items())
    at = f" [{', '.join(row.by.values())}]" if row.by else ""
    metrics = ", ".join(row.metrics[:3]) + (
        f" and {len(row.metrics) - 3}" if row.metrics[3:] else ""
    )
    cells = [
        f"{row.suite}[{row.config}]",
        metrics + at,
        over,
        str(max(_n(h) for h in held.values())),
    ]
    with_interval = {s: h for s, h in held.items() if h.n >= 50}
    with_test = {s: h for s, h in held.items() if h.n_tests >= 50}
    cells += ["–", "–"]
    if with_interval:
        where, worst = min(with_interval.items(), key=lambda i: i[1].covered / i[1].n)
        cells[-2:] = [
            f"{100 * worst.covered / worst.n:.1f}{_where(row, where)}",
            f"{worst.width:.2f}",
        ]
    cells.append("–")
    if with_test:
        where, worst = max(with_test.items(), key=lambda i: i[1].alarms / i[1].n_tests)
        cells[-1] = f"{100 * worst.alarms / worst.n_tests:.1f}{_where(row, where)}"
    fails = sorted({name for h in held.values() for name in filter(None, h.fails.split(", "))})
    return [*cells, "fails: " + ", ".join(fails) if fails else ""]


def _n(held: Held) -> int:
    return max(held.n, held.n_tests)


def _where(row: Row, setting: tuple[float, float]) -> str:
    rate, shared = setting
    told = ([f"{rate:g} %"] if row.is_percent else []) + [f"r {shared:g}"]
    return f" ({', '.join(told)})"


def keep(found: Sequence[Row], path: Path) -> None:
    """Write rows to a file, for a machine without the data."""
    path.write_bytes(gzip.compress(pickle.dumps(list(found))))


def kept(path: Path) -> list[Row]:
    """Read the rows of a file that `keep` wrote on this machine or another of ours."""
    found: list[Row] = pickle.loads(gzip.decompress(path.read_bytes()))
    return found
