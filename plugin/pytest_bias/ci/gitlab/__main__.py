"""``python -m pytest_bias.ci.gitlab``: all steps in one job, and the files that GitLab shows.

Options are the inputs of the GitHub Action of the same name. Everything else is set in
pytest-bias.yaml or by variables ``PYTEST_BIAS_…``.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_bias.ci.gitlab.provider import GitLab
from pytest_bias.ci.gitlab.results import code_quality
from pytest_bias.ci.steps.running import LAST, STEPS, run_step
from pytest_bias.ci.steps.tell import decision_of, problem_of
from pytest_bias.emit import streams
from pytest_bias.emit.exports import junit
from pytest_bias.errors import BiasError, UnknownName
from pytest_bias.reports.folder import read_report
from pytest_bias.untrusted import clean, without_secrets

TAKEN: Final[Mapping[str, str]] = {
    "model": "Model to test; by default the one that the settings name.",
    "revision": "Branch, tag or commit of a model of the Hub.",
    "suites": "Suites to run, separated by spaces.",
    "profile": "quick, standard or full.",
    "config": "Settings file; by default pytest-bias.yaml.",
    "baseline": "last-run, last-run:JOB, published, base, a report or a model.",
    "device": "auto, cpu or cuda:0.",
    "devices": "all, or a list such as cuda:0,cuda:1.",
    "data-dir": "Folder with your own copies of the benchmark data.",
    "allow-missing-data": "true: go on without the suites whose data could not be had.",
    "out": "Folder for report and badges; by default bias-report.",
    "extra-args": "Further options of `pytest-bias run`, one per line.",
    "fail-on": "limit, error or never.",
    "comment": "auto: one note on a merge request; never: none.",
    "publish": "Repository of the Hub to publish to; never from a merge request.",
    "create-pr": "true: publish as a pull request on the Hub; false: as a commit.",
}
JUNIT: Final = "bias-junit.xml"
CODE_QUALITY: Final = "bias-code-quality.json"
"""Files in the folder of the job, beside the one with the report."""


def inputs(words: Sequence[str]) -> dict[str, str]:
    """Return inputs by name, from the arguments of the command line.

    Raises
    ------
    UnknownName
        If there is no such option.
    """
    parser = argparse.ArgumentParser(
        "python -m pytest_bias.ci.gitlab", description=__doc__, allow_abbrev=False
    )
    for name, about in TAKEN.items():
        parser.add_argument(f"--{name}", help=about, metavar="TEXT")
    found, unknown = parser.parse_known_args(words)
    if unknown:
        named = unknown[0].partition("=")[0]
        raise UnknownName.among("option", clean(named), [f"--{name}" for name in TAKEN])
    given = {name: getattr(found, name.replace("-", "_")) for name in TAKEN}
    return {name: value.strip() for name, value in given.items() if value is not None}


def run(job: GitLab, folder: Path) -> int:
    """Run the steps and write the files; returns the exit code of the job."""
    for name, step in STEPS.items():
        if name == LAST:
            run_step("tell", lambda _: _leave(job, folder), job)
        if name == "measure" and not job.output("prepare", "command"):
            continue
        if name == "publish" and not job.output("measure", "exit-code"):
            continue
        code = run_step(name, step, job)
    return code


def _leave(job: GitLab, folder: Path) -> int:
    report = job.output("measure", "report")
    problem = without_secrets(problem_of(job), job.environment)
    files = {
        JUNIT: junit.render(
            read_report(Path(report).parent) if report else None, decision_of(job), problem
        ),
        CODE_QUALITY: code_quality(job.annotations),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return 0


def main(words: Sequence[str]) -> int:
    """Run the job; a mistake on its command line is one message."""
    streams.prepare()
    try:
        given = inputs(words)
    except BiasError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return run(GitLab(os.environ, given), Path.cwd())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
