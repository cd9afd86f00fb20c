"""A run as a function call: for notebooks and scripts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_bias.engine.events import Listener, ignore
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.records.report import Report
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import read_settings


def measure(
    model: str | Path,
    *,
    suites: Sequence[str] = (),
    languages: Sequence[str] = (),
    profile: str | None = None,
    device: str | None = None,
    out: str | Path | None = None,
    listener: Listener = ignore,
    **options: Any,
) -> Report:
    """Measure a model and return its report, with all records.

    Settings of the environment and of ``pytest-bias.yaml`` apply as for ``pytest-bias run``;
    arguments take precedence.

    Parameters
    ----------
    model : str or Path
        ``org/name``, ``org/name@revision``, a folder, a ``.gguf`` file, or ``demo``.
    suites : sequence of str
        ``NAME``, ``NAME[CONFIG]``, ``@TAG`` or a file ``*.bias.yaml``; by default all that apply.
    languages : sequence of str
        BCP 47 tags of the texts; by default those of the model's card, else ``en``.
    profile : {"quick", "standard", "full"}, optional
        How much of each suite is measured; ``standard`` by default.
    device : str, optional
        ``auto``, ``cpu`` or ``cuda:0``; ``auto`` by default.
    out : str or Path, optional
        Folder for all files that ``pytest-bias run`` writes. Without it no file is written.
    listener : callable
        Called with every event (`pytest_bias.engine.events`); by default events are ignored.
    **options
        Other options of ``pytest-bias run`` by their names, such as ``seed=1``.

    Returns
    -------
    Report
        One result for each suite, with its scores. A suite without a score says why.

    Raises
    ------
    BiasError
        If the model cannot be found or loaded, or an option is wrong.

    Examples
    --------
    >>> from pytest_bias import measure
    >>> report = measure("demo", suites=["seat[en]"])
    >>> for suite in report.suites:
    ...     print(suite.entry, suite.status, suite.headline.metric)
    structure[all] scored checks_passed
    seat[en] scored mean_absolute_effect
    """
    given = {
        **options,
        "model": str(model),
        "suites": list(suites),
        "languages": list(languages),
        "profile": profile,
        "device": device,
        "out": out,
    }
    known = [o.name for o in OPTIONS if o.name not in ("models", "engine", "ray_address")]
    for name in options:
        if name not in known:
            raise UnknownName.among("option", name, known, "pytest-bias run --help lists them.")
    settings = read_settings(given)
    if settings.baseline and settings.out is None:
        raise UsageError("a baseline without a folder.", 'measure(…, out="report")')
    from pytest_bias.models.placing import shared
    from pytest_bias.runs.finishing import claimed, finish_job, measured, with_baseline
    from pytest_bias.runs.job import prepare

    devices = shared(settings.devices) if settings.devices else ()
    with claimed(prepare(settings, listener, claims=settings.out is not None)) as job:
        if settings.out is None:
            job.session.unfinished = None
            return measured(job.session, devices).without_hidden_records()
        job = with_baseline(job, devices)
        return finish_job(job, measured(job.session, devices)).report.without_hidden_records()
