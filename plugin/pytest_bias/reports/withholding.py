"""A report without its scores: a statement that the tests were run, with a sealed digest of them.

The digest of a withheld report is ``sha256:`` and the SHA-256 of salt and full report: the 32 bytes
of the salt, followed by the digest of the full report as its report.json states it (``sha256:`` and
64 hexadecimal digits, in ASCII). In a shell::

    (xxd -r -p withheld-salt.txt; printf %s sha256:...) | sha256sum

Without the salt, candidate scores cannot be tested against the digest; with the salt and the full
report, anybody can check what was measured.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_bias.errors import OutputError
from pytest_bias.records.documents import write_whole
from pytest_bias.records.report import Report, SuiteResult, Withheld
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.folder import existing_report
from pytest_bias.reports.publication_layout import unread
from pytest_bias.suites.salts import SALT_BYTES, is_salt, new_salt, salted

NOT_PUBLISHED: Final = "scores not published"
SALT: Final = "withheld-salt.txt"

KEPT: Final = (
    *("name", "config", "version", "kind", "title", "language", "reason", "measure", "adapted"),
    *("draft", "validity", "clusters", "control_of", "scorer", "labels"),
    *("sampled", "n_available", "data"),
)
"""Fields of a suite that are kept without its scores; fields added later are not."""

UNMEASURED: Final = ("not_measured", "no_baseline")
"""Verdicts whose reason says why there is no number, and so discloses none."""


def withheld(report: Report, salt: str) -> Report:
    """Return a report of the same run without scores and records.

    Parameters
    ----------
    report : Report
        The full report.
    salt : str
        32 bytes as 64 hexadecimal digits; the module's docstring defines the digest.
    """
    sealed = salted(salt, report.digest)
    measured = [s for s in report.suites if s.status == "scored"]
    finite = all(s.headline is not None and s.headline.value is not None for s in measured)
    # Suites in a language that the model does not read earn no badge, withheld or not.
    finite = finite and not unread(report)
    return Report(
        tool=report.tool,
        model=report.model,
        settings=report.settings,
        suites=tuple(map(_emptied, report.suites)),
        coverage=report.coverage,
        run=report.run,
        withheld=Withheld(f"sha256:{sealed}", finite),
        schema=report.schema,
    )


def _emptied(suite: SuiteResult) -> SuiteResult:
    kept = {name: getattr(suite, name) for name in KEPT}
    return SuiteResult(**kept, status="withheld" if suite.status == "scored" else suite.status)


def without_numbers(decision: Decision, report: Report) -> Decision:
    """Return a decision as it may be written beside a withheld report: verdicts only.

    The digest of the baseline is dropped too: without salt, it would confirm a guess at its scores.
    """
    outcomes = tuple(map(verdict_alone, decision.outcomes))
    baseline = decision.baseline and {**decision.baseline, "digest": None}
    return replace(decision, outcomes=outcomes, report=report.digest, baseline=baseline)


def verdict_alone(outcome: Outcome) -> Outcome:
    """Return the outcome of a limit without the numbers that it is based on."""
    return Outcome(
        limit=outcome.limit,
        rule=outcome.rule,
        verdict=outcome.verdict,
        entry=outcome.entry,
        reason=outcome.reason if outcome.verdict in UNMEASURED else NOT_PUBLISHED,
        fails=outcome.fails,
        waiver=outcome.waiver,
    )


def read_salt(folder: Path) -> str | None:
    """Return the salt that is kept in a folder, or None.

    Raises
    ------
    OutputError
        If the file holds something else.
    """
    path = folder / SALT
    if not path.exists():
        return None
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not is_salt(text):
        raise OutputError(
            f"{path} holds no salt: {2 * SALT_BYTES} hexadecimal digits.",
            "Without the file a run makes a new salt, and its digest is another one.",
        )
    return text


def salt_for(report: Report, folder: Path) -> str:
    """Return the salt of a run: that of the same run before, else a new one, which is kept.

    The salt of another run is not reused, so that a disclosed salt reveals nothing about others.
    """
    before = existing_report(folder)
    kept = read_salt(folder)
    if kept and (before is None or before.run.get("key") == report.run.get("key")):
        return kept
    salt = new_salt()
    try:
        write_whole(folder / SALT, f"{salt}\n", private=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}.") from None
    return salt
