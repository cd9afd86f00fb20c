"""The origin of a report: its model's place on the Hub, and the time of its run."""

import re
from datetime import datetime
from typing import Final

from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Report
from pytest_bias.reports.publication_layout import HUB

_ON_HUB: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
_COMMIT: Final = re.compile("[0-9a-f]{40}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)


def on_hub(model: ModelIdentity) -> str | None:
    """Return ``org/name`` of a checkpoint that was read from the Hub at a commit, or None.

    With an adapter the commit is that of the model below it, so there is no such name.
    """
    if model.asked or model.adapter or not _COMMIT.fullmatch(model.revision or ""):
        return None
    return model.reference if _ON_HUB.fullmatch(model.reference) else None


def page_on_hub(model: ModelIdentity) -> str | None:
    """Return the address of the measured commit on the Hub, or None."""
    name = on_hub(model)
    return f"{HUB}/{name}/tree/{model.revision}" if name else None


def created(report: Report) -> datetime | None:
    """Return the time of the run, which has a time zone; None if the report has no valid one."""
    text = str(report.run.get("created", ""))
    if not _TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
