"""Finished reports, logged to experiment trackers: one run per report, or per training."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from pytest_bias.emit.outputs import Shown, output
from pytest_bias.errors import BiasError, PublishError, UnknownName, UsageError
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import decision_beside
from pytest_bias.reports.folder import REPORT, read_report, require_finished
from pytest_bias.training.numbers import facts, numbers
from pytest_bias.training.steps import step_of, steps_in
from pytest_bias.untrusted import clean

PROJECT: Final = "pytest-bias"
"""Project at Weights & Biases, unless WANDB_PROJECT names one."""
MOST_AT_ONCE: Final = 100
"""Parameters that MLflow takes in one request."""


@dataclass(frozen=True)
class Run:
    """What is logged: a run with a name, with the numbers of each step.

    `files` are drawn from the last report, below a folder that does not last.
    """

    name: str
    facts: Mapping[str, str]
    tags: Mapping[str, str]
    steps: Mapping[int | None, Mapping[str, float]]
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Tracker:
    """An experiment tracker.

    Parameters
    ----------
    title : str
        Name for people.
    package : str
        Package that is imported; the extra of the same name installs it.
    send : callable
        Logs a run and returns where it is.
    """

    title: str
    package: str
    send: Callable[[Run], str]


def _to_mlflow(run: Run) -> str:
    import mlflow

    with mlflow.start_run(run_name=run.name, tags=dict(run.tags)) as made:
        given = list(run.facts.items())
        for at in range(0, len(given), MOST_AT_ONCE):
            mlflow.log_params(dict(given[at : at + MOST_AT_ONCE]))
        for step, values in run.steps.items():
            mlflow.log_metrics(dict(values), step=step or 0)
        for file in run.files:
            mlflow.log_artifact(str(file))
        return f"run {made.info.run_id} at {mlflow.get_tracking_uri()}"


def _to_wandb(run: Run) -> str:
    import wandb

    about = {**run.facts, **run.tags}
    project = os.environ.get("WANDB_PROJECT") or PROJECT
    with wandb.init(project=project, name=run.name, config=about, job_type="bias") as made:
        for step, values in run.steps.items():
            made.log(dict(values), step=step)
        if run.files:
            artifact = wandb.Artifact(f"bias-report-{made.id}", type="bias-report")
            for file in run.files:
                artifact.add_file(str(file))
            made.log_artifact(artifact)
        return str(made.url or made.dir)


def _to_tensorboard(run: Run) -> str:
    from torch.utils.tensorboard import SummaryWriter

    parent = Path(os.environ.get("TENSORBOARD_LOGGING_DIR") or "runs").expanduser()
    folder = parent / (re.sub(r"[^\w.-]+", "-", run.name).strip("-.") or "bias")
    about = "\n".join(f"- {name}: {value}" for name, value in {**run.tags, **run.facts}.items())
    with SummaryWriter(str(folder)) as writer:
        writer.add_text("bias/about", about, 0)
        for step, values in run.steps.items():
            for name, value in values.items():
                writer.add_scalar(name, value, step or 0)
    return str(folder)


TRACKERS: Final[Mapping[str, Tracker]] = {
    "mlflow": Tracker("MLflow", "mlflow", _to_mlflow),
    "wandb": Tracker("Weights & Biases", "wandb", _to_wandb),
    "tensorboard": Tracker("TensorBoard", "tensorboard", _to_tensorboard),
}


def log_command(path: Path, to: str, name: str | None, console: Console) -> None:
    """Log a report, or the steps of a training, to a tracker, and print where it is.

    Raises
    ------
    UsageError
        If there is no such tracker, or its package is not installed.
    ReportError
        If there is no report, or it is not finished.
    PublishError
        If the tracker refuses it.
    """
    tracker = TRACKERS.get(to)
    if tracker is None:
        raise UnknownName.among("--to", to, TRACKERS)
    if find_spec(tracker.package) is None:
        raise UsageError(
            f"--to {to} needs the package {tracker.package}, which is not installed.",
            f"pip install 'pytest-bias[{to}]'",
        )
    with run_of(path, name) as run:
        try:
            where = tracker.send(run)
        except BiasError:
            raise
        except Exception as error:
            raise PublishError(
                f"{tracker.title}: {type(error).__name__}: {clean(str(error), 700)}",
                "docs/training.md says by which variables each tracker is told where to log.",
            ) from None
    values = sum(map(len, run.steps.values()))
    steps = f" of {len(run.steps)} steps" if len(run.steps) > 1 else ""
    told = f"{values} numbers{steps} in {tracker.title}: {clean(where, 400)}"
    console.print(told, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def run_of(path: Path, name: str | None = None) -> Iterator[Run]:
    """Read a report, or all steps of a training; the files of the run last within the context."""
    there = {} if path.is_file() or (path / REPORT).is_file() else steps_in(path)
    places = list(there.values()) or [path]
    steps: dict[int | None, Mapping[str, float]] = {}
    for place in places:
        report = read_report(place)
        require_finished(report, place)
        steps[step_of(report)] = numbers(report)
    found = name or (path.absolute().parent.name if there else report.model.reference)
    with tempfile.TemporaryDirectory() as folder:
        yield Run(
            clean(found, 120) or "bias",
            {k: clean(v, 500) for k, v in facts(report).items()},
            _tags(report),
            steps,
            tuple(_drawn(report, places[-1], Path(folder))),
        )


def _tags(report: Report) -> dict[str, str]:
    tags: dict[str, Any] = {
        "bias.digest": report.digest,
        "bias.revision": report.model.revision,
        "bias.tool": f"pytest-bias {report.tool.get('version')}",
        "bias.created": report.run.get("created"),
    }
    return {name: clean(str(value), 200) for name, value in tags.items() if value}


def _drawn(report: Report, place: Path, folder: Path) -> Iterator[Path]:
    """Draw page and card of a report, unless they would show scores of hidden items."""
    if any(suite.is_hidden and suite.scores for suite in report.suites):
        return
    shown = Shown(report, decision_beside(place, report))
    for kind in ("html", "card"):
        for path, text in output(kind).render(shown).items():
            file = folder / Path(path).name
            file.write_text(text, encoding="utf-8", newline="\n")
            yield file
