"""The steps by name. Each reads the environment, and ends well or says why, without a traceback."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from pytest_bias.ci.action import decide, keep, measure, prepare, publish, tell
from pytest_bias.ci.action.runner import without_secrets, write_outputs
from pytest_bias.emit import streams
from pytest_bias.errors import BiasError, MeasurementError
from pytest_bias.untrusted import clean

STEPS: Final[Mapping[str, Callable[[Mapping[str, str]], int]]] = {
    "prepare": prepare.main,
    "measure": measure.main,
    "keep": keep.main,
    "publish": publish.main,
    "tell": tell.main,
    "decide": decide.main,
}

LAST: Final = "decide"


def main(name: str, environment: Mapping[str, str] | None = None) -> int:
    """Run a step; returns its exit code.

    A step that goes wrong leaves the outputs ``exit-code`` and ``problem``: `tell` shows what is
    wrong, and `decide` fails.
    """
    environment = os.environ if environment is None else environment
    streams.prepare()
    try:
        return STEPS[name](environment)
    except BiasError as error:
        code, said = error.exit_code, str(error)
    except Exception as error:
        if environment.get("PYTEST_BIAS_DEBUG"):
            raise
        code = MeasurementError.exit_code
        said = f"unexpected {type(error).__name__}: {error} (PYTEST_BIAS_DEBUG=1 shows where)"
    problem = without_secrets(clean(said, 2000), environment)
    sys.stderr.write(f"error: {problem}\n")
    write_outputs({"exit-code": str(code), "problem": problem}, environment)
    return code if name == LAST else 0
