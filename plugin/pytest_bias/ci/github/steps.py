"""The steps of action.yml by name: those of every service, and one for artifacts."""

import os
from collections.abc import Mapping
from typing import Final

from pytest_bias.ci.github import keep
from pytest_bias.ci.github.provider import GitHub
from pytest_bias.ci.steps import running
from pytest_bias.emit import streams

STEPS: Final[Mapping[str, running.Step]] = {**running.STEPS, "keep": keep.main}


def main(name: str, environment: Mapping[str, str] | None = None) -> int:
    """Run a step, which reads its inputs from the environment; returns its exit code."""
    streams.prepare()
    provider = GitHub(os.environ if environment is None else environment)
    return running.run_step(name, STEPS[name], provider)
