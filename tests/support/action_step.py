"""Steps of the action, one by one in this process."""

import os
from collections.abc import Mapping
from pathlib import Path

import draws
from pytest_bias.ci.github import steps

SHARED = ("OMP_NUM_THREADS", draws.VARIABLE)
"""Variables of the tests that processes need to be forked, and to draw as often as these."""


class Step:
    """Runs steps in a folder, as the runner does."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        shared = {name: os.environ[name] for name in SHARED if name in os.environ}
        self.folder, self.env = folder, {**shared, **env}

    def __call__(self, name: str, **given: str) -> dict[str, str]:
        """Return the outputs of a step."""
        file = self.folder / "outputs"
        file.write_text("")
        steps.main(name, {**self.env, **given, "GITHUB_OUTPUT": str(file)})
        return outputs(file.read_text(encoding="utf-8"))


def outputs(text: str) -> dict[str, str]:
    """Read what stands in a file of outputs, each between delimiters."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, _, end = line.partition("<<")
        values = []
        while (value := next(lines)) != end:
            values.append(value)
        found[name] = "\n".join(values)
    return found
