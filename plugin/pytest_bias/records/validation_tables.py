"""What has to stand in the tables of a report.json, so that whoever reads one need not ask.

A report may come from anybody. What is typed in `Report` is checked there; here are the tables that
are open to more keys, and suites that stand there twice.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_bias.errors import ReportError
from pytest_bias.records.validation import finite_json, fits_of

TYPES: Final[Mapping[tuple[str, str], Any]] = {
    ("tool", "version"): str,
    ("tool", "statistics_version"): int,
    ("settings", "requested"): Sequence[str],
    ("settings", "profile"): str,
    ("settings", "chat"): str,
    ("coverage", "languages"): Sequence[str],
    ("coverage", "social_suites"): Sequence[str],
    ("coverage", "capabilities"): Sequence[str],
    ("run", "created"): str,
    ("run", "interrupted"): bool,
    ("run", "notices"): Sequence[str],
    ("run", "shard"): Mapping[str, Any] | None,
    ("run", "environment"): Mapping[str, Any] | None,
    ("run", "cost"): Mapping[str, Any] | None,
}
"""Table and key to the type of the value, if there is one."""


def with_schema(text: str, schema: str, what: str) -> dict[str, Any]:
    """Return what a JSON text says that states a schema.

    Raises
    ------
    ReportError
        If it is none, or states another schema.
    """
    try:
        plain = finite_json(text)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"not a {what}: {error}") from None
    stated = plain.get("schema") if isinstance(plain, dict) else None
    if stated != schema:
        raise ReportError(f"schema {stated!r}: this version of pytest-bias reads {schema!r}.")
    return dict(plain)


def check_tables(plain: Mapping[str, Any], *, of_parts: bool) -> None:
    """Raise TypeError or ValueError if a table of report.json cannot be read as it is meant."""
    if not plain["tool"].get("version"):
        raise ValueError("it does not say which version of pytest-bias made it")
    for (table, key), hint in TYPES.items():
        found = plain.get(table, {})
        if key in found and not fits_of(hint)(found[key]):
            raise TypeError(f"{key} is {found[key]!r:.80}")
    entries = [f"{s['name']}[{s['config']}]" for s in plain["suites"]]
    if not of_parts and (twice := {e for e in entries if entries.count(e) > 1}):
        raise ValueError(f"it holds {min(twice)} more than once")
    # What no digest covers: text that is no text cannot be shown or written.
    for part in ("run", "digest"):
        json.dumps(plain.get(part), ensure_ascii=False).encode()
