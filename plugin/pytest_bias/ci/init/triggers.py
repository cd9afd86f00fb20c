"""Triggers that can start a run on GitHub or GitLab, and what their workflows require."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pytest_bias.errors import UnknownName

ACTION: Final = "pytest-bias/pytest-bias"
WORKFLOW: Final = f"{ACTION}/.github/workflows/bias-tests.yml"
RUNNER: Final = '["self-hosted", "gpu"]'
WORKFLOW_PATH: Final = ".github/workflows/bias.yml"

Source: TypeAlias = Literal["any", "hub", "folder", "asked"]


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger, which starts a run.

    Parameters
    ----------
    name : str
        Value of ``--trigger``.
    file : str
        Example in ``examples/workflows``, and the template it comes from.
    about : str
        Human-readable description of when the workflow runs.
    takes : str
        Which models: a name on the Hub, a path in the checkout, either, or none, because the person
        who starts the run is asked.
    example : str, optional
        Model of the example file.
    options : tuple of str
        Further fields of `Choices` that the template reads.
    needs : tuple of str
        Those of them that the workflow requires.
    measures : bool
        Whether it runs suites by the settings file, so that a limit can fail it.
    path : str
        Path of the workflow.
    """

    name: str
    file: str
    about: str
    takes: Source
    example: str | None = None
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    measures: bool = True
    path: str = WORKFLOW_PATH

    @property
    def page(self) -> str:
        """Its page below ``docs``."""
        name = self.file.removesuffix(".yml")
        return f"triggers/{name}.md" if self.path == WORKFLOW_PATH else f"{self.name}.md"


GITLAB: Final = Trigger(
    "gitlab",
    "gitlab-ci.yml",
    "every merge request and every push to the default branch",
    "any",
    "./model",
    ("publish",),
    path=".gitlab-ci.yml",
)
"""The job on GitLab, which has a single trigger."""

TRIGGERS: Final = (
    Trigger(
        "push",
        "push.yml",
        "every push and pull request",
        "any",
        "./model",
        ("publish", "badges_branch", "branch"),
    ),
    Trigger(
        "hub-schedule",
        "hub-schedule.yml",
        "every day, if the model on the Hub has moved",
        "hub",
        "org/name",
        ("publish", "badges_branch"),
        ("publish",),
    ),
    Trigger(
        "model-repository",
        "model-repository.yml",
        "pull requests and releases of a model's repository",
        "folder",
        "./model",
        ("publish", "branch"),
        ("publish",),
    ),
    Trigger(
        "lock",
        "consumer-lock.yml",
        "every day: whether models of others are still those that were locked",
        "asked",
        measures=False,
    ),
    Trigger(
        "gpu",
        "gpu.yml",
        "every week, on runners with a GPU",
        "hub",
        "org/name",
        ("publish", "runner", "shards"),
    ),
    Trigger(
        "reproduce",
        "reproduce.yml",
        "by hand: a second team runs a published report again",
        "asked",
        measures=False,
    ),
)
NAMES: Final = tuple(t.name for t in TRIGGERS)
SERVICES: Final = ("github", "gitlab")


def trigger(name: str) -> Trigger:
    """Return a trigger by its name.

    Raises
    ------
    UnknownName
        If there is none.
    """
    for found in TRIGGERS:
        if found.name == name:
            return found
    raise UnknownName.among("--trigger", name, NAMES)
