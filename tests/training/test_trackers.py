"""Reports in experiment trackers, read back with the real packages where they are installed."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import tiny_training
from pytest_bias import measure
from pytest_bias.errors import PublishError, ReportError, UnknownName, UsageError
from pytest_bias.records.report import DataInfo, Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.folder import write_report
from pytest_bias.training import BiasCallback, trackers
from pytest_bias.training.numbers import MOST, numbers, plain
from pytest_bias.training.trackers import log_command, run_of

pytestmark = pytest.mark.filterwarnings("ignore")
"""Trackers warn of much; what they store is what is tested."""

ENTRY = "bias/seat/en/mean_absolute_effect"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return measure("demo", suites=["seat[en]"], offline=True)


@pytest.fixture
def folder(report: Report, tmp_path: Path) -> Path:
    write_report(report, {}, tmp_path / "report")
    return tmp_path / "report"


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder bias-steps of a training of three steps."""
    folder = tmp_path_factory.mktemp("training")
    suite = tiny_training.suite_file(folder / "suite")
    callback = BiasCallback([str(suite)], offline=True, name="a/b in training")
    tiny_training.trainer(folder, [callback], max_steps=4, eval_steps=2).train()
    return folder / "out" / "bias-steps"


@pytest.fixture
def say() -> Callable[..., str]:
    """Return a function that logs and returns what was printed."""

    def run(path: Path, to: str, name: str | None = None) -> str:
        console = Console(record=True, width=400, file=io.StringIO())
        log_command(path, to, name, console)
        return console.export_text()

    return run


def score(metric: str, **more: Any) -> Score:
    given: dict[str, Any] = {"value": 60.0, "ideal": 50.0, "bounds": (0.0, 100.0), "unit": "%"}
    return Score(metric, **{**given, "tolerance": 5.0, "headline": True, **more})


def made(report: Report, *scores: Score, **more: Any) -> Report:
    given: dict[str, Any] = {"name": "own", "config": "en", "version": "1", "status": "scored"}
    suite = SuiteResult(**{**given, "kind": "intrinsic", "scores": scores, **more})
    return replace(report, suites=(suite,))


def test_a_score_has_its_interval_and_its_distance(report: Report) -> None:
    found = numbers(made(report, score("preference", value=40.0, interval=(30.0, 50.5))))
    name = "bias/own/en/preference"
    assert found == {
        name: 40.0,
        f"{name}_low": 30.0,
        f"{name}_high": 50.5,
        f"{name}_distance": 10.0,
    }


def test_what_may_not_leave_is_left_out(report: Report) -> None:
    none, group = score("preference", value=None), score("preference", by={"sex": "female"})
    assert numbers(made(report, none, group)) == {}
    hidden = DataInfo("own", "none", visibility="hidden")
    assert numbers(made(report, score("preference"), data=hidden)) == {}
    assert numbers(made(report, score("preference"), status="withheld")) == {}
    beside = score("other", headline=False)
    both = made(report, score("preference"), beside)
    assert "bias/own/en/other" in numbers(both)
    assert "bias/own/en/other" not in numbers(both, headlines=True)


def test_names_are_those_that_all_trackers_allow() -> None:
    assert plain("stereotype_preference") == "stereotype_preference"
    strange = ["a b", "a+b", "é", "..", "", "a" * 1000, "a" * 1001, "a/b", "\x1b[1m", "=1+1", "a."]
    found = [plain(text) for text in strange]
    assert len({*found, *strange}) == 2 * len(strange)
    for name in found:
        assert len(name) <= MOST
        assert set(name) <= {*"abcdefghijklmnopqrstuvwxyz0123456789_-"}
        assert name != ".."


def test_a_run_is_named_and_drawn(folder: Path, report: Report) -> None:
    with run_of(folder) as run:
        assert run.name == "demo"
        assert list(run.steps) == [None]
        assert run.tags["bias.digest"] == report.digest
        assert run.facts["model.reference"] == "demo"
        assert run.facts["settings.seed"] == "0"
        assert {file.name for file in run.files} >= {"report.html", "card.md"}
        assert "SEAT" in run.files[0].read_text(encoding="utf-8")
    with run_of(folder / "report.json", "\x1b[2Jmine") as run:
        assert run.name == clean_of("\x1b[2Jmine")


def clean_of(text: str) -> str:
    from pytest_bias.untrusted import clean

    return clean(text)


def test_page_and_card_stay_here_if_items_are_hidden(report: Report, tmp_path: Path) -> None:
    hidden = DataInfo("own", "none", visibility="hidden")
    write_report(made(report, score("preference"), data=hidden), {}, tmp_path)
    with run_of(tmp_path) as run:
        assert (run.files, run.steps) == ((), {None: {}})


def test_steps_of_a_training_are_one_run(steps: Path) -> None:
    with run_of(steps) as run:
        assert list(run.steps) == [0, 2, 4]
        assert run.name == "out"
        assert run.facts["model.reference"] == "a/b in training, step 4"
        for values in run.steps.values():
            assert "bias/planted/en/preference_low" in values


