"""Rows of models that do not exist: as many as a large fleet has, with all that can be missing."""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from pytest_bias.fleet.rows import NO_BASE_NAMED, FleetRow, failed
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Change, SuiteComparison
from pytest_bias.scoring.statistics import Estimate
from pytest_bias.suites.catalogue import installed
from pytest_bias.suites.suite import Entry

STATUSES = (
    ("not_applicable", "the model cannot write texts, which {} asks for"),
    ("skipped", "the licence of {} was not accepted: accept_licences: {{{}: CC-BY-NC-SA-4.0}}"),
    ("error", "{}: the tokenizer has no mask token"),
    ("inconclusive", "{} of 12 items could not be scored"),
)
KINDS = ("masked", "causal", "seq2seq", "encoder")
FAMILIES = ("bert", "gpt", "llama", "roberta", "t5", "opt", "phi", "qwen")


def results() -> list[SuiteResult]:
    """Return a result for every configuration of the installed suites, with a headline alone."""
    found = []
    for suite in installed():
        metric = next(m for m in suite.measures[0].metrics if m.headline)
        about = (metric.ideal, metric.bounds, metric.unit, metric.tolerance)
        score = Score(metric.name, None, *about, headline=True)
        found += [Entry(suite, c).result("scored", scores=(score,)) for c in suite.configurations]
    return found


def simulated(n_models: int = 500, n_entries: int = 30, seed: int = 0) -> list[FleetRow]:
    """Return rows: one in 40 failed, one in 50 was interrupted, every third has a base model."""
    rng = random.Random(seed)
    every = results()
    step = max(1, len(every) // n_entries)
    entries = list(islice(every, 0, None, step))[:n_entries]
    if len(entries) < n_entries:
        raise ValueError(f"{len(every)} entries are installed")
    rows = []
    for i in range(n_models):
        name = f"org-{i % 17}/{rng.choice(FAMILIES)}-{i:03}"
        if i % 40 == 7:
            rows.append(failed(name, f"{name} has no safetensors, and pickle is not allowed"))
            continue
        base = f"org-{i % 17}/base-{i % 5}" if i % 3 == 0 else None
        interrupted = i % 50 == 9
        model = ModelIdentity(
            *(name, KINDS[i % 4], "BertForMaskedLM"),
            rng.randrange(10**6, 10**10) if i % 11 else None,
            weights_sha256=f"{rng.getrandbits(256):064x}",
            config_sha256="b" * 64,
            tokenizer_sha256="c" * 64,
            revision=f"{rng.getrandbits(160):040x}",
            base_model=base,
        )
        kept = entries[: n_entries // 2] if interrupted else entries
        suites = tuple(_filled(s, rng) for s in kept)
        row = FleetRow(
            asked=name,
            status="interrupted" if interrupted else "measured",
            reason="the run was interrupted" if interrupted else None,
            reference=name,
            report=Report({}, model, {}, suites),
            folder=f"{i:03}-model",
            base=base,
            changes={s.entry: _changed(s, rng, base is not None) for s in suites},
            ideals=dict.fromkeys((s.entry for s in suites), ""),
        )
        rows.append(row)
    return rows


def n_scored(rows: Iterable[FleetRow]) -> int:
    """Return how many suites of all models have a value."""
    headlines = (suite.headline for row in rows for suite in row.suites)
    return sum(score is not None and score.value is not None for score in headlines)


def _filled(suite: SuiteResult, rng: random.Random) -> SuiteResult:
    if rng.random() < 0.2:
        status, why = rng.choice(STATUSES)
        reason = why.format(suite.name, suite.name)
        return replace(suite, scores=(), status=status, reason=reason)
    (score,) = suite.scores
    scale = _scale(score)
    value = score.ideal + scale * (rng.random() - (1 if score.ideal == 100 else 0.2))
    half = scale * (0.05 + 0.1 * rng.random())
    has_interval = rng.random() > 0.05
    found = replace(
        score,
        value=value,
        interval=(value - half, value + half) if has_interval else None,
        interval_reason=None if has_interval else "an unsigned mean",
        n=rng.randrange(20, 5000),
        n_unscored=rng.choice((0, 0, 0, 3)),
    )
    sampled = rng.choice((None, None, None, 200))
    return replace(suite, scores=(found,), sampled=sampled, n_available=1508)


def _changed(suite: SuiteResult, rng: random.Random, compared: bool) -> SuiteComparison:
    score = suite.headline
    reason = None if compared else NO_BASE_NAMED
    if score is None:
        reason = "it has no value"
    elif compared and rng.random() < 0.1:
        reason = "other data (1234567, now 7654321)"
    if reason or score is None:
        return SuiteComparison(suite.entry, suite.title, reason=reason)
    moved, half = _scale(score) * (rng.random() - 0.5), _scale(score) * 0.1
    change = Estimate(moved, (moved - half, moved + half))
    found = Change(score, score, change, change, change)
    return SuiteComparison(suite.entry, suite.title, (found,))


def _scale(score: Score) -> float:
    return 30.0 if score.unit == "%" else 0.5
