"""decision.json is read back as it was written, or refused."""

from pathlib import Path

import pytest

from pytest_bias.errors import ReportError
from pytest_bias.reports.decision import Decision, Outcome, read_decision


def test_a_decision_is_read_as_it_was_written(tmp_path: Path):
    decision = Decision(
        *("exceeded", 1),
        (Outcome("a.b", "max_distance", "exceeded", "a[en]", 6.0, (5.0, 7.0), 0.95, (None, 4.0)),),
        *(("a problem",), "sha256:0", {"reference": "org/name", "digest": None}),
    )
    file = tmp_path / "decision.json"
    file.write_text(decision.to_json(), encoding="utf-8")
    assert read_decision(file) == decision


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"exceeded"', '"passed"'),
        ("decision/1", "decision/9"),
        ('"exit_code": 1', '"exit_code": "1"'),
        ('"outcomes"', '"others"'),
        ("{", "["),
    ],
)
def test_what_is_no_decision_is_refused(tmp_path: Path, old, new):
    text = Decision("exceeded", 1, (), (), "sha256:0").to_json()
    file = tmp_path / "decision.json"
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ReportError, match="is no decision"):
        read_decision(file)


def test_where_there_is_none(tmp_path: Path):
    with pytest.raises(ReportError, match="is no decision"):
        read_decision(tmp_path / "decision.json")