def test_what_cannot_be_logged_is_said(
    folder: Path, tmp_path: Path, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'wandb'"):
        say(folder, "wandv")
    absent = replace(trackers.TRACKERS["mlflow"], package="no_such_package")
    monkeypatch.setattr(trackers, "TRACKERS", {"mlflow": absent})
    with pytest.raises(UsageError, match=r"pip install 'pytest-bias\[mlflow\]'"):
        say(folder, "mlflow")
    with pytest.raises(ReportError, match="no report"), run_of(tmp_path):
        pass
    plain_report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    plain_report["run"]["interrupted"] = True
    (folder / "report.json").write_text(json.dumps(plain_report), encoding="utf-8")
    with pytest.raises(ReportError, match="interrupted"), run_of(folder):
        pass


def tensorboard(folder: Path) -> dict[str, dict[int, float]]:
    """Return every scalar in the event files of a folder: name to step to value."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    found.Reload()
    names = found.Tags()["scalars"]
    return {name: {e.step: e.value for e in found.Scalars(name)} for name in names}


def test_tensorboard_has_what_the_trainer_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
    suite = tiny_training.suite_file(tmp_path / "suite")
    callback = BiasCallback([str(suite)], offline=True)
    how = {"max_steps": 4, "eval_steps": 2, "logging_steps": 1, "report_to": "tensorboard"}
    found = tiny_training.trainer(tmp_path, [callback], **how)
    found.train()
    there = tensorboard(tmp_path / "events")
    for end in ("", "_low", "_high", "_distance"):
        logged = {
            row["step"]: row[tiny_training.NAME + end]
            for row in found.state.log_history
            if tiny_training.NAME in row
        }
        assert list(logged) == [0, 2, 4]
        assert there[f"eval/bias/planted/en/preference{end}"] == pytest.approx(logged, rel=1e-6)
    assert [*there["train/loss"]] == [1, 2, 3, 4]
    assert [*there["eval/loss"]] == [2, 4]


def test_tensorboard_has_a_finished_report(
    steps: Path, tmp_path: Path, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "runs"))
    said = say(steps, "tensorboard", "../my run")
    assert "numbers of 3 steps in TensorBoard" in said
    (made_there,) = (tmp_path / "runs").iterdir()
    assert made_there.name == "my-run"
    there = tensorboard(made_there)
    with run_of(steps) as run:
        for step, values in run.steps.items():
            assert values == pytest.approx({n: there[n][step or 0] for n in values}, rel=1e-6)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a client of MLflow whose store is a folder."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield mlflow.MlflowClient()
    mlflow.set_tracking_uri(before)


def test_mlflow_has_a_finished_report(
    folder: Path, report: Report, store: Any, say: Callable[..., str]
) -> None:
    assert "in MLflow: run " in say(folder, "mlflow", "mine")
    (run,) = store.search_runs(["0"])
    assert run.info.run_name == "mine"
    assert run.data.metrics == numbers(report)
    assert run.data.metrics[f"{ENTRY}_low"] <= run.data.metrics[ENTRY]
    assert run.data.params["model.weights_sha256"] == report.model.weights_sha256
    assert run.data.tags["bias.digest"] == report.digest
    names = {file.path for file in store.list_artifacts(run.info.run_id)}
    assert names >= {"report.html", "card.md"}


def test_mlflow_has_the_steps_of_a_training(
    steps: Path, store: Any, say: Callable[..., str]
) -> None:
    say(steps, "mlflow")
    (run,) = store.search_runs(["0"])
    history = store.get_metric_history(run.info.run_id, "bias/planted/en/preference")
    assert sorted(m.step for m in history) == [0, 2, 4]


def test_what_a_tracker_refuses_is_said(
    folder: Path, store: Any, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", "424242")
    with pytest.raises(PublishError, match=r"^MLflow: \w+: .*424242"):
        say(folder, "mlflow")


def leveldb_log(content: bytes) -> Iterator[bytes]:
    """Yield the records of a log of LevelDB behind W&B's header of 7 bytes; they span blocks."""
    block, at, whole = 32768, 7, b""
    while at + 7 <= len(content):
        if block - at % block < 7:
            at += block - at % block
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        whole += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield whole
            whole = b""


def test_wandb_has_a_finished_report(
    steps: Path, tmp_path: Path, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    from wandb.proto import wandb_internal_pb2

    for name, value in {"WANDB_MODE": "offline", "WANDB_DIR": tmp_path, "WANDB_SILENT": 1}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    say(steps, "wandb", "mine")
    (file,) = tmp_path.rglob("*.wandb")
    found: dict[int, dict[str, float]] = {}
    kinds = set()
    for content in leveldb_log(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(content)
        kinds.add(record.WhichOneof("record_type"))
        if record.WhichOneof("record_type") == "history":
            row = {
                "/".join(i.nested_key) or i.key: json.loads(i.value_json)
                for i in record.history.item
            }
            found[record.history.step.num] = row
    with run_of(steps) as run:
        for step, values in run.steps.items():
            assert {n: found[step or 0][n] for n in values} == values
    assert "artifact" in kinds
