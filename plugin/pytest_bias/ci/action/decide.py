"""The last step: how the action ends."""

import sys
from collections.abc import Mapping
from typing import Final

from pytest_bias.ci.action.runner import write_outputs
from pytest_bias.exit_codes import EXIT_EXCEEDED, EXIT_NOT_MEASURED, EXIT_OK

STEPS: Final = ("PREPARE", "MEASURE", "KEEP", "PUBLISH", "TELL")
"""Steps that say how they ended, in this order."""


def main(environment: Mapping[str, str]) -> int:
    """Return the exit code of the action: the command's, or what ``fail-on`` makes of it."""
    said = {name: environment.get(f"BIAS_{name}_CODE") for name in STEPS}
    codes = [int(code) for code in said.values() if code and int(code)]
    if not (said["PREPARE"] or said["MEASURE"]):
        # A step that was killed has said nothing.
        codes.insert(0, EXIT_NOT_MEASURED)
    write_outputs({"exit-code": str(next(iter(codes), EXIT_OK))}, environment)
    fail_on = environment.get("INPUT_FAIL_ON", "").strip()
    passed = {"never": codes, "error": [EXIT_EXCEEDED]}.get(fail_on, [])
    left = [code for code in codes if code not in passed]
    if codes and not left:
        sys.stdout.write(f"exit code {codes[0]}, and the input `fail-on` is {fail_on}.\n")
    return next(iter(left), EXIT_OK)
