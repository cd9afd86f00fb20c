"""The last step, which sets the exit code of the job."""

import sys
from typing import Final

from pytest_bias.ci.provider import Provider
from pytest_bias.exit_codes import EXIT_EXCEEDED, EXIT_NOT_MEASURED, EXIT_OK

STEPS: Final = ("prepare", "measure", "keep", "publish", "tell")
"""Steps that report how they ended, in this order."""


def main(provider: Provider) -> int:
    """Return the exit code of the job: the command's, as modified by ``fail-on``."""
    said = {name: provider.output(name, "exit-code") for name in STEPS}
    codes = [int(code) for code in said.values() if code and int(code)]
    if not (said["prepare"] or said["measure"]):
        # A step that was killed has reported nothing.
        codes.insert(0, EXIT_NOT_MEASURED)
    provider.write_outputs("decide", {"exit-code": str(next(iter(codes), EXIT_OK))})
    fail_on = provider.given.get("fail-on", "")
    passed = {"never": codes, "error": [EXIT_EXCEEDED]}.get(fail_on, [])
    left = [code for code in codes if code not in passed]
    if codes and not left:
        sys.stdout.write(f"exit code {codes[0]}, and the input `fail-on` is {fail_on}.\n")
    return next(iter(left), EXIT_OK)
