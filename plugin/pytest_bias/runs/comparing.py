"""Two reports compared by a function call: for notebooks and scripts."""

from collections.abc import Sequence

from pytest_bias.records.report import Report
from pytest_bias.reports import comparison
from pytest_bias.reports.comparison import Comparison
from pytest_bias.settings.settings import read_settings


def compare(current: Report, baseline: Report, *, suites: Sequence[str] = ()) -> Comparison:
    """Compare every suite that both reports measured in the same way, item by item.

    Settings of the environment and of ``pytest-bias.yaml`` apply as for ``pytest-bias compare``;
    arguments take precedence.

    Parameters
    ----------
    current, baseline : Report
        With their records, as `measure` and `read_report` return them.
    suites : sequence of str
        Files ``*.bias.yaml`` of the suites in the reports that are not installed.

    Returns
    -------
    Comparison
        One result for each suite. A suite that cannot be compared says why.

    Raises
    ------
    BiasError
        If a file is not a valid suite.
    """
    settings = read_settings({"suites": list(suites)})
    return comparison.compare(current, baseline, catalogue=settings.catalogue)
