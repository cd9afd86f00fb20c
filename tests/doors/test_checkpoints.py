"""`pytest-bias compare` over several checkpoints, as a whole command."""

from pathlib import Path

import pytest

from commands import Command, finish, start

pytestmark = pytest.mark.all_draws

STEPS = {
    "step0": ("demo-neutral", "--suite", "template_association"),
    "step1": ("demo", "--suite", "seat[en]"),
    "step2": ("demo", "--suite", "template_association"),
}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the reports of three checkpoints; the middle one has another suite."""
    folder = tmp_path_factory.mktemp("steps")
    runs = [start("run", *words, "--out", name, folder=folder) for name, words in STEPS.items()]
    for process in runs:
        finish(process, folder).done(0)
    return folder


@pytest.mark.nightly
def test_a_table_over_all_stands_below_the_last_change(
    steps: Path, bias: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = bias("compare", "step2", "step2/report.json", "step1", "step0", folder=steps)
    assert ran.code == 0, ran.said
    last, _, over = ran.said.partition("Over these checkpoints, the oldest first")
    assert "Since the earlier report" in last
    assert "no item changed" in last
    assert over.startswith(" 1 demo-neutral 2 demo (weights")
    # What the oldest, the middle and the newest two measured, and the whole change.
    assert "Template association en, nats 0.00 – 0.19 0.19 +0.19 worse" in over
    assert "gender ° -0.01 – 1.31 1.31 +1.32 worse" in over
    assert "exploratory: a group that was looked at" in over
    assert "the values of 830 items correlate with those of the oldest checkpoint" in over
    assert "template_association[en] of 2 cannot be compared with 4" in over
    assert over.endswith("This compares these checkpoints, not ways to train.")
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.nightly
def test_one_baseline_needs_no_table(steps: Path, bias: Command) -> None:
    ran = bias("compare", "step2", "step0", folder=steps)
    assert ran.code == 0
    assert "Over these checkpoints" not in ran.out


@pytest.mark.nightly
def test_nothing_to_compare_is_said_by_the_exit_code(steps: Path, bias: Command) -> None:
    assert bias("compare", "step2", "step1", folder=steps).code == 3
    assert bias("compare", "step2", "step1", "step1", folder=steps).code == 3
    # The last version cannot be compared, an older one can.
    assert bias("compare", "step2", "step1", "step0", folder=steps).code == 0
    assert bias("compare", "step2", "step0", "step1", folder=steps).code == 0


@pytest.mark.nightly
def test_what_is_no_report(steps: Path, bias: Command, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text('{"schema": "pytest-bias/rep')
    bias("compare", steps / "step2", steps / "step0", tmp_path).refused(3, "not a report")
    bias("compare", steps / "step2", "base").refused(3, "no report at base")
    bias("compare", steps / "step2").refused(2, "BASELINE")


def test_the_order_is_told(bias: Command) -> None:
    assert "compare step3000 step2000 step1000 step0" in bias("compare", "--help").said
