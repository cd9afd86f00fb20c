"""Run the command in a process of its own, and read the file with its result."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_bias.ci.provider import Provider
from pytest_bias.errors import MeasurementError, ReportError
from pytest_bias.records.command_result import VARIABLE, CommandResult


def run_command(
    words: Sequence[str], provider: Provider, environment: Mapping[str, str]
) -> CommandResult:
    """Run ``pytest-bias`` and return its result.

    Its output is shown, but neither parsed nor taken for commands of the runner, since it contains
    names that a model's author chose. A process that ends without a result, or with another exit
    code than it states, has failed.
    """
    with tempfile.TemporaryDirectory(prefix="pytest-bias-", dir=provider.temp) as folder:
        file = Path(folder) / "result.json"
        sys.stdout.flush()
        with provider.quiet():
            ended = subprocess.run(
                [sys.executable, "-m", "pytest_bias", *words],
                check=False,
                env={**environment, VARIABLE: str(file)},
            ).returncode
        try:
            result = CommandResult.read(file)
        except ReportError as error:
            return CommandResult(ended or MeasurementError.exit_code, error.message)
    if result.exit_code != ended:
        told = f"the command states the exit code {result.exit_code} and ended with {ended}"
        return CommandResult(ended or MeasurementError.exit_code, told)
    return result
