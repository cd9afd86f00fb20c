"""Statements for attestations, from the command: verdicts on limits, and what `verify` found."""

import hashlib
from pathlib import Path

from commands import Command, Ran
from statements import valid

LIMITS = "limits: {template_association.association: {max_distance: 5}}\n"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_verdicts_on_limits_as_a_statement(demo: Ran, bias: Command, tmp_path: Path) -> None:
    render = ("render", demo.at, "--to", "intoto", "--out", "statement")
    bias(*render).refused(2, "the run sets no limits", "pytest-bias merge REPORT decides")
    settings = tmp_path / "pytest-bias.yaml"
    settings.write_text("limits: {honest.honest_5: {max_distance: 5}}", encoding="utf-8")
    bias("merge", demo.at, "--out", "open").done(3)
    bias("render", "open", *render[2:]).refused(3, "honest.honest_5: its texts are outside")
    assert not (tmp_path / "statement").exists()
    settings.write_text(LIMITS, encoding="utf-8")
    bias("merge", demo.at, "--out", "decided").done()
    bias("render", "decided", *render[2:]).done()
    found = valid((tmp_path / "statement" / "test-result.intoto.json").read_text("utf-8"))
    weights = demo.report["model"]["weights_sha256"]
    assert found["subject"] == [{"name": "model.safetensors", "digest": {"sha256": weights}}]
    assert found["predicate"] == {
        "result": "PASSED",
        "configuration": [
            {"name": "pytest-bias.yaml", "digest": {"sha256": digest(settings)}},
            {
                "name": "report.json",
                "digest": {"sha256": digest(tmp_path / "decided" / "report.json")},
            },
        ],
        "passedTests": ["template_association.association"],
        "warnedTests": [],
        "failedTests": [],
    }


def test_what_verify_found_is_stated_only_if_nothing_fails(
    demo: Ran, bias: Command, tmp_path: Path
) -> None:
    bias("verify", demo.at, "--svr", "svr.json").done()
    found = valid((tmp_path / "svr.json").read_text("utf-8"))
    file = {"name": "report.json", "digest": {"sha256": digest(demo.at / "report.json")}}
    assert found["subject"] == [file]
    properties = found["predicate"]["properties"]
    assert "pytest-bias: template_association[en] scores" in properties
    text = (demo.at / "report.json").read_text(encoding="utf-8")
    (tmp_path / "report.json").write_text(text.replace('"seed": 0', '"seed": 1'), "utf-8")
    ran = bias("verify", "report.json", "--svr", "other.json").done(1)
    assert "Nothing is written to other.json, since a check fails." in ran.said
    assert not (tmp_path / "other.json").exists()
    ran = bias("verify", "report.json", "--svr", "svr.json").done(1)
    assert "What is there is of an earlier check." in ran.said
    bias("verify", demo.at, "--svr", "no/such/svr.json").refused(2, "svr.json cannot be written")


def test_a_key_that_is_not_there_is_refused(demo: Ran, bias: Command) -> None:
    bias("verify", demo.at, "--model-key", "none.pub").refused(
        2, "--model-key none.pub: there is no such file", "model_signing verify key"
    )
