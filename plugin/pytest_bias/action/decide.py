"""The last step: how the action ends."""

import sys
from collections.abc import Mapping
from typing import Final

from pytest_bias.action.runner import write_outputs
from pytest_bias.limits import EXIT_EXCEEDED, EXIT_NOT_MEASURED, EXIT_OK

STEPS: Final = ("PREPARE", "MEASURE", "PUBLISH", "TELL")
"""Steps that say how they ended, in this order."""
DOES_NOT_FAIL: Final[Mapping[str, str]] = {
    "never": "the input `fail-on` is never",
    "error": "the input `fail-on` is error, and a limit is exceeded",
}


def main(environment: Mapping[str, str]) -> int:
    """Return the exit code of the action: the command's, or what ``fail-on`` makes of it."""
    codes = {name: environment.get(f"BIAS_{name}_CODE") for name in STEPS}
    # A step that was killed has said nothing.
    unknown = not (codes["PREPARE"] or codes["MEASURE"])
    code = next((int(c) for c in codes.values() if c and int(c)), EXIT_NOT_MEASURED * unknown)
    fail_on = environment.get("INPUT_FAIL_ON", "").strip()
    write_outputs({"exit-code": str(code)}, environment)
    if code and (fail_on == "never" or (fail_on == "error" and code == EXIT_EXCEEDED)):
        sys.stdout.write(f"exit code {code}, and {DOES_NOT_FAIL[fail_on]}.\n")
        return EXIT_OK
    return code
