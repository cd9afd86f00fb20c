"""Workflows run for real without GitHub: act plays the runner, and stand-ins play its actions.

What act cannot fetch here are the actions that our own use: `stand_ins` has one for each, which
does the same with a folder. The product under test is a copy of action.yml and of the reusable
workflow in which two defaults are others: nothing is installed, and the Python is that of the
tests.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from commands import environment

ROOT = Path(__file__).parents[2]
STAND_INS = Path(__file__).parent / "stand_ins"
ACT = Path(sys.executable).parent / "act"
VERSION = "v0.1.0"
OURS = "pytest-bias/pytest-bias"
_CHECK = "          shopt -s nullglob\n          files=(.bias-parts"
HANDED_ON = {
    'echo "sha256-$PART=$SHA256" >> "$GITHUB_OUTPUT"': (
        'echo "\\"$SHA256\\"" >> "$ACT_STORE/handed-on"'
    ),
    _CHECK: f'          MEASURED=$(cat "$ACT_STORE/handed-on")\n{_CHECK}',
}
_PINNED = re.compile(r"uses: (actions/[\w-]+)(?:/\w+)?@([0-9a-f]{40})")


def product(folder: Path, *, installs: bool = False) -> Path:
    """Lay out what a workflow fetches of this repository."""
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    if not installs:
        action = _with_default(action, "install", '"false"')
        action = _with_default(action, "python", json.dumps(sys.executable))
    (folder / ".github" / "workflows").mkdir(parents=True)
    (folder / "action.yml").write_text(action, encoding="utf-8")
    name = ".github/workflows/bias-tests.yml"
    text = (ROOT / name).read_text(encoding="utf-8")
    # Of a matrix act keeps the outputs of one job alone, where GitHub joins those of all.
    for here, instead in HANDED_ON.items():
        assert text.count(here) == 1, here
        text = text.replace(here, instead)
    # What a step prints right before it ends is lost by act now and then.
    text = text.replace("  exit 2\n", "  sleep 0.5; exit 2\n")
    (folder / name).write_text(text, encoding="utf-8")
    if installs:
        for part in ("plugin", "bias_tests", "templates"):
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        for part in ("pyproject.toml", "README.md", "LICENSE", "constraints.txt"):
            shutil.copy(ROOT / part, folder / part)
    return folder


def _with_default(action: str, name: str, default: str) -> str:
    before = re.compile(rf"(^  {name}:\n.*?    default: )[^\n]*", re.MULTILINE | re.DOTALL)
    changed, n = before.subn(rf"\g<1>{default}", action, count=1)
    assert n == 1, name
    return changed


def pinned(*texts: str) -> set[tuple[str, str]]:
    """Return the actions of GitHub's own that workflows use, each with its commit."""
    return {match for text in texts for match in _PINNED.findall(text)}


@dataclass(frozen=True)
class Run:
    """What a run of a workflow left: exit code, events of the log, outputs, and the store.

    The artifacts in the store are those of the last run.
    """

    code: int
    log: str
    store: Path
    outputs: Mapping[str, str]
    """Outputs of the action, if the workflow kept them."""

    def __post_init__(self) -> None:
        assert "Traceback" not in self.log, self.log

    @property
    def events(self) -> list[dict[str, Any]]:
        """What act says, line by line."""
        lines = [line for line in self.log.splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]

    @property
    def jobs(self) -> dict[str, str]:
        """How each job ended, by its id."""
        results = [e for e in self.events if "jobResult" in e]
        return {e["jobID"]: e["jobResult"] for e in results}

    @property
    def lines(self) -> list[str]:
        """What the steps printed."""
        return [e["msg"].rstrip() for e in self.events if e.get("raw_output")]

    @property
    def said(self) -> str:
        """The same on one line."""
        return " ".join(" ".join(self.lines).split())

    @property
    def commands(self) -> list[str]:
        """What the runner took for its commands: annotations and the like, no outputs."""
        found = [e for e in self.events if e.get("command") not in (None, "set-output", "summary")]
        return [str(e.get("raw") or e["msg"]).strip() for e in found]

    @property
    def summary(self) -> str:
        """The summaries of the run."""
        return "\n".join(e["content"] for e in self.events if e.get("command") == "summary")

    def artifact(self, name: str = "bias-report") -> Path:
        """Folder of an artifact, with or without the model and the digest in its name."""
        folder, rest = self.store / "artifacts", name.removeprefix("bias-report")
        own = re.compile(rf"bias-report-(?:[\w.-]+-)?[0-9a-f]{{8}}{re.escape(rest)}")
        found = [p for p in folder.glob("*") if name and own.fullmatch(p.name)]
        assert len(found) < 2, found
        return found[0] if found else folder / name

    def report(self, name: str = "bias-report") -> dict[str, Any]:
        """The report in an artifact."""
        return json.loads((self.artifact(name) / "report.json").read_text(encoding="utf-8"))

    def notes(self, name: str) -> list[str]:
        """What a stand-in noted."""
        file = self.store / name
        return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []

    def ended(self, code: int) -> "Run":
        """Assert whether the run failed."""
        assert self.code == code, "\n".join([*self.lines[-40:], *self.commands])
        return self


