"""Checks of signed statements, on limits and on a model's files; and checks as a statement."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pytest_bias.emit.exports import intoto
from pytest_bias.errors import BiasError, ReportError
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.signatures import Signer, Statement, by_our_workflow
from pytest_bias.evidence.signatures.model_signing import SignedFiles
from pytest_bias.models.snapshot import MODEL_SIGNATURE, file_sha256, of_all_parts
from pytest_bias.records.documents import to_document
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import decision_beside
from pytest_bias.reports.folder import DECISION, REPORT
from pytest_bias.reports.limit_names import suite_named
from pytest_bias.reports.measured_files import measured_files, weights
from pytest_bias.reports.publication_layout import SIGNATURE, TEST_RESULT

SVR: Final = "https://in-toto.io/attestation/svr/v0.2"
VERIFIER: Final = "https://github.com/pytest-bias/pytest-bias/verify"
SCOPE: Final = "pytest-bias: "
"""What the names of properties begin with, since other verifiers have properties too."""

NAME: Final = "test result"
OF_FILES: Final = "signature of the model"

_WHICH: Final = re.compile(r" \((max_distance|max_regression), [^()]*\)")
"""What follows the name of a limit that has several verdicts."""


def bundle_of(folder: Path) -> Path:
    """Return the path of the signed verdicts beside a report."""
    return folder / f"{TEST_RESULT}{SIGNATURE}"


def verdicts_check(
    found: Statement, folder: Path, report: Report, authors: Sequence[Signer]
) -> Check:
    """Check signed verdicts on limits: who signed, and that they are about this report and model.

    Their limits are the publisher's and are not published, so whether a verdict follows from them
    is checked only where decision.json is beside the report.

    Parameters
    ----------
    found : Statement
        What was signed.
    folder : Path
        Folder of the report.
    authors : sequence of Signer
        Who signed the report.
    """
    if found.outcome != "holds" or found.signer is None:
        return Check(NAME, found.outcome, found.detail)
    if wrong := _foreign(found.signer, authors) or _wrong(found.content, folder, report):
        return Check(NAME, "fails", wrong)
    predicate = found.content["predicate"]
    counts = {
        words: n
        for name, words in (
            ("passedTests", "held"),
            ("warnedTests", "warned of"),
            ("failedTests", "exceeded"),
        )
        if (n := len(predicate.get(name, ())))
    }
    told = ", ".join(f"{n} {words}" for words, n in counts.items())
    return Check(NAME, "holds", f"{predicate['result']}: limits {told}; signed by our workflow")


def _foreign(signer: Signer, authors: Sequence[Signer]) -> str:
    """Return why a signer's verdicts do not count; empty if they do."""
    if not by_our_workflow(signer):
        return f"signed by {signer.identity}, which is no workflow of pytest-bias"
    if authors and signer.repository.lower() not in {a.repository.lower() for a in authors}:
        return f"signed in {signer.repository}, the report is signed by {authors[0]}"
    return ""


def _wrong(content: Mapping[str, Any], folder: Path, report: Report) -> str:
    """Return what in a statement does not fit a report; empty if all of it does."""
    try:
        return _wrong_in(content, folder, report)
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as error:
        return f"it is malformed: {error!r:.200}"
    except BiasError as error:
        return error.message


def _wrong_in(content: Mapping[str, Any], folder: Path, report: Report) -> str:
    if content["predicateType"] != intoto.TEST_RESULT:
        return f"it states something else: {content['predicateType']!a:.100}"
    digest, predicate = file_sha256(folder / REPORT), content["predicate"]
    if digest not in [
        f["digest"]["sha256"] for f in predicate["configuration"] if f["name"] == REPORT
    ]:
        return f"it is about another {REPORT}"
    if (has := weights(report)) != {s["name"]: s["digest"]["sha256"] for s in content["subject"]}:
        return (
            "it is about other files of weights" if has else "the report names no files of weights"
        )
    lists = {name: list(predicate.get(name, [])) for name in intoto.RESULTS}
    names = [name for tests in lists.values() for name in tests]
    if len(set(names)) != len(names) or not all(isinstance(n, str) for n in names):
        return "it gives one limit several verdicts"
    if predicate["result"] != intoto.result_of(lists):
        return f"it says {predicate['result']!a:.40}, its verdicts give {intoto.result_of(lists)}"
    entries = [(s.name, s.config) for s in report.suites]
    for name in names:
        at = suite_named(_WHICH.sub("", name))
        if at is None or not any(
            at in ((suite, config), (suite, None)) for suite, config in entries
        ):
            return f"it has a verdict on {name!a:.100}, which is no limit on a suite of the report"
    decision = decision_beside(folder, report)
    if decision and intoto.of_limits(report, decision, digest) != content:
        return f"it does not say what the {DECISION} beside it says"
    return ""


def signed_model_check(report: Report, source: str, found: SignedFiles) -> Iterator[Check]:
    """Check that the files that were measured are those that the model's signature lists.

    Parameters
    ----------
    source : str
        Whose signature it is: ``model`` or ``adapter``.
    found : SignedFiles
        The signature, checked.
    """
    try:
        files = measured_files(report).get(source)
    except ReportError as error:
        yield Check(OF_FILES, "fails", error.message)
        return
    if files is None:
        told = f"{MODEL_SIGNATURE} is there, and the report does not name the files it is of"
        yield Check(OF_FILES, "unknown", told)
        return
    checked = found.covering(of_all_parts(files))
    yield Check(OF_FILES, checked.outcome, checked.detail)


def verification_result(report_sha256: str, checks: Sequence[Check]) -> str:
    """Return the checks of a report that hold, by name, as a simple verification result (svr v0.2).

    Checks that could not be made, and claims that nobody signed, are not in it. It is for checks of
    which none fails.
    """
    names = {f"{c.about} {c.what}".strip(): True for c in checks}
    for check in checks:
        # One that holds in part is not in it either.
        names[f"{check.about} {check.what}".strip()] &= check.outcome == "holds"
    predicate = {
        "verifier": {"id": f"{VERIFIER}@{tool_version()}", "policies": []},
        "timeCreated": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "properties": [f"{SCOPE}{name}" for name, holds in names.items() if holds],
    }
    return to_document(intoto.statement({REPORT: report_sha256}, SVR, predicate))
