"""GitHub as a provider: the runner's variables and files, artifacts, branches, comments."""

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_bias.ci.contents import FOLDER
from pytest_bias.ci.github import runner
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.artifacts import last_report
from pytest_bias.ci.github.branches import Place, commit_report, place_for, read_report_of
from pytest_bias.ci.github.comments import comment, marker, pull_request
from pytest_bias.ci.provider import Annotation
from pytest_bias.ci.steps.inputs import AUTO, PLAIN, Inputs
from pytest_bias.ci.steps.prepare import BRANCH, LAST_RUN
from pytest_bias.emit.comment import Links
from pytest_bias.errors import BiasError, UsageError
from pytest_bias.models.reference import ModelRef
from pytest_bias.reports.folder import REPORT, read_plain_report
from pytest_bias.untrusted import clean, markdown, without_secrets

_OWN_NAME: Final = re.compile(rf"{PLAIN}-.*[0-9a-f]{{8}}")
_ARTIFACT: Final = re.compile(r"[^\":<>|*?\r\n\\/\0]{0,200}")


@dataclass(frozen=True, slots=True)
class GitHub:
    """A step of the Action.

    action.yml gives a step its inputs as ``INPUT_NAME``, and outputs of earlier steps as
    ``BIAS_STEP_NAME``.
    """

    environment: Mapping[str, str]

    @property
    def given(self) -> Mapping[str, str]:
        """Inputs by name."""
        return {
            name.removeprefix("INPUT_").replace("_", "-").lower(): value.strip()
            for name, value in self.environment.items()
            if name.startswith("INPUT_")
        }

    def check(self, inputs: Inputs) -> None:
        """Raise `UsageError` for names that GitHub would misread."""
        # Paths of uploads are patterns.
        for name in ("out", "reports"):
            if re.search(r"[*?\[\]]|^[!#]", inputs[name]):
                raise UsageError(
                    f"the input `{name}` is {inputs[name][:100]!r}: its name has one of * ? [ ], "
                    "or begins with ! or #, which GitHub would read as a pattern."
                )
        if not _ARTIFACT.fullmatch(inputs["artifact"]):
            raise UsageError(
                f"the input `artifact` is {inputs['artifact'][:100]!r}.",
                'Names of artifacts have none of " : < > | * ? \\ / in them, and one line.',
            )
        if inputs["badges-branch"]:
            Place.parse(inputs["badges-branch"])

    def output(self, step: str, name: str) -> str:
        """Return a value that an earlier step saved."""
        return self._variable(f"BIAS_{step}_{name}".upper().replace("-", "_"))

    def write_outputs(self, step: str, values: Mapping[str, str]) -> None:
        """Save values for later steps."""
        runner.write_outputs(values, self.environment)

    def annotate(self, annotations: Sequence[Annotation]) -> None:
        """Show messages on the run's page and in the files of a pull request."""
        for line in runner.annotations(annotations):
            sys.stdout.write(without_secrets(line, self.environment) + "\n")

    def quiet(self) -> AbstractContextManager[None]:
        """Return a context in which no printed line is a command of the runner."""
        return runner.quiet(sys.stdout)

    def summarize(self, report: str, problem: str, remarks: Sequence[str], published: str) -> None:
        """Write the summary of the step."""
        parts = [report] if report else []
        if problem:
            parts.append(f"## Could not measure\n\n{markdown(problem, 2000)}")
        parts += [markdown(remark, 1000) for remark in remarks]
        if self.links.page:
            parts.append(f"[The whole report, its page and its badges]({self.links.page})")
        if published:
            parts.append(f"[What was published]({published})")
        text = without_secrets("\n\n".join(parts), self.environment)
        runner.write_summary(text, self.environment)

    @property
    def links(self) -> Links:
        """Addresses of the run and of the artifact."""
        names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
        server, repository, run = map(self._variable, names)
        at = f"{server}/{repository}/actions/runs/{run}" if server and run else None
        return Links(at, self._variable("BIAS_ARTIFACT_URL") or None)

    @property
    def run(self) -> str:
        """Number of this run of a workflow."""
        return self._variable("GITHUB_RUN_ID")

    @property
    def proposal(self) -> str:
        """Pull requests, their reviews and merge queues are about unmerged changes."""
        event = self._variable("GITHUB_EVENT_NAME")
        is_one = event.startswith("pull_request") or event == "merge_group"
        return "pull request" if is_one else ""

    def comment(self, text: str) -> str:
        """Write the comment of a pull request; returns why there is none."""
        pull = pull_request(self.environment)
        if pull is None:
            return ""
        job = [self._variable(name) for name in ("GITHUB_WORKFLOW", "GITHUB_JOB")]
        artifact = self._variable("INPUT_ARTIFACT")
        # Known also where the settings cannot be read, so that an error replaces the last result.
        mark = marker(*job, self.output("prepare", "identity"), artifact)
        before = marker(
            *job, self._variable("INPUT_MODEL"), PLAIN if artifact == AUTO else artifact
        )
        done = comment(self._client(), pull, mark, text, before=before)
        return str(done.reason) if done.outcome == "refused" else ""

    def last_report(self, inputs: Inputs, model: str, *, failed: bool = False) -> Path | None:
        """Fetch the report of an artifact or a branch; None if there never was one.

        If there is none under this job's own name, one under the plain name of earlier versions
        counts if it is of the same model.
        """
        text, client = inputs["baseline"], self._client()
        if text.startswith(BRANCH):
            place = Place.parse(text.removeprefix(BRANCH))
            own = replace(place, folder=f"{FOLDER}-{inputs.named(model)}")
            places = [own, place] if place.folder == FOLDER else [place]
            for where in places:
                kept = read_report_of(client, where, self._new_folder())
                if kept and (where == places[0] or _is_of(kept.folder, model)):
                    return kept.folder
            return None
        name = text.removeprefix(LAST_RUN).removeprefix(":").strip() or inputs.artifact(model)
        if not name:
            raise UsageError(
                f"the input `baseline` is {LAST_RUN}, and the input `artifact` is empty: no run "
                "leaves a report to compare with."
            )
        for one in (name, *([PLAIN] if _OWN_NAME.fullmatch(name) else [])):
            found = last_report(
                client,
                name=one,
                workflow_ref=self._variable("GITHUB_WORKFLOW_REF"),
                run_id=int(self.run or 0),
                into=self._new_folder(),
                failed=failed,
            )
            if found and (one == name or _is_of(found.folder, model)):
                return found.folder
        return None

    def first_run(self, inputs: Inputs, model: str) -> str:
        """Return why `last_report` found nothing."""
        baseline = inputs["baseline"]
        if baseline.startswith(BRANCH):
            return f"{clean(baseline)} holds no report yet"
        name = baseline.removeprefix(LAST_RUN).removeprefix(":").strip()
        named = clean(name or inputs.artifact(model), 120)
        return f"No run of this workflow on the default branch has left the artifact {named} yet"

    def commit_report(self, branch: str, out: Path) -> str:
        """Commit a report to a branch of this repository; returns the folder there."""
        client = self._client()
        place = place_for(client, branch, self.output("prepare", "folder") or FOLDER, out)
        commit_report(client, place, out)
        return place.folder

    @property
    def for_a_model(self) -> dict[str, str]:
        """Environment of a process in which code of a model may run."""
        return runner.for_a_model(self.environment)

    @property
    def temp(self) -> Path:
        """Folder for files of this job."""
        return Path(self._variable("RUNNER_TEMP") or tempfile.gettempdir())

    def _variable(self, name: str) -> str:
        return self.environment.get(name, "")

    def _client(self) -> Client:
        return Client.of(self._variable("GITHUB_TOKEN"), self.environment)

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="pytest-bias-baseline-", dir=self.temp))


def _is_of(folder: Path, model: str) -> bool:
    """Whether a report is of this job's model, by its name."""
    try:
        name = ModelRef.parse(model).name
        return Path(read_plain_report(folder / REPORT).model.reference).name == Path(name).name
    except BiasError:
        return False
