"""decision.json read back, by those who tell of a run that has ended."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_bias.errors import ReportError
from pytest_bias.records.validation import checked, finite_json
from pytest_bias.reports.limits import SCHEMA, Decision, Outcome
from pytest_bias.settings.waivers import OfWaiver


def read_decision(file: Path) -> Decision:
    """Read a decision.json.

    Raises
    ------
    ReportError
        If it cannot be read, or is none.
    """
    try:
        plain = finite_json(file.read_text(encoding="utf-8"))
        if (schema := plain.pop("schema")) != SCHEMA:
            raise ValueError(f"its schema is {schema!r:.80}, not {SCHEMA!r}")
        outcomes = tuple(_outcome(o) for o in plain.pop("outcomes"))
        lists = {n: tuple(plain.pop(n, ())) for n in ("problems", "missing", "without_value")}
        return checked(Decision(**{**plain, **lists, "outcomes": outcomes}))
    except (AttributeError, KeyError, OSError, TypeError, ValueError, RecursionError) as error:
        raise ReportError(f"{file} is no decision: {error}"[:300]) from None


def _outcome(plain: Mapping[str, Any]) -> Outcome:
    waiver = plain.get("waiver")
    found = {**_tuples(plain), "waiver": checked(OfWaiver(**waiver)) if waiver else None}
    return checked(Outcome(**found))


def _tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in plain.items()}
