"""Suite files among a project's tests: the test that each of them is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_bias.pytest_plugin.run import BiasRun
from pytest_bias.pytest_plugin.session import of
from pytest_bias.suites.files.reading import read_suite


class SuiteFile(pytest.File):
    """A ``*.bias.yaml`` among a project's tests."""

    def collect(self) -> Iterator["SuiteTest"]:
        """Return one test."""
        name = read_suite(self.path).name
        for planned in of(self.config).session.plan.entries:
            if planned.entry.suite.name == name:
                yield SuiteTest.from_parent(self, name=planned.entry.id)


class SuiteTest(pytest.Item):
    """Measures a suite that a file defines."""

    def runtest(self) -> None:
        """Measure; skip, or fail, as the suites of `bias_suites` do."""
        BiasRun(of(self.config), self).check(self.name)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the test is defined, and its name."""
        return self.path, None, self.name
