"""How often do the intervals hold the truth, and how often does a run raise a false alarm?

    python benchmarks/coverage.py intervals [--datasets 2000] [--processes 2]
    python benchmarks/coverage.py changes   [--datasets 2000]
    python benchmarks/coverage.py sizes     [--datasets 2000]
    python benchmarks/coverage.py runs REPORT [--pairs 500]
    python benchmarks/coverage.py all       [--data DIR | --rows FILE] [--keep FILE]

`intervals`: scores of independent pairs and of templates whose items hang together. `changes`: the
paired change between two versions, and how much further from the ideal. `sizes`: few clusters, d,
and sizes without a sign, of which there are none in half of the rows. `runs`: pairs of versions
of a whole saved report, every answer of the model disturbed anew, through `compare` and `decide`;
nothing changed, so whatever they find is a false alarm. `all`: every metric of every suite whose
data are there, on its own items (`error_bars`); --keep writes these for a machine without the data.
Prints Markdown tables.
"""

import argparse
import math
import multiprocessing
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import error_bars
import numpy as np
from scipy import stats

from bias_suites import pairs
from bias_suites.social import gendered_pair_entropy
from pytest_bias.records.report import Item, Record, Report, SuiteResult
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.folder import read_report
from pytest_bias.reports.limits import decide, decision_level, named_by, read_limits
from pytest_bias.scoring import gaps, paired, permutation, relabelling, resampling, unsigned
from pytest_bias.scoring.estimators import own_value
from pytest_bias.scoring.factors import Factor, along
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.scoring.impact import ImpactRatio
from pytest_bias.scoring.scores import LEVEL, Context, score_records
from pytest_bias.scoring.statistics import Draws, Estimate, Floats, Sampling, wilson
from pytest_bias.suites import find
from pytest_bias.suites.catalogue import installed

ROOT = Path(__file__).parents[1]
ACCEPTED = {
    s.name: ", ".join(sorted({of.licence for c in s.configurations for of in c.consents}))
    for s in installed()
}
"""Licences of data that are read for a simulation alone."""
SIZES = (20, 100, 1500)
TRUTHS = (50, 53, 60, 95)
PER_CLUSTER = 5
CORRELATION = 0.2
"""Correlation of the items of one cluster."""
CHANGES = ((50, 50), (60, 60), (50, 53), (45, 55), (60, 53), (95, 93))
"""True values before and now, in percent."""
LEANS = (0.0, 0.1, 0.25)
"""Standard deviation of what a seed of training adds to all items alike, in noise of an item."""
DRAWS = Draws(resamples=999, shuffles=199)
"""Of sizes, for which fewer do."""
WIDEST, MEAN_DISTANCE = (kind(own_value, "group").apart for kind in (gaps.Range, gaps.Deviation))
FLIPS = 0.1
"""Share of the items whose outcome is drawn anew, besides those that have to change."""


def probabilities(rng: np.random.Generator, n: int, percent: float, *, clustered: bool) -> Floats:
    """Return the chance of each item; clusters of items share theirs (beta-binomial)."""
    p = percent / 100
    if not clustered:
        return np.full(n, p)
    total = 1 / CORRELATION - 1
    return np.repeat(rng.beta(p * total, (1 - p) * total, n), PER_CLUSTER)


def names(n: int, *, clustered: bool) -> Sequence[int]:
    """Return the cluster of every item."""
    return np.repeat(np.arange(n), PER_CLUSTER).tolist() if clustered else range(n)


def one_interval(seed: int, n: int, percent: float, clustered: bool) -> float:
    """Return 1 if the interval of one dataset holds the truth, 0 if not, NaN if there is none."""
    rng = np.random.default_rng([seed, n, percent, clustered])
    chances = probabilities(rng, n, percent, clustered=clustered)
    values = 100.0 * (rng.random(len(chances)) < chances)
    found = resampling.share(values, names(n, clustered=clustered), Sampling(rng)).interval
    return math.nan if found is None else float(found[0] <= percent <= found[1])


def exact_coverage(n: int, percent: float) -> float:
    """Return how often Wilson's interval holds the truth, summed over the binomial distribution."""
    p = percent / 100
    ends = [wilson(k, n) for k in range(n + 1)]
    chances = stats.binom.pmf(range(n + 1), n, p)
    return float(sum(c for c, (low, high) in zip(chances, ends, strict=True) if low <= p <= high))


