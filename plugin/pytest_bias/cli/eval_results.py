"""The option ``publish --eval-results``: results for the leaderboards of registered benchmarks."""

from collections.abc import Iterator
from dataclasses import replace

from pytest_bias.emit.exports.eval_results import (
    FRAMEWORK,
    OURS,
    dataset_of,
    headlines,
    path_of,
    render,
    task_of,
    unfit,
)
from pytest_bias.evidence.publishing import Change, Prepared
from pytest_bias.hub import repository as hub
from pytest_bias.hub.benchmarks import Benchmark, registered
from pytest_bias.records.report import SuiteResult
from pytest_bias.reports.publication_layout import Place
from pytest_bias.settings.settings import Settings
from pytest_bias.untrusted import clean


def with_eval_results(
    prepared: Prepared,
    there: hub.Repository,
    place: Place,
    settings: Settings,
    *,
    keeps: bool,
    offline: bool,
) -> Prepared:
    """Add to a publication its results for leaderboards, and why suites have none.

    Parameters
    ----------
    prepared : Prepared
        The publication without them.
    there : Repository
        The model's repository.
    place : Place
        Where the report will be.
    settings : Settings
        With the catalogue of suites.
    keeps : bool
        Whether our results of suites that the report does not have stay.
    offline : bool
        Whether the Hub must not be asked; then there is an error if it has to be.

    Raises
    ------
    PublishError
        If the Hub does not say which datasets are benchmarks.
    """
    report = prepared.report
    measured = [s for s in report.suites if s.kind != "structure"]
    datasets = {
        s.entry: dataset
        for s in measured
        if not unfit(report, s) and (dataset := dataset_of(s, settings.catalogue))
    }
    known = registered(set(datasets.values()), offline=offline) if datasets else {}
    rows = headlines(report)
    files: dict[str, bytes] = {}
    reasons: dict[str, list[str]] = {}
    for suite in measured:
        dataset = datasets.get(suite.entry)
        if why := unfit(report, suite) or _without_a_place(suite, dataset, known):
            reasons.setdefault(why, []).append(suite.entry)
        else:
            assert dataset is not None, "it is registered"
            files[path_of(suite)] = render(report, rows[suite.entry], dataset, place).encode()
    told = [f"No result for {', '.join(names)}: {why}." for why, names in reasons.items()]
    gone = [] if keeps else [p for p in there.files if p.startswith(OURS) and p not in files]
    changes = _changes(there, files, gone, offline=offline)
    return replace(
        prepared,
        changes=(*prepared.changes, *changes),
        notices=(*prepared.notices, *told),
    )


def _without_a_place(
    suite: SuiteResult, dataset: str | None, known: dict[str, Benchmark]
) -> str | None:
    """Return why no leaderboard takes a result of a suite; None if one does."""
    if dataset is None:
        return "its data are not those of one dataset of the Hub"
    benchmark = known.get(dataset)
    if benchmark is None:
        return f"{dataset} is not registered as a benchmark"
    if benchmark.framework != FRAMEWORK:
        framework = clean(benchmark.framework, 40) or "no framework"
        return f"{dataset} is registered for results of {framework}, and not of {FRAMEWORK}"
    if task_of(suite) not in benchmark.tasks:
        return f"the eval.yaml of {dataset} has no task {task_of(suite)}"
    return None


def _changes(
    there: hub.Repository, files: dict[str, bytes], gone: list[str], *, offline: bool
) -> Iterator[Change]:
    for path in sorted([*files, *gone]):
        after = files.get(path)
        if after is not None and there.holds(path, after):
            continue
        before = hub.read(there, path, offline=offline) if path in there.files else None
        yield Change(path, before, after)
