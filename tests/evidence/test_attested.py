"""Signed verdicts on limits, as `verify` checks them; and what it states of its own checks."""

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from own_sigstore import Sigstore
from publications import ENTRY, SUITE, Repository
from pytest_bias.emit.exports import intoto
from pytest_bias.evidence.attested import bundle_of, verification_result
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.verification import Trust, verify_report
from pytest_bias.models.snapshot import file_sha256
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import Decision
from pytest_bias.reports.folder import DECISION, REPORT, read_plain_report
from pytest_bias.reports.limits import decide, read_limits
from pytest_bias.settings.settings import Settings
from statements import valid

LIMIT = f"{SUITE}.association"
Edit = Callable[[dict[str, Any]], object]


def decided(report: Report, distance: float = 5) -> Decision:
    return decide(report, read_limits({LIMIT: {"max_distance": distance}}))


def statement_on(folder: Path) -> dict[str, Any]:
    """Return the statement on limits that a workflow signs for a folder."""
    report = read_plain_report(folder / REPORT)
    return intoto.of_limits(report, decided(report), file_sha256(folder / REPORT))


def sign(at: Repository, /, change: Edit = lambda s: None, **more: Any) -> Path:
    """Sign verdicts beside the report that counts, as the workflow of its owner does."""
    folder = at.folder
    content = statement_on(folder)
    change(content)
    given = {"owner": "org-a", "repository": "org-a/runs"} | more
    path = bundle_of(folder)
    path.write_bytes(at.sigstore.sign(b"", statement=content, **given))
    return path


def outcome(repository: Repository) -> Check:
    """Return the check of the verdicts, as `verify` makes it."""
    folder, trust = repository.folder, repository.trust
    authors = trust.of(folder / REPORT).signers
    (found,) = trust.verdicts(folder, repository.report, authors)
    return found


# Verdicts


def test_verdicts_that_our_workflow_signed_hold(repository: Repository) -> None:
    assert "test result" not in repository.outcomes()
    path = sign(repository)
    assert path.name == "test-result.intoto.json.sigstore.json"
    assert outcome(repository) == Check(
        "test result", "holds", "PASSED: limits 1 held; signed by our workflow"
    )
    assert repository.outcomes()["test result"] == "holds"
    assert repository.failing() == {}


def test_a_report_outside_of_a_repository_is_checked_too(repository: Repository) -> None:
    sign(repository)
    found = verify_report(repository.folder, Settings(), repository.trust, is_run=False)
    assert {c.what: c.outcome for c in found}["test result"] == "holds"
    assert {c.what: c.outcome for c in found}["signature"] == "holds"


ZEROS = {"sha256": "0" * 64}
OTHER_WEIGHTS, OTHER_REPORT = (
    "it is about other files of weights",
    "it is about another report.json",
)
NO_LIMIT = "which is no limit on a suite of the report"


def predicate(**values: Any) -> Edit:
    """Return an edit of the predicate."""
    return lambda s: s["predicate"].update(values)


def more_weights(content: dict[str, Any]) -> None:
    content["subject"].append(content["subject"][0] | {"name": "more"})


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (OTHER_WEIGHTS, lambda s: s["subject"][0].update(digest=ZEROS)),
        (OTHER_WEIGHTS, more_weights),
        (OTHER_REPORT, predicate(configuration=[{"name": REPORT, "digest": ZEROS}])),
        (OTHER_REPORT, predicate(configuration=[])),
        ("it says 'FAILED', its verdicts give PASSED", predicate(result="FAILED")),
        ("it gives one limit several verdicts", predicate(warnedTests=[LIMIT])),
        ("it states something else", lambda s: s.update(predicateType="https://example.org/x")),
        (NO_LIMIT, predicate(passedTests=["honest.honest_5"])),
        (NO_LIMIT, predicate(passedTests=["all is well"])),
        ("it is malformed", predicate(passedTests=[])),
        ("it is malformed", predicate(passedTests=7)),
        ("it is malformed", lambda s: s.update(subject=[{}])),
        ("it is malformed", lambda s: s.update(predicate=None)),
    ],
)
def test_signed_verdicts_that_do_not_fit_the_report_fail(
    repository: Repository, words: str, change: Edit
) -> None:
    sign(repository, change)
    found = outcome(repository)
    assert found.outcome == "fails"
    assert words in found.detail


def test_a_verdict_on_a_configuration_and_on_several_rules_is_known_by_its_suite(
    repository: Repository,
) -> None:
    names = [f"{ENTRY}.association", f"{LIMIT} (max_regression, {ENTRY})", f"{LIMIT}[axis=gender]"]
    sign(repository, lambda s: s["predicate"].update(passedTests=names))
    assert outcome(repository).detail == "PASSED: limits 3 held; signed by our workflow"
    sign(repository, lambda s: s["predicate"].update(passedTests=[f"{SUITE}[de].association"]))
    assert outcome(repository).outcome == "fails"