@dataclass
class Caller:
    """A repository of somebody's with workflows, and what GitHub keeps for it.

    Parameters
    ----------
    folder : Path
        Where all lies: ``checkout`` (the repository), ``store`` (caches and artifacts).
    name : str
        ``owner/name`` of the repository.
    env : mapping
        Variables of every job, as an organization sets them; `GITHUB_API_URL` for a server of ours.
    """

    folder: Path
    name: str = "org/name"
    env: dict[str, str] = field(default_factory=dict)
    installs: bool = False

    def __post_init__(self) -> None:
        self.checkout.mkdir(parents=True)
        (self.folder / "home").mkdir()
        # Without the file act asks for a choice at its first start.
        (self.folder / "home" / ".actrc").touch()
        self.product = product(self.folder / "product", installs=self.installs)
        self._git("init", "--quiet", "-b", "main")
        self._git("remote", "add", "origin", f"https://github.com/{self.name}")

    @property
    def checkout(self) -> Path:
        """The repository's files."""
        return self.folder / "checkout"

    @property
    def store(self) -> Path:
        """What the stand-ins keep."""
        return self.folder / "store"

    def _git(self, *words: str) -> str:
        identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=self.checkout,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self) -> str:
        """Commit everything; returns the commit."""
        self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "--allow-empty", "-m", "A change")
        return self._git("rev-parse", "HEAD")

    def write(self, name: str, text: str) -> None:
        """Write a file of the repository."""
        path = self.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(
        self,
        workflow: str,
        *,
        event: str = "push",
        payload: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        run_id: int = 1,
    ) -> Run:
        """Run a workflow on an event; artifacts of the run before are gone, caches are not."""
        for gone in (
            "artifacts",
            "outputs.json",
            "handed-on",
            "attest",
            "cache-restore",
            "cache-save",
        ):
            path = self.store / gone
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.store.mkdir(exist_ok=True)
        path = ".github/workflows/workflow.yml"
        self.write(path, workflow)
        self.commit()
        (self.folder / "event.json").write_text(json.dumps(payload or {}), encoding="utf-8")
        texts = [workflow, *(p.read_text() for p in self.product.rglob("*.yml"))]
        stand_ins = [
            f"--local-repository={action}@{sha}={STAND_INS / action.partition('/')[2]}"
            for action, sha in pinned(*texts)
        ]
        given = {
            "ACT_STORE": self.store,
            "ACT_STAND_INS": STAND_INS,
            "ACT_PRODUCT": self.product,
            "GITHUB_RUN_ID": run_id,
            "GITHUB_WORKFLOW_REF": f"{self.name}/{path}@refs/heads/main",
            "PYTEST_BIAS_CACHE": self.folder / "cache",
            **{k: v for k, v in environment().items() if k in ("COLUMNS", "OMP_NUM_THREADS")},
            "HF_HUB_OFFLINE": "1",
            **self.env,
            **(env or {}),
        }
        command = [
            *(str(ACT), event, "--workflows", path, "--eventpath", str(self.folder / "event.json")),
            *("-P", "ubuntu-latest=-self-hosted", "-P", "gpu=-self-hosted"),
            *("--action-offline-mode", "--no-cache-server", "--json"),
            f"--local-repository={OURS}@{VERSION}={self.product}",
            *stand_ins,
            *(f"--env={name}={value}" for name, value in given.items() if str(value)),
            *(f"--secret={name}" for name in secrets or ()),
        ]
        kept = {k: v for k, v in environment().items() if not re.match("(GITHUB|INPUT|HF)_", k)}
        ran = subprocess.run(
            command,
            cwd=self.checkout,
            env={**kept, "HOME": str(self.folder / "home"), **(secrets or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=600,
        )
        kept_outputs = self.store / "outputs.json"
        outputs = json.loads(kept_outputs.read_text("utf-8")) if kept_outputs.is_file() else {}
        return Run(ran.returncode, ran.stdout, self.store, outputs)


KEEP = """\
      - if: always()
        shell: bash
        env:
          OUTPUTS: ${{ toJSON(steps.bias.outputs) }}
        run: printf %s "$OUTPUTS" > "$ACT_STORE/outputs.json"
"""


def workflow(inputs: Mapping[str, str], *, on: str = "push", before: str = "") -> str:
    """Return a workflow that uses the action; its inputs come from the event as they are."""
    given = {name: f"${{{{ github.event.inputs.{name} }}}}" for name in inputs}
    step = {"id": "bias", "uses": f"{OURS}@{VERSION}", "with": given}
    used = yaml.safe_dump([step], sort_keys=False, width=1000)
    indented = "".join(f"      {line}\n" for line in used.splitlines())
    return (
        f"name: bias\non: {on}\npermissions: {{}}\njobs:\n  bias:\n    runs-on: ubuntu-latest\n"
        f"    steps:\n      - uses: actions/checkout@v7\n{before}{indented}{KEEP}"
    )


CALL = """\
name: bias
on: {event}
permissions: {{}}
jobs:
  bias:
    permissions:
      contents: read
      actions: read
      pull-requests: write
      id-token: write
      attestations: write
    uses: {ours}/.github/workflows/bias-tests.yml@{version}
    with:
{inputs}
  told:
    needs: bias
    if: always()
    runs-on: ubuntu-latest
    steps:
      - shell: bash
        env:
          OUTPUTS: ${{{{ toJSON(needs.bias.outputs) }}}}
        run: printf %s "$OUTPUTS" > "$ACT_STORE/outputs.json"
"""


def call(inputs: dict[str, Any], event: str = "push") -> str:
    """Return a workflow that calls ours."""
    lines = yaml.safe_dump(inputs, sort_keys=False).splitlines()
    indented = "\n".join(f"      {line}" for line in lines)
    return CALL.format(ours=OURS, version=VERSION, inputs=indented, event=event)
