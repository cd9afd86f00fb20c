"""GitLab as a provider: the variables of a job, notes on merge requests, artifacts."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pytest_bias.ci.archives import unpacked
from pytest_bias.ci.contents import MOST_BYTES
from pytest_bias.ci.gitlab.api import HELPS, TOKEN, Client, GitLabError
from pytest_bias.ci.gitlab.notes import write_note
from pytest_bias.ci.provider import Annotation
from pytest_bias.ci.steps.inputs import Inputs
from pytest_bias.ci.steps.prepare import BRANCH, LAST_RUN
from pytest_bias.emit.comment import Links
from pytest_bias.errors import UsageError
from pytest_bias.records.report import canonical_json, sha256
from pytest_bias.untrusted import clean, is_secret, without_secrets

WITHOUT_TOKEN: Final = (
    f"there is no {TOKEN}, and the token of a job (CI_JOB_TOKEN) may not write notes. {HELPS} "
    "Add it under Settings > CI/CD > Variables, masked."
)
FROM_FORK: Final = (
    "the merge request comes from a fork, whose jobs do not have the variables of this project"
)


@dataclass(frozen=True, slots=True)
class GitLab:
    """A job, in which all steps run one after the other.

    Parameters
    ----------
    environment : mapping of str to str
        Variables of the job.
    given : mapping of str to str
        Inputs by name.
    outputs : dict
        Values that the steps saved.
    annotations : list of Annotation
        Messages that were shown.
    """

    environment: Mapping[str, str]
    given: Mapping[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    annotations: list[Annotation] = field(default_factory=list)

    def check(self, inputs: Inputs) -> None:
        """Raise `UsageError` for a baseline that is not supported on GitLab."""
        if inputs["baseline"].startswith(BRANCH):
            raise UsageError(
                f"the input `baseline` is {clean(inputs['baseline'], 100)!r}: a job on GitLab "
                "commits to no branch.",
                f"--baseline={LAST_RUN} is the report of the last pipeline that succeeded.",
            )

    def output(self, step: str, name: str) -> str:
        """Return a value that an earlier step saved."""
        return self.outputs.get(step, {}).get(name, "")

    def write_outputs(self, step: str, values: Mapping[str, str]) -> None:
        """Save values for later steps."""
        self.outputs.setdefault(step, {}).update(values)

    def annotate(self, annotations: Sequence[Annotation]) -> None:
        """Print messages; those of errors become issues of the code quality report."""
        self.annotations.extend(annotations)
        # Notices are among the remarks as well.
        for one in (a for a in annotations if a.level != "notice"):
            at = f"{one.file}:{one.line}: " if one.line else ""
            self._print(f"{one.level}: {at}{one.text}")

    def quiet(self) -> AbstractContextManager[None]:
        """Return an empty context: GitLab takes no printed line for a command."""
        return nullcontext()

    def summarize(self, report: str, problem: str, remarks: Sequence[str], published: str) -> None:
        """Print what neither the command nor the annotations have shown."""
        for text in (*remarks, *([f"Published: {published}"] if published else [])):
            self._print(text)

    def _print(self, text: str) -> None:
        text = without_secrets(clean(text, 2000), self.environment)
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    @property
    def links(self) -> Links:
        """Addresses of the job and of its artifacts."""
        job = self._variable("CI_JOB_URL") or None
        return Links(job, f"{job}/artifacts/download" if job else None)

    @property
    def run(self) -> str:
        """Number of the pipeline."""
        return self._variable("CI_PIPELINE_ID")

    @property
    def proposal(self) -> str:
        """A pipeline of a merge request is about an unmerged change."""
        return "merge request" if self._variable("CI_MERGE_REQUEST_IID") else ""

    def comment(self, text: str) -> str:
        """Write the note of the merge request; returns why there is none."""
        # The job runs in the project of the fork, the merge request belongs to the other one.
        project = self._variable("CI_MERGE_REQUEST_PROJECT_ID") or self._variable("CI_PROJECT_ID")
        token = self._variable(TOKEN)
        if not token:
            is_fork = project != self._variable("CI_PROJECT_ID")
            return FROM_FORK if is_fork else WITHOUT_TOKEN
        job = (self._variable("CI_JOB_NAME"), self.output("prepare", "identity"))
        mark = f"<!-- pytest-bias:{sha256(canonical_json(list(job)))[:16]} -->"
        client = Client(self._variable("CI_API_V4_URL"), token)
        write_note(client, project, int(self._variable("CI_MERGE_REQUEST_IID")), mark, text)
        return ""

    def last_report(self, inputs: Inputs, model: str, *, failed: bool = False) -> Path | None:
        """Fetch the report of the last successful pipeline of the default branch.

        GitLab delivers artifacts by the name of a job from no other pipeline.
        """
        if failed:
            return None
        token = self._variable(TOKEN)
        api = self._variable("CI_API_V4_URL")
        if not token:
            client = Client(api, self._variable("CI_JOB_TOKEN"), "JOB-TOKEN")
        else:
            client = Client(api, token)
        branch, job = quote(self._variable("CI_DEFAULT_BRANCH"), safe=""), self._job(inputs)
        path = f"projects/{self._variable('CI_PROJECT_ID')}/jobs/artifacts/{branch}/download"
        folder = Path(tempfile.mkdtemp(prefix="pytest-bias-baseline-", dir=self.temp))
        archive = folder / "artifacts.zip"
        try:
            client.download(path, archive, MOST_BYTES, job=job)
            return unpacked(archive, folder, f"the artifact of the last job {clean(job)}")
        except GitLabError as error:
            if error.status != 404:
                raise
            return None
        finally:
            archive.unlink(missing_ok=True)

    def first_run(self, inputs: Inputs, model: str) -> str:
        """Return why `last_report` found nothing."""
        branch = clean(self._variable("CI_DEFAULT_BRANCH"), 100)
        return (
            f"No pipeline of {branch} that succeeded has left artifacts of the job "
            f"{clean(self._job(inputs), 120)} yet"
        )

    def _job(self, inputs: Inputs) -> str:
        name = inputs["baseline"].removeprefix(LAST_RUN).removeprefix(":").strip()
        return name or self._variable("CI_JOB_NAME")

    def commit_report(self, branch: str, out: Path) -> str:
        """Refuse: artifacts of a job have a permanent address without a commit."""
        raise UsageError("a job on GitLab commits to no branch.", "Badges are artifacts there.")

    @property
    def for_a_model(self) -> dict[str, str]:
        """Environment of a process in which code of a model may run.

        Without GitLab's tokens; the token of the Hub remains, since models and data are fetched
        with it.
        """
        of_gitlab = {TOKEN, "CI_REPOSITORY_URL"}
        kept = {
            name: value
            for name, value in self.environment.items()
            if name not in of_gitlab and not (name.startswith("CI_") and is_secret(name))
        }
        return {**kept, "PYTHONUTF8": "1"}

    @property
    def temp(self) -> Path:
        """Folder for files of this job."""
        return Path(tempfile.gettempdir())

    def _variable(self, name: str) -> str:
        return self.environment.get(name, "").strip()
