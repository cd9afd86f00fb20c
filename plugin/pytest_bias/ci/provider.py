"""The interface between the steps of `pytest_bias.ci.steps` and the CI service that runs them.

It is implemented by `pytest_bias.ci.github` and `pytest_bias.ci.gitlab`. A step knows neither their
variables nor their files, and no service knows what a step does.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from pytest_bias.emit.comment import Links
from pytest_bias.errors import ProviderError

if TYPE_CHECKING:
    from pytest_bias.ci.steps.inputs import Inputs

Level: TypeAlias = Literal["error", "warning", "notice"]

MOST_OUTPUT: Final = 20_000
"""Characters of an output that later steps read; GitHub allows those of a job 1 MB together."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A message that is shown at a run, or at a line of a file.

    Parameters
    ----------
    about : tuple of str
        What it is about; the same in every run.
    line : int
        From 1; 0 if it refers to no line.
    """

    level: Level
    text: str
    about: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    title: str = "pytest-bias"


class ReportExpired(ProviderError):
    """The report of an earlier run has expired at the service."""


class Provider(Protocol):
    """A CI service, as a step sees it.

    Texts passed to it are untrusted: it escapes them for the place where it shows them.
    """

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of the step."""

    @property
    def given(self) -> Mapping[str, str]:
        """Inputs by name, as a user gave them to this step."""

    def check(self, inputs: "Inputs") -> None:
        """Raise `UsageError` for inputs that this service does not support."""

    def output(self, step: str, name: str) -> str:
        """Return a value that an earlier step of the job saved; empty if there is none."""

    def write_outputs(self, step: str, values: Mapping[str, str]) -> None:
        """Save values for later steps."""

    def annotate(self, annotations: Sequence[Annotation]) -> None:
        """Show messages of one level."""

    def quiet(self) -> AbstractContextManager[None]:
        """Return a context in which printed lines are not taken for commands of the service."""

    def summarize(self, report: str, problem: str, remarks: Sequence[str], published: str) -> None:
        """Show the result of the run, if the service has a place for it.

        Parameters
        ----------
        report : str
            The summary of the report, in Markdown; empty if there is none.
        problem : str
            An error other than an exceeded limit; empty if there is none.
        published : str
            Address of what was published.
        """

    @property
    def links(self) -> Links:
        """Addresses of the run and of its artifacts."""

    @property
    def run(self) -> str:
        """Identifier of this run, which marks its reports."""

    @property
    def proposal(self) -> str:
        """Name of the unmerged change that the run is for, such as "pull request"; else empty."""

    def comment(self, text: str) -> str:
        """Write or update the one comment on the proposed change; returns why there is none.

        Raises
        ------
        BiasError
            If the service fails.
        """

    def last_report(self, inputs: "Inputs", model: str, *, failed: bool = False) -> Path | None:
        """Fetch the report that the input `baseline` names; None if there never was one.

        With `failed` the report of a failed run counts as well.

        Raises
        ------
        ReportExpired
            If there was one that has expired.
        BiasError
            If the service does not deliver it.
        """

    def first_run(self, inputs: "Inputs", model: str) -> str:
        """Return why `last_report` found nothing, as the beginning of a sentence."""

    def commit_report(self, branch: str, out: Path) -> str:
        """Commit a report to the branch that `badges-branch` names; returns the folder there."""

    @property
    def for_a_model(self) -> dict[str, str]:
        """Environment of a process that may run code of a model: without the service's tokens."""

    @property
    def temp(self) -> Path:
        """Folder for files of this job."""