def one_change(
    seed: int, n: int, before: float, now: float, clustered: bool
) -> tuple[float, float]:
    """Return whether the intervals of change and worsening hold the truth."""
    rng = np.random.default_rng([seed, n, before, now, clustered])
    values = two_versions(rng, n, before, now, clustered=clustered)
    clusters = names(n, clustered=clustered)
    then_sums, now_sums = (
        replace(resampling.mean_sums(v, clusters), independent=not clustered) for v in values
    )
    changed = paired.change(now_sums, then_sums, Sampling(rng, bounds=(0, 100)))
    worse = paired.worsening(now_sums, then_sums, 50, Sampling(rng, bounds=(0, 100)))
    truths = (now - before, abs(now - 50) - abs(before - 50))
    return tuple(
        math.nan if e.interval is None else float(e.interval[0] <= t <= e.interval[1])
        for e, t in zip((changed, worse), truths, strict=True)
    )


def two_versions(
    rng: np.random.Generator, n: int, before: float, now: float, *, clustered: bool
) -> tuple[Floats, Floats]:
    """Return the outcomes of two versions: most items keep theirs, some are drawn anew."""
    chances = probabilities(rng, n, before, clustered=clustered)
    then = rng.random(len(chances)) < chances
    anew = rng.random(len(chances)) < FLIPS
    kept = np.where(anew, rng.random(len(chances)) < chances, then)
    # Of those on the one side as many cross over as it takes.
    if now >= before:
        crosses = ~kept & (rng.random(len(kept)) < (now - before) / (100 - before))
    else:
        crosses = kept & (rng.random(len(kept)) < (before - now) / before)
    return 100.0 * then, 100.0 * (kept ^ crosses)


def few_clusters(rng: np.random.Generator, n: int) -> tuple[Estimate, float]:
    """Estimate the mean of n clusters that are normal."""
    return resampling.mean(rng.normal(size=n), range(n), Sampling(rng, draws=DRAWS)), 0.0


def skewed_clusters(rng: np.random.Generator, n: int) -> tuple[Estimate, float]:
    """Estimate the mean of n clusters that are exponential."""
    return resampling.mean(rng.exponential(size=n), range(n), Sampling(rng, draws=DRAWS)), 1.0


def effect(rng: np.random.Generator, n: int, apart: float) -> tuple[Estimate, float]:
    """Estimate d of n normal words on either side, whose means lie apart."""
    values = np.concatenate([rng.normal(apart, 1, n), rng.normal(0, 1, n)])
    sampling = Sampling(rng, draws=replace(DRAWS, arrangements=100))
    found = permutation.association_test(values, range(2 * n), np.arange(2 * n) < n, sampling)
    return found, apart / math.sqrt(1 + apart**2 / 4)


def size_of_rates(
    rng: np.random.Generator, size: Callable[[Floats], Floats], n: int, percent: Sequence[float]
) -> tuple[Estimate, float]:
    """Estimate a size of rates, one a group, of n sentences that name each group once."""
    rates = np.array(percent, dtype=float)
    table = 100.0 * (rng.random((n, len(rates))) < rates / 100)
    clusters = np.repeat(np.arange(n), len(rates))
    groups = np.tile(np.arange(len(rates)), n)
    sums = gaps.size_of_means(table.ravel(), clusters.tolist(), groups.tolist(), size)
    sampling = Sampling(rng, draws=DRAWS, bounds=(0, 100))
    drawn = relabelling.relabelled(groups, clusters.tolist(), [""] * len(groups), sampling)
    chance = np.array([size(np.bincount(new, weights=table.ravel()) / n) for new in drawn])
    return unsigned.estimate(sums, sampling, chance), float(size(rates))


