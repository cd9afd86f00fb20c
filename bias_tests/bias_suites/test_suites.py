"""``pytest --pyargs bias_suites --bias-model=MODEL``: one test per suite."""

import pytest

from pytest_bias.pytest_plugin.run import BiasRun


@pytest.mark.bias
def test_suite(bias_entry: str, bias_run: BiasRun) -> None:
    """Measure a suite; fails if it could not be measured, or a limit of the project is exceeded."""
    bias_run.check(bias_entry)