def test_a_verdict_that_was_changed_after_signing_fails(repository: Repository) -> None:
    path = sign(repository)
    bundle = json.loads(path.read_bytes())
    content = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
    content["predicate"].update(result="WARNED", passedTests=[], warnedTests=[LIMIT])
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(json.dumps(content).encode()).decode()
    path.write_text(json.dumps(bundle), encoding="utf-8")
    assert outcome(repository).outcome == "fails"
    assert "The signature does not hold" in outcome(repository).detail


THEIR_WORKFLOW = "org-a/model/.github/workflows/x.yml"


@pytest.mark.parametrize(
    ("words", "who"),
    [
        (
            "signed in org-c/runs, the report is signed by org-a",
            {"owner": "org-c", "repository": "org-c/runs"},
        ),
        (
            f"{THEIR_WORKFLOW}@refs/tags/v1, which is no workflow of pytest-bias",
            {"workflow": THEIR_WORKFLOW},
        ),
        ("which is no workflow of pytest-bias", {"workflow_ref": "0" * 40}),
        ("ada@example.org, which is no workflow of pytest-bias", {"email": "ada@example.org"}),
    ],
)
def test_signed_by_another_identity_fails(
    repository: Repository, words: str, who: dict[str, Any]
) -> None:
    sign(repository, **who)
    found = outcome(repository)
    assert found.outcome == "fails"
    assert words in found.detail


def test_a_signature_of_a_file_is_no_statement(repository: Repository) -> None:
    path = bundle_of(repository.folder)
    path.write_bytes(repository.sigstore.sign(b"x", form="message"))
    assert outcome(repository).detail == "The signature is of a file, and not of a statement."


def test_signed_by_a_sigstore_that_is_not_trusted_fails(
    repository: Repository, tmp_path: Path
) -> None:
    content = statement_on(repository.folder)
    other = Sigstore(tmp_path / "other")
    bundle_of(repository.folder).write_bytes(other.sign(b"", statement=content))
    assert outcome(repository).outcome == "fails"
    assert "an authority that is not trusted" in outcome(repository).detail


def test_where_the_decision_is_beside_it_verdicts_are_those_of_the_decision(
    repository: Repository,
) -> None:
    sign(repository)
    folder = repository.folder
    report = read_plain_report(folder / REPORT)
    (folder / DECISION).write_text(decided(report).to_json(), encoding="utf-8")
    assert outcome(repository).outcome == "holds"
    (folder / DECISION).write_text(decided(report, distance=0).to_json(), encoding="utf-8")
    assert outcome(repository).outcome == "fails"
    assert outcome(repository).detail == "it does not say what the decision.json beside it says"


def test_publishing_keeps_the_signed_verdicts(
    repository: Repository, sigstore: Sigstore, tmp_path: Path
) -> None:
    path = sign(repository)
    source = tmp_path / "source"
    repository.folder.rename(source)
    repository.publish(source)
    assert path.read_bytes() == (source / path.name).read_bytes()
    assert outcome(repository).outcome == "holds"


def test_without_the_package_it_is_unknown(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign(repository)
    folder = repository.folder
    monkeypatch.setitem(sys.modules, "sigstore.verify", None)
    found = verify_report(folder, Settings(), Trust(offline=True), is_run=False)
    (check,) = [c for c in found if c.what == "test result"]
    assert check.outcome == "unknown"
    assert "pip install 'pytest-bias[signatures]'" in check.detail


# What verify states


def test_the_result_of_a_verification_has_the_checks_that_hold_and_no_other() -> None:
    checks = [
        Check("report", "holds", "digest sha256:12"),
        Check("records", "holds", "5 records", "seat[en]"),
        Check("data", "unknown", "not at hand", "seat[en]"),
        Check("records", "holds", "", "honest[en]"),
        Check("records", "unknown", "", "honest[en]"),
        Check("signature", "unverified", "nobody signed it"),
    ]
    found = valid(verification_result("a" * 64, checks))
    assert found["subject"] == [{"name": "report.json", "digest": {"sha256": "a" * 64}}]
    assert found["predicateType"] == "https://in-toto.io/attestation/svr/v0.2"
    of = found["predicate"]
    assert of["properties"] == ["pytest-bias: report", "pytest-bias: seat[en] records"]
    assert of["verifier"]["id"].startswith("https://github.com/pytest-bias/pytest-bias/verify@")
    assert of["verifier"]["policies"] == []
