"""The inputs of a job: validated, and converted to a command.

No shell reads any of them: a command is a list of arguments.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_bias.ci.contents import JOB, job_of
from pytest_bias.environment import SUITE_FILE, is_offline
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.records.report import canonical_json, sha256
from pytest_bias.reports.folder import REPORT
from pytest_bias.settings.settings import Settings

OPTIONS: Final = ("profile", "config", "baseline", "device", "devices", "data-dir", "shard")
"""Inputs that are passed on as options of the same name."""
TAKEN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "run": OPTIONS,
    "reproduce": ("config", "device", "devices", "data-dir"),
    "merge": ("config", "baseline"),
}
"""Those of them that each command accepts; any other one that was given is an error."""
MODES: Final = {"reproduce": "`reproduce`: the report says what is run", "merge": "`reports`"}
FLAGS: Final = (
    *("skip-unchanged", "reproduce", "allow-missing-data", "create-pr", "install", "cache"),
)
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "fail-on": ("limit", "error", "never"),
    "comment": ("auto", "never"),
    "summary": ("always", "problems", "never"),
}
"""Inputs with a fixed set of values; the first is the default."""
DEFAULT_OUT: Final = "bias-report"
AUTO: Final = "auto"
PLAIN: Final = "bias-report"
"""Name of the artifact before names contained the model and a digest."""
IDENTITY: Final = (
    *("model", "revision", "suites", "profile", "config", "reports", "shard", "device", "devices"),
    *("data-dir", "reproduce", "extra-args"),
)
"""Inputs that distinguish the jobs of a workflow, such as those of a matrix."""


def _words(line: str) -> list[str]:
    """Split a line into arguments: ``--name=value`` with all its spaces, or ``--name value``."""
    name, *value = line.split(maxsplit=1)[:2] if line else [""]
    if not value or not name.startswith("-") or "=" in name:
        return [line] if line else []
    return [name, *(_words(value[0]) if value[0].startswith("-") else value)]


@dataclass(frozen=True)
class Inputs:
    """The inputs of a job; `texts` holds every input, stripped."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Inputs":
        """Read and validate inputs by name.

        Raises
        ------
        UsageError
            If an input has an invalid value.
        """
        inputs = cls(given)
        inputs.check()
        return inputs

    def __getitem__(self, name: str) -> str:
        return self.texts.get(name, "")

    def flag(self, name: str) -> bool:
        """Whether an input says ``true``."""
        return self[name].lower() == "true"

    def check(self) -> None:
        """Raise `UsageError` if an input has an invalid value."""
        if any("\0" in text for text in self.texts.values()):
            raise UsageError("an input holds a null character.")
        for name in FLAGS:
            if self[name].lower() not in ("true", "false", ""):
                raise UsageError(f"the input `{name}` is {self[name][:100]!r}: true or false.")
        for name, known in CHOICES.items():
            if self[name] and self[name] not in known:
                raise UnknownName.among(f"the input `{name}`", self[name], known)
        for name in (n for n in (*OPTIONS, "out", "reports") if "\n" in self[n]):
            raise UsageError(f"the input `{name}` has more than one line.")

    @property
    def identity(self) -> str:
        """Eight hexadecimal digits that identify model, suites and configuration of this job."""
        said = {name: " ".join(self[name].split()) for name in IDENTITY if self[name]}
        return sha256(canonical_json(said))[:8]

    def named(self, model: str | None) -> str:
        """Return a name for this job's outputs that differs from those of other jobs."""
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", model or "").strip("-.")[:60]
        return "-".join(filter(None, (name, self.identity)))

    def artifact(self, model: str | None) -> str:
        """Return the name of the artifact; empty if there is none."""
        name = self["artifact"]
        return f"{PLAIN}-{self.named(model)}" if name == AUTO else name

    @property
    def command(self) -> str:
        """Name of the command: run, reproduce or merge."""
        if self["reports"]:
            return "merge"
        return "reproduce" if self.flag("reproduce") else "run"

    @property
    def out(self) -> Path:
        """Output folder; each use of the action within a job has its own."""
        if self["out"]:
            return Path(self["out"]).expanduser()
        file = Path(DEFAULT_OUT) / JOB
        taken = file.is_file() and job_of(file.read_bytes()).get("identity") != self.identity
        return Path(f"{DEFAULT_OUT}-{self.identity}" if taken else DEFAULT_OUT)

    @property
    def model(self) -> str:
        """The model, with its revision."""
        if not self["revision"]:
            return self["model"]
        if not self["model"]:
            raise UsageError("the input `revision` needs the input `model`.")
        return f"{self['model']}@{self['revision']}"

    @property
    def suites(self) -> list[str]:
        """Suites that are requested by name."""
        return self["suites"].split()

    @property
    def extra(self) -> list[str]:
        """Further options, one per line."""
        return [word for line in self["extra-args"].splitlines() for word in _words(line.strip())]

    @property
    def is_offline(self) -> bool:
        """Whether the network must not be used (offline)."""
        return is_offline("--offline" in self.extra)

    def words(self, baseline: str | None = None, *, first_run: bool = False) -> list[str]:
        """Return the arguments of the command; empty if a whole report is used as it is.

        Parameters
        ----------
        baseline : str, optional
            Replaces the input of that name.
        first_run : bool
            Whether no baseline is expected.

        Raises
        ------
        UsageError
            If inputs contradict one another.
        """
        command, allows = self.command, self.flag("allow-missing-data")
        given = {name: self[name] for name in OPTIONS if self[name]}
        if allows and command == "reproduce":
            given["allow-missing-data"] = "true"
        if self.suites and command != "run":
            given["suites"] = " ".join(self.suites)
        if odd := [name for name in given if name not in TAKEN_BY[command]]:
            raise UsageError(f"the input `{odd[0]}` does not go with {MODES[command]}.")
        if any(word.partition("=")[0] == "--out" for word in self.extra):
            raise UsageError("--out is not allowed in `extra-args`.", "Use the input `out`.")
        parts = self.parts() if command == "merge" else []
        if command == "merge" and not parts:
            return []
        if command == "reproduce" and not self["model"]:
            raise UsageError("the input `reproduce` needs the input `model`: what is run again.")
        given.pop("baseline", None)
        words = [f"--{name}={text}" for name, text in given.items()]
        words += [f"--baseline={baseline}"] if baseline else []
        words += ["--first-run"] if first_run else []
        words += ["--allow-missing-data"] if allows else []
        words += [f"--suite={suite}" for suite in self.suites]
        words += [f"--out={self.out}", "--fresh", *self.extra]
        # The model follows `--`, so that a name that begins with a dash is no option.
        what = parts or ([self.model] if self.model else [])
        return [command, *words, *(["--", *what] if what else [])]

    def again(
        self, report: Path, settings: Settings, baseline: str | None, *, first_run: bool
    ) -> list[str]:
        """Return the arguments that decide on a report again, by the current limits.

        Empty if its scores are withheld: then the former decision remains.
        """
        if settings.withhold_scores:
            return []
        words = [f"--config={self['config']}"] if self["config"] else []
        words += [f"--baseline={baseline}"] if baseline else []
        words += ["--first-run"] if first_run or settings.first_run else []
        words += ["--allow-missing-data"] if settings.allow_missing_data else []
        words += [f"--suite={suite}" for suite in settings.suites if suite.endswith(SUITE_FILE)]
        return ["merge", *words, f"--out={self.out}", "--fresh", "--", str(report)]

    def parts(self) -> list[str]:
        """Return the folders of the shards below `reports`; empty if it holds a whole report.

        Raises
        ------
        UsageError
            If it holds neither.
        """
        folder = Path(self["reports"]).expanduser()
        if (folder / REPORT).is_file():
            return []
        if parts := sorted(str(file.parent) for file in folder.glob(f"*/{REPORT}")):
            return parts
        raise UsageError(
            f"the input `reports` is {self['reports'][:200]!r}: there is no {REPORT} in that "
            "folder, nor in a folder in it.",
            "The jobs that measure leave it as an artifact, and say why if they do not. Their "
            "artifacts are downloaded into one folder first.",
        )
