"""Suite files among a project's tests, each collected as one test."""

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
    """The test that measures the suite of a file."""

    def runtest(self) -> None:
        """Measure the suite; skip or fail as the tests of `bias_suites` do."""
        BiasRun(of(self.config), self).check(self.name)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the test is defined, and its name."""
        return self.path, None, self.name
