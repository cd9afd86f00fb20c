"""Check, without measuring, whether a command would produce the same report again.

Run as ``python -m pytest_bias.ci.steps.unchanged WORDS REPORT ANSWER``, in a process without a
token of the service, since describing a model may run its code. The arguments are those of the
command as JSON, the folder of the report, and the file that the answer is written to.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_bias.data.sources import pinned
from pytest_bias.engine.planning import described_for, plan
from pytest_bias.engine.preparation import missing_consent
from pytest_bias.engine.session import Session
from pytest_bias.errors import BiasError
from pytest_bias.models.fingerprint import differences, fingerprint
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import Report
from pytest_bias.records.suite_states import FAILED
from pytest_bias.reports.folder import read_report, run_key
from pytest_bias.scoring import statistics
from pytest_bias.settings.parameters import settings_of_run
from pytest_bias.settings.settings import Settings, require_data_dir, require_model
from pytest_bias.untrusted import clean


def why_again(report: Report, settings: Settings) -> str | None:
    """Return why settings would give a different report; None if they would give the same one.

    The key of the run is compared, that is, everything that the scores depend on. The commit of the
    model may differ, since the key does not contain the card. It does not contain limits either:
    they are decided on again.

    Raises
    ------
    BiasError
        If the model, or the user's own data, cannot be inspected.
    """
    require_data_dir(settings)
    tool = {"version": tool_version(), "statistics_version": statistics.VERSION}
    if any(report.tool.get(name) != said for name, said in tool.items()):
        return "it is of another version of pytest-bias"
    if report.run.get("interrupted") or any(s.status in FAILED for s in report.suites):
        return "not everything could be measured in it"
    if report.withheld and (settings.limits or not settings.withhold_scores):
        return "its scores are withheld"
    described = described_for(settings, require_model(settings))
    if found := differences(report.model, fingerprint(described.ref, offline=settings.offline)):
        return f"the model has another {' and another '.join(found)}"
    session = Session(plan(described, settings))
    depends = session.depends_on(known=_pinned(session, report))
    # A shard is checked against the whole run.
    depends = {k: v for k, v in depends.items() if k != "shard"}
    if run_key({**depends, "revision": report.model.revision}) != report.run.get("key"):
        return "suites, data or settings are others"
    return None


def _pinned(session: Session, report: Report) -> dict[str, str]:
    """Return the digests of public data by entry; they are known without fetching."""
    there = {s.entry: s.data for s in report.suites if s.data}
    found = {}
    for planned in session.plan.entries:
        entry, data = planned.entry, there.get(planned.entry.id)
        files, folder = entry.configuration.files, session.data
        if data is None or not files or planned.measure is None or planned.lacks:
            continue
        if folder.folder is None and missing_consent(entry, folder) is None:
            digest = pinned(files, data.source)
            if digest is not None and digest == data.sha256:
                found[entry.id] = digest
    return found


def main(words: Sequence[str]) -> int:
    """Write the reason, or the error, to a file; returns 0."""
    command, folder, file = words
    answer: dict[str, str | int | None]
    try:
        settings = settings_of_run(json.loads(command)[1:])
        answer = {"why": why_again(read_report(Path(folder)), settings)}
    except BiasError as error:
        answer = {"error": clean(str(error), 2000), "exit_code": error.exit_code}
    except Exception as error:
        if os.environ.get("PYTEST_BIAS_DEBUG"):
            raise
        answer = {"error": f"unexpected {type(error).__name__}: {error}"}
    Path(file).write_text(json.dumps(answer), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