def of_prompts(
    rng: np.random.Generator,
    group: str | None,
    n: int,
    percent: Sequence[float],
    kept: float,
    names: int,
) -> tuple[Estimate, float]:
    """Estimate the impact ratio of a group, or the lowest, of n prompts with each group's names.

    Where `group` is None, the widest gap. An answer is the same for all groups with probability
    `kept`, but for their rates: the same number is compared with each. Names of a group differ.
    """
    shared, records = rng.random(n), []
    apart = rng.normal(0, NAMES_APART if names > 1 else 0, (len(percent), names))
    for k, p in enumerate(percent):
        for name in range(names):
            rate = stats.logistic.cdf(stats.logistic.ppf(p / 100) + apart[k, name])
            drawn = np.where(rng.random(n) < kept, shared, rng.random(n))
            records += [
                Item(f"{c:04d}/{k}/{name}", f"{c:04d}", {}, {"g": f"g{k}"}).scored(
                    100.0 * (drawn[c] < rate), {"name": f"{k}/{name}"}
                )
                for c in range(n)
            ]
    factors = (Factor("names", along("name")),) if names > 1 else ()
    true = np.array(percent, dtype=float)
    if names > 1:
        # Of all names that might have been drawn.
        many = np.random.default_rng(0).normal(0, NAMES_APART, 20_000)
        true = 100 * stats.logistic.cdf(stats.logistic.ppf(true[:, None] / 100) + many).mean(axis=1)
    records.sort(key=lambda r: r.item)
    if group is None:
        sampling = Sampling(rng, draws=DRAWS, bounds=(0, 100))
        widest = gaps.Range(own_value, "g", factors=factors, pooled=False)
        return widest(records, sampling), float(np.ptp(true))
    ratio = ImpactRatio(own_value, "g", group, factors=factors)
    truth = (true[int(group[1:])] if group else true.min()) / true.max()
    return ratio(records, Sampling(rng, draws=DRAWS)), float(truth)


NAMES_APART = 0.3
"""Standard deviation of the log-odds of the names of a group."""
IMPACTS = (
    (60, "all 50 %", (50,) * 4, 0.7, 1),
    (60, "all 50 %", (50,) * 8, 0.7, 1),
    (60, "one 30 %, others 50 %", (30, 50, 50, 50), 0.7, 1),
    (60, "one 30 %, one 50 %", (30, 50), 0.7, 1),
    (60, "both 50 %", (50, 50), 0.95, 1),
    (60, "one 3 %, others 5 %", (3, 5, 5, 5), 0.7, 1),
    (60, "one 90 %, others 95 %", (90, 95, 95, 95), 0.7, 1),
    (15, "one 30 %, others 50 %", (30, 50, 50, 50), 0.7, 1),
    (40, "all 50 %, 8 names a group", (50,) * 4, 0.7, 8),
    (40, "one 30 %, others 50 %, 8 names a group", (30, 50, 50, 50), 0.7, 8),
)
SIZE_ROWS: dict[str, Callable[[np.random.Generator], tuple[Estimate, float]]] = {
    **{f"mean of {n} clusters, normal": partial(few_clusters, n=n) for n in (8, 10, 15, 30)},
    **{f"mean of {n} clusters, skewed": partial(skewed_clusters, n=n) for n in (8, 10, 15, 30)},
    **{
        f"d of {n} and {n} words, means {apart:g} sd apart": partial(effect, n=n, apart=apart)
        for n in (8, 15)
        for apart in (0.0, 1.0, 2.0)
    },
    **{
        f"{name} of {len(percent)} groups over {n} sentences, {what}": partial(
            size_of_rates, size=size, n=n, percent=percent
        )
        for name, size in (("widest gap", WIDEST), ("mean distance", MEAN_DISTANCE))
        for n, what, percent in (
            (100, "all 50 %", (50,) * 7),
            (100, "one 20 %, others 50 %", (50,) * 6 + (20,)),
            (53, "all 1 %", (1,) * 50),
            (53, "one 30 %, others 1 %", (1,) * 49 + (30,)),
            (12, "all 50 %", (50,) * 4),
        )
    },
    **{
        f"{score}, {len(percent)} groups over {n} prompts, {what}, {100 * kept:.0f} % of answers "
        "shared": partial(of_prompts, group=group, n=n, percent=percent, kept=kept, names=names)
        for n, what, percent, kept, names in IMPACTS
        for score, group in (
            ("impact ratio of one group", "g0"),
            ("lowest impact ratio", ""),
            ("widest gap", None),
        )
    },
}


def one_size(seed: int, name: str) -> float:
    """Return 1 if the interval of one dataset holds the truth, 0 if not, NaN if there is none."""
    number = list(SIZE_ROWS).index(name)
    found, truth = SIZE_ROWS[name](np.random.default_rng([seed, number]))
    if found.interval is None:
        return math.nan
    return float(found.interval[0] <= truth <= found.interval[1])


@dataclass(frozen=True)
class Noise:
    """How two versions of a model differ by chance, as standard deviations of a log-probability."""

    item: float
    cluster: float
    seed: float = 0.0


