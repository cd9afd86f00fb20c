"""Run one step, and report an error without a traceback."""

import sys
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from pytest_bias.ci.provider import Provider
from pytest_bias.ci.steps import decide, measure, prepare, publish, tell
from pytest_bias.errors import BiasError, MeasurementError
from pytest_bias.untrusted import clean, without_secrets

Step: TypeAlias = Callable[[Provider], int]

STEPS: Final[Mapping[str, Step]] = {
    "prepare": prepare.main,
    "measure": measure.main,
    "publish": publish.main,
    "tell": tell.main,
    "decide": decide.main,
}
"""Steps of every service, in their order."""

LAST: Final = "decide"


def run_step(name: str, step: Step, provider: Provider) -> int:
    """Run a step; returns its exit code.

    A step that fails saves the outputs ``exit-code`` and ``problem``: `tell` shows the error, and
    `decide` fails.
    """
    environment = provider.environment
    try:
        return step(provider)
    except BiasError as error:
        code, said = error.exit_code, str(error)
    except Exception as error:
        if environment.get("PYTEST_BIAS_DEBUG"):
            raise
        code = MeasurementError.exit_code
        said = f"unexpected {type(error).__name__}: {error} (PYTEST_BIAS_DEBUG=1 shows where)"
    problem = without_secrets(clean(said, 2000), environment)
    sys.stderr.write(f"error: {problem}\n")
    provider.write_outputs(name, {"exit-code": str(code), "problem": problem})
    return code if name == LAST else 0
