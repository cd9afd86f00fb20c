"""Which cases of a test run by default; the others are marked for the night."""

from collections.abc import Iterable

import pytest

NOT_BY_DAY = ("slow", "nightly", "door", "browser", "workflow", "cluster", "gpu", "hub")
"""Marks of what does not run by default, as pyproject.toml has it."""


def by_day(items: Iterable[pytest.Item]) -> None:
    """Mark as nightly the cases of a test that its mark ``by_day`` leaves out.

    The mark has the values that a parameter takes by day, or ids of cases.
    """
    there: dict[object, set[str]] = {}
    for item in items:
        for mark in item.iter_markers("by_day"):
            spec = item.callspec  # type: ignore[attr-defined]
            found = there.setdefault(item.function, set())  # type: ignore[attr-defined]
            found |= {spec.id, *(f"{name}={value}" for name, value in spec.params.items())}
            is_by_day = not mark.args or spec.id in mark.args
            for name, values in mark.kwargs.items():
                is_by_day &= spec.params[name] in values
            if not is_by_day:
                item.add_marker("nightly")
    for item in items:
        for mark in item.iter_markers("by_day"):
            named = {*mark.args, *(f"{n}={v}" for n, vs in mark.kwargs.items() for v in vs)}
            lost = named - there[item.function]  # type: ignore[attr-defined]
            if lost and not any("[" in word for word in item.config.args):
                raise pytest.UsageError(f"{item.nodeid}: by_day names {lost}, which there is not")


def once_each(items: Iterable[pytest.Item]) -> None:
    """Mark as nightly the cases that have no value of a parameter that another has not."""
    cases: dict[object, list[tuple[pytest.Item, set[tuple[str, str]]]]] = {}
    for item in items:
        spec = getattr(item, "callspec", None)
        if spec and not any(item.get_closest_marker(name) for name in NOT_BY_DAY):
            values = {(name, repr(value)) for name, value in spec.params.items()}
            function = item.function  # type: ignore[attr-defined]
            cases.setdefault((item.path, function), []).append((item, values))
    for of_test in cases.values():
        missing = set[tuple[str, str]]().union(*(values for _, values in of_test))
        while missing:
            chosen = max(of_test, key=lambda case: len(case[1] & missing))
            missing -= chosen[1]
            of_test.remove(chosen)
        for item, _ in of_test:
            item.add_marker("nightly")