def disturbed(suite: SuiteResult, rng: np.random.Generator, noise: Noise, seed: int) -> SuiteResult:
    """Return a suite as another version of the model would have answered it.

    Its headline and the groups of its headline are scored anew; the others are left out.
    """
    if suite.name not in DISTURBED or not suite.records:
        return suite
    clusters = {r.cluster: rng.normal(0, noise.cluster) for r in suite.records}
    lean = rng.normal(0, noise.seed)
    size = SCALES[suite.name]

    def shift(record: Record) -> float:
        return size * (rng.normal(0, noise.item) + clusters[record.cluster] + lean)

    records = tuple(
        DISTURBED[suite.name](r, shift(r), shift(r)) if r.status == "scored" else r
        for r in suite.records
    )
    metrics = find(suite.name).measure_named(suite.measure or "").metrics
    headline = [m for m in metrics if m.headline]
    scores = score_records(records, headline, Context(suite.name, suite.config, seed))
    return replace(suite, records=records, scores=scores)


def _crows(record: Record, first: float, second: float) -> Record:
    detail = dict(record.detail)
    detail["more"] += first
    if "aul_more" in detail:
        detail["aul_more"] += second
    value = pairs.preference(detail["more"] - detail["less"])
    return replace(record, value=value, detail=detail)


def _gendered(record: Record, first: float, second: float) -> Record:
    detail = {**record.detail, "log_p_male": record.detail["log_p_male"] + first}
    odds = detail["log_p_male"] - detail["log_p_female"]
    if record.by["part"] == "control":
        return record
    return replace(record, value=gendered_pair_entropy.entropy_bias(odds), detail=detail)


def _association(record: Record, first: float, second: float) -> Record:
    return replace(record, value=record.value + first)


DISTURBED: dict[str, Callable[[Record, float, float], Record]] = {
    "crows_pairs": _crows,
    "gendered_pair_entropy": _gendered,
    "template_association": _association,
    "seat": _association,
}
SCALES = {
    "crows_pairs": 1.0,
    "gendered_pair_entropy": 0.3,
    "template_association": 0.3,
    "seat": 0.005,
}
"""Size of the noise in each suite's own numbers: nats, and cosines."""


def one_run(seed: int, report: Report, noise: Noise) -> tuple[float, float, float]:
    """Return whether a run in which nothing changed says that a headline, a limit, a group did."""
    versions = []
    for side in (0, 1):
        rng = np.random.default_rng([seed, side])
        suites = [disturbed(s, rng, noise, seed) for s in report.suites]
        settings = {**report.settings, "seed": seed}
        versions.append(
            replace(report, suites=with_decision_family(suites), settings=settings, sealed=None)
        )
    headlines = [s.headline for s in report.suites if s.name in DISTURBED and s.headline]
    named = [f"{s.name}[{s.config}]" for s in report.suites if s.name in DISTURBED and s.headline]
    limits = read_limits(
        {
            f"{name}.{h.metric}": {"max_regression": {"points": 0}}
            for name, h in zip(named, headlines, strict=True)
        }
    )
    entries = [(s.name, s.config, s.language) for s in report.suites]
    level = decision_level(limits, entries, has_baseline=True)
    comparison = compare(*versions, named_by(limits), level)
    changes = [c for s in comparison.suites for c in s.changes]
    decision = decide(versions[0], limits, comparison, level=level)
    return (
        float(any(c.direction != "unclear" for c in changes if c.family == "decision")),
        float(decision.status == "exceeded"),
        float(any(c.direction != "unclear" for c in changes if c.family == "exploratory")),
    )


ROWS: list[error_bars.Row] = []
BATCH = 50
"""Data sets of a task."""
FIRST = 500
"""Data sets of a round; after the first, those settings go on whose result is not clear."""


def batch(
    task: tuple[int, float, float, int],
) -> tuple[int, float, float, list[error_bars.Outcome]]:
    """Simulate some data sets of one row in one setting."""
    number, rate, shared, start = task
    outcomes = [error_bars.one(ROWS[number], rate, shared, start + k) for k in range(BATCH)]
    return number, rate, shared, outcomes


def every_error_bar(
    arguments: argparse.Namespace, pool: "multiprocessing.pool.Pool"
) -> Iterator[list[str]]:
    """Yield a row for each estimator of each suite: the worst of its settings."""
    yield ["suite", "metrics", "over", "data sets", "covers (%)", "width", "false alarms (%)", ""]
    began = time.monotonic()
    found: dict[tuple[int, float, float], list[error_bars.Outcome]] = {
        (n, *setting): [] for n, row in enumerate(ROWS) for setting in row.settings
    }
    left = list(found)
    for start in range(0, arguments.datasets, FIRST):
        if time.monotonic() - began > arguments.seconds:
            break
        tasks = [(*key, start + k) for k in range(0, FIRST, BATCH) for key in left]
        for number, rate, shared, outcomes in pool.imap_unordered(batch, tasks, chunksize=1):
            found[number, rate, shared] += outcomes
            if time.monotonic() - began > arguments.seconds:
                break
        left = [
            key for key in left if not error_bars.Held.of(ROWS[key[0]], key[1], found[key]).is_clear
        ]
        print(f"{time.monotonic() - began:.0f} s: {len(left)} of {len(found)}", file=sys.stderr)
    for number, row in enumerate(ROWS):
        held = {
            setting: error_bars.Held.of(row, setting[0], found[number, *setting])
            for setting in row.settings
        }
        yield error_bars.as_cells(row, held)


