"""The command `log`, as a whole."""

from pathlib import Path

import pytest

from commands import Command


@pytest.mark.filterwarnings("ignore")
def test_a_report_is_logged(bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bias("run", "demo", "--suite", "seat[en]", "--out", "report", "--offline").done(0)
    assert "Did you mean 'mlflow'" in bias("log", "report", "--to", "mlfow").err
    pytest.importorskip("tensorboard")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "runs"))
    said = bias("log", "report", "--to", "tensorboard", "--name", "mine").done(0).said
    assert f"numbers in TensorBoard: {tmp_path / 'runs' / 'mine'}" in said


def test_what_is_no_report_is_said(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = bias("log", "empty", "--to", "mlflow")
    assert ran.code in (2, 3)
    assert "no report at" in ran.err or "pip install 'pytest-bias[mlflow]'" in ran.err
