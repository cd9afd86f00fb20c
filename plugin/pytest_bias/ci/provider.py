"""What the steps of `pytest_bias.ci.steps` ask of the service that runs them.

`pytest_bias.ci.github` and `pytest_bias.ci.gitlab` are the two that there are. A step knows neither
their variables nor their files, and no service knows what a step does.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from pytest_bias.emit.comment import Links
from pytest_bias.errors import ProviderError

if TYPE_CHECKING:
    from pytest_bias.ci.steps.inputs import Inputs

Level: TypeAlias = Literal["error", "warning", "notice"]


@dataclass(frozen=True, slots=True)
class Annotation:
    """A message that is shown at a run, or at a line of a file.

    Parameters
    ----------
    about : tuple of str
        What it is about, without what differs from run to run.
    line : int
        From 1; 0 if it is about no line.
    """

    level: Level
    text: str
    about: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    title: str = "pytest-bias"


class ReportExpired(ProviderError):
    """There was a report of an earlier run, and the service keeps it no longer."""


class Provider(Protocol):
    """A CI service, as a step sees it.

    Texts that it is given have been written by others: it makes them safe for where it shows them.
    """

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of the step."""

    @property
    def given(self) -> Mapping[str, str]:
        """Inputs by name, as a user gave them to this step."""

    def check(self, inputs: "Inputs") -> None:
        """Raise `UsageError` for inputs that this service cannot hold."""

    def output(self, step: str, name: str) -> str:
        """Return what an earlier step of the job left; empty if it did not."""

    def write_outputs(self, step: str, values: Mapping[str, str]) -> None:
        """Leave values to later steps."""

    def annotate(self, annotations: Sequence[Annotation]) -> None:
        """Show messages of one level."""

    def quiet(self) -> AbstractContextManager[None]:
        """Return a block in which nothing that is printed is taken for a command."""

    def summarize(self, report: str, problem: str, remarks: Sequence[str], published: str) -> None:
        """Show what the run came to, where the service has a place for that.

        Parameters
        ----------
        report : str
            The summary of the report, in Markdown; empty if there is none.
        problem : str
            What went wrong, if something did that is no limit.
        published : str
            Address of what was published.
        """

    @property
    def links(self) -> Links:
        """Addresses of the run and of what it keeps."""

    @property
    def run(self) -> str:
        """Name of this run, by which its reports are told from those of others."""

    @property
    def proposal(self) -> str:
        """What a change that is not merged is called, if the run is of one; else empty."""

    def comment(self, text: str) -> str:
        """Write the one comment on the proposed change anew; returns why there is none.

        Raises
        ------
        BiasError
            If the service does not do it.
        """

    def last_report(self, inputs: "Inputs", model: str, *, failed: bool = False) -> Path | None:
        """Fetch the report that the input `baseline` names; None if there never was one.

        With `failed` the run that left it may have failed.

        Raises
        ------
        ReportExpired
            If there was one.
        BiasError
            If the service does not give it.
        """

    def first_run(self, inputs: "Inputs", model: str) -> str:
        """Return why `last_report` found nothing, as the beginning of a sentence."""

    def commit_report(self, branch: str, out: Path) -> str:
        """Commit a report to what the input `badges-branch` names; returns the folder there."""

    @property
    def for_a_model(self) -> dict[str, str]:
        """Environment of a process in which code of a model may run: nothing to speak with."""

    @property
    def temp(self) -> Path:
        """Folder for files of this job."""