def coverage(held: Sequence[float]) -> str:
    """Return the share that held the truth, its Monte Carlo error, and how many had no interval."""
    known = [h for h in held if not math.isnan(h)]
    share = float(np.mean(known))
    error = math.sqrt(share * (1 - share) / len(known))
    text = f"{100 * share:.1f} ± {100 * error:.1f}"
    return text if len(known) == len(held) else f"{text} ({len(held) - len(known)} without)"


def rows(arguments: argparse.Namespace, pool: "multiprocessing.pool.Pool") -> Iterator[list[str]]:
    """Yield the rows of the table that was asked for, its head first."""
    seeds = range(arguments.datasets)
    if arguments.what == "intervals":
        yield ["data", "n", "truth", "covers (%)", "exact (%)"]
        for clustered, n, truth in product((False, True), arguments.sizes, TRUTHS):
            held = pool.map(partial(one_interval, n=n, percent=truth, clustered=clustered), seeds)
            kind = f"{n} templates of {PER_CLUSTER} items" if clustered else f"{n} pairs"
            exact = "" if clustered else f"{100 * exact_coverage(n, truth):.1f}"
            yield [kind, str(n), f"{truth} %", coverage(held), exact]
    elif arguments.what == "changes":
        yield ["data", "before", "now", "change covers (%)", "worsening covers (%)"]
        for clustered, n, (before, now) in product((False, True), arguments.sizes, CHANGES):
            task = partial(one_change, n=n, before=before, now=now, clustered=clustered)
            change, worse = zip(*pool.map(task, seeds), strict=True)
            kind = f"{n} templates of {PER_CLUSTER} items" if clustered else f"{n} pairs"
            yield [kind, f"{before} %", f"{now} %", coverage(change), coverage(worse)]
    elif arguments.what == "sizes":
        yield ["data", "covers (%)"]
        for name in SIZE_ROWS:
            yield [name, coverage(pool.map(partial(one_size, name=name), seeds))]
    elif arguments.what == "all":
        yield from every_error_bar(arguments, pool)
    else:
        yield ["seed to seed (sd)", "headline", "limit", "any group (exploratory)"]
        report = read_report(arguments.report)
        for lean in arguments.leans:
            noise = Noise(item=1.0, cluster=0.5, seed=lean)
            task = partial(one_run, report=report, noise=noise)
            alarms = zip(*pool.map(task, range(arguments.pairs), chunksize=1), strict=True)
            yield [f"{lean:g}", *(coverage(a) for a in alarms)]


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("intervals", "changes", "sizes", "runs", "all"))
    parser.add_argument("report", type=Path, nargs="?", help="saved report, for runs")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--leans", type=float, nargs="+", default=LEANS)
    parser.add_argument("--datasets", type=int, default=2_000)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--rows", type=Path, help="what --keep wrote, in place of --data, for all")
    parser.add_argument("--keep", type=Path, help="write the rows of all, and end")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="after which all ends with what it has"
    )
    parser.add_argument("--only", default="", help="pattern of the names of suites, of all")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.what == "runs" and arguments.report is None:
        parser.error("runs needs a saved report")
    if arguments.what == "all":
        ROWS[:] = (
            error_bars.kept(arguments.rows)
            if arguments.rows
            else error_bars.rows(arguments.data, ACCEPTED)
        )
        ROWS[:] = [r for r in ROWS if re.search(arguments.only, r.suite)]
        if arguments.keep:
            error_bars.keep(ROWS, arguments.keep)
            return 0
    with multiprocessing.get_context("fork").Pool(arguments.processes) as pool:
        for number, row in enumerate(rows(arguments, pool)):
            print(f"| {' | '.join(row)} |", flush=True)
            if number == 0:
                print(f"|{' --- |' * len(row)}", flush=True)
    print(f"Level {LEVEL:.0%}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
