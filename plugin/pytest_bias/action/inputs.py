"""The inputs of the action: read from the environment, checked, made into a command.

No shell reads any of them: a command is a list of words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.folder import REPORT
from pytest_bias.github.branches import Place
from pytest_bias.options import is_offline

OPTIONS: Final = ("profile", "config", "baseline", "device", "devices", "data-dir", "shard")
"""Inputs that are options of the command, of the same name."""
TAKEN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "run": OPTIONS,
    "reproduce": ("config", "device", "devices", "data-dir"),
    "merge": ("config", "baseline"),
}
"""Which of them a command takes; where one was given that it does not take, that is said."""
MODES: Final = {"reproduce": "`reproduce`: the report says what is run", "merge": "`reports`"}
FLAGS: Final = (
    *("skip-unchanged", "reproduce", "allow-missing-data", "create-pr", "install", "cache"),
)
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "fail-on": ("limit", "error", "never"),
    "comment": ("auto", "never"),
    "summary": ("always", "problems", "never"),
}
"""Inputs of few values; the first is the default."""
DEFAULT_OUT: Final = "bias-report"
_ARTIFACT: Final = re.compile(r"[^\":<>|*?\r\n\\/\0]{0,200}")


@dataclass(frozen=True)
class Inputs:
    """What a workflow asks for; `texts` holds every input without the space around it."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Inputs":
        """Read the variables ``INPUT_…`` that action.yml sets.

        Raises
        ------
        UsageError
            If an input holds what it cannot hold.
        """
        found = {
            name.removeprefix("INPUT_").replace("_", "-").lower(): value.strip()
            for name, value in environment.items()
            if name.startswith("INPUT_")
        }
        inputs = cls(found)
        inputs.check()
        return inputs

    def __getitem__(self, name: str) -> str:
        return self.texts.get(name, "")

    def flag(self, name: str) -> bool:
        """Whether an input says ``true``."""
        return self[name].lower() == "true"

    def check(self) -> None:
        """Raise UsageError if an input holds what it cannot hold."""
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
        # What is uploaded is named by a pattern of GitHub's.
        for name in ("out", "reports"):
            if re.search(r"[*?\[\]]|^[!#]", self[name]):
                raise UsageError(
                    f"the input `{name}` is {self[name][:100]!r}: its name has one of * ? [ ], or "
                    "begins with ! or #, which GitHub would read as a pattern."
                )
        if not _ARTIFACT.fullmatch(self["artifact"]):
            raise UsageError(
                f"the input `artifact` is {self['artifact'][:100]!r}.",
                'Names of artifacts have none of " : < > | * ? \\ / in them, and one line.',
            )
        if self["badges-branch"]:
            Place.parse(self["badges-branch"])

    @property
    def command(self) -> str:
        """Name of the command: run, reproduce or merge."""
        if self["reports"]:
            return "merge"
        return "reproduce" if self.flag("reproduce") else "run"

    @property
    def out(self) -> Path:
        """Folder that the report goes to."""
        return Path(self["out"] or DEFAULT_OUT).expanduser()

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
        """Suites that are asked for by name."""
        return self["suites"].split()

    @property
    def extra(self) -> list[str]:
        """Further options, one a line."""
        return [line.strip() for line in self["extra-args"].splitlines() if line.strip()]

    @property
    def is_offline(self) -> bool:
        """Whether the network must not be used."""
        return is_offline("--offline" in self.extra)

    def words(self, baseline: str | None = None, *, first_run: bool = False) -> list[str]:
        """Return the words of the command; none if a report is taken as it is.

        Parameters
        ----------
        baseline : str, optional
            What stands for the input of that name.
        first_run : bool
            Whether there is no baseline to be expected.

        Raises
        ------
        UsageError
            If inputs do not fit one another.
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
            raise UsageError("--out stands in `extra-args`.", "Use the input `out`.")
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
        # The model comes behind `--`, so that a name that begins with a dash is no option.
        what = parts or ([self.model] if self.model else [])
        return [command, *words, *(["--", *what] if what else [])]

    def parts(self) -> list[str]:
        """Return the folders of the shards below `reports`; none if it holds a whole report.

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
