"""The callback in real trainings of a tiny model: what it logs, and that it changes nothing."""

import csv
import json
import logging
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from transformers import Trainer

import tiny_training
from pytest_bias import measure
from pytest_bias.errors import BiasError, ModelError, OutputError, UnknownName, UsageError
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.folder import read_report
from pytest_bias.settings.settings import read_settings
from pytest_bias.training import BiasCallback
from tiny_training import ENTRY, NAME, trainer, weights

LAST = 40


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return tiny_training.suite_file(tmp_path / "suite")


def callback(suite: Path, **more: Any) -> BiasCallback:
    return BiasCallback([str(suite)], **{"offline": True, **more})


@dataclass
class Trained:
    """A training with the callback, where it was made, and what it printed."""

    folder: Path
    trainer: Trainer
    said: str


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Return a training with the callback; others compare with it."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("trained")
    suite, said = tiny_training.suite_file(folder / "suite"), io.StringIO()
    made = trainer(folder, [callback(suite)])
    with contextlib.redirect_stderr(said):
        made.train()
    return Trained(folder, made, said.getvalue())


def curve(found: Trainer, name: str = NAME) -> dict[int, float]:
    """Return what was logged under a name, by step."""
    return {row["step"]: row[name] for row in found.state.log_history if name in row}


def test_the_curve_shows_the_planted_bias(trained: Trained) -> None:
    values = curve(trained.trainer)
    low, high = (curve(trained.trainer, NAME + end) for end in ("_low", "_high"))
    assert list(values) == list(low) == list(high) == [0, 10, 20, 30, LAST]
    assert low[0] < 50 < high[0]
    assert low[LAST] > high[0]
    # One pair of 64 more or less is noise.
    in_order = list(values.values())
    assert all(b >= a - 100 / 64 for a, b in pairwise(in_order))
    assert curve(trained.trainer, NAME + "_distance")[LAST] == values[LAST] - 50


def test_trained_weights_are_the_same_bits(trained: Trained) -> None:
    without = trainer(trained.folder)
    before = weights(without)
    without.train()
    assert weights(without) == weights(trained.trainer) != before
    assert losses(without) == losses(trained.trainer)


@pytest.mark.parametrize(
    ("how", "bias"),
    [
        ({"gradient_accumulation_steps": 3, "eval_strategy": "no"}, {"on": "steps", "every": 3}),
        ({"activation_checkpointing": True, "eval_strategy": "epoch"}, {"every": 2}),
    ],
    ids=["accumulation", "checkpointing"],
)
@pytest.mark.slow
def test_other_trainings_are_the_same_bits(
    suite: Path, tmp_path: Path, how: dict[str, Any], bias: dict[str, Any]
) -> None:
    # One after the other: a trainer seeds its process when it is made.
    with_it = trainer(tmp_path, [callback(suite, **bias)], max_steps=8, **how)
    with_it.train()
    without = trainer(tmp_path, max_steps=8, **how)
    without.train()
    assert len(curve(with_it)) > 1
    assert weights(without) == weights(with_it)
    assert losses(without) == losses(with_it)


def losses(found: Trainer) -> list[float]:
    return [row["loss"] for row in found.state.log_history if "loss" in row]


def test_every_step_is_a_report(trained: Trained) -> None:
    place = trained.folder / "out" / "bias-steps"
    folders = sorted(p for p in place.iterdir() if p.is_dir())
    assert [p.name for p in folders] == [f"step-{n:06d}" for n in range(0, LAST + 1, 10)]
    for step, folder in zip(curve(trained.trainer), folders, strict=True):
        report = read_report(folder)
        score = report.suite("planted").headline
        assert score
        assert score.value == curve(trained.trainer)[step]
        assert report.run["training"]["step"] == step
        assert report.model.reference == f"model, in memory, step {step}"
        assert (report.model.weights_sha256, report.model.revision) == (None, None)
        assert len(report.suite("planted").records) == len(tiny_training.PAIRS)
    own = str(trained.folder / "suite/planted.bias.yaml")
    catalogue = read_settings({"suites": [own]}).catalogue
    first, *_, last = map(read_report, folders)
    (changed,) = [s for s in compare(last, first, catalogue=catalogue).suites if s.entry == ENTRY]
    assert changed.reason is None


def test_scores_are_those_of_the_saved_model(trained: Trained) -> None:
    saved = trained.folder / "saved"
    trained.trainer.save_model(str(saved))
    alone = measure(
        saved, suites=[str(trained.folder / "suite/planted.bias.yaml")], offline=True
    ).suite("planted")
    there = read_report(trained.folder / "out/bias-steps" / f"step-{LAST:06d}").suite("planted")
    assert alone.headline == there.headline
    for ours, theirs in zip(there.records, alone.records, strict=True):
        assert ours.item == theirs.item
        assert ours.detail == pytest.approx(theirs.detail, abs=1e-4)


def test_the_table_has_every_step(trained: Trained) -> None:
    with (trained.folder / "out/bias-steps/steps.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ours = [r for r in rows if r["suite"] == ENTRY and r["metric"] == "preference"]
    assert [int(r["step"]) for r in ours] == [0, 10, 20, 30, LAST]
    assert {int(r["step"]): float(r["value"]) for r in ours} == curve(trained.trainer)
    assert all(float(r["low"]) < float(r["value"]) < float(r["high"]) for r in ours)
    assert {(r["ideal"], r["level"], r["n"]) for r in ours} == {("50.0", "0.95", "64")}


def test_costs_and_steps_are_said(trained: Trained) -> None:
    beforehand, after = trained.said.splitlines()[:2]
    assert "every evaluation: structure[all], planted[en]" in beforehand
    assert "70 items, about 1108 tokens" in beforehand
    assert after.startswith("The first took ")
    assert "Over these checkpoints, the oldest first" in trained.said
    assert "5 steps" in trained.said


def test_what_does_not_apply_is_said_once(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = BiasCallback([str(suite), "mnli_negation[en]"], offline=True)
    trainer(tmp_path, [both], max_steps=2, eval_steps=1).train()
    said = capsys.readouterr().err
    assert said.count("never mnli_negation[en]: not applicable, needs text classification") == 1


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.by_day("False")
def test_a_failure_never_ends_the_training(
    suite: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, everything: bool
) -> None:
    def change(network: Any, tokenizer: Any) -> Any:
        trained_with = []

        def stumble(module: Any, args: Any, given: dict[str, Any]) -> None:
            if module.training:
                trained_with.append(module)
            elif len(trained_with) > 2 and (
                everything or any("judge" in tokenizer.decode(ids) for ids in given["input_ids"])
            ):
                raise RuntimeError("no more")

        network.register_forward_pre_hook(stumble, with_kwargs=True)
        return network

    how: dict[str, Any] = {"change": change, "max_steps": 8, "eval_strategy": "no"}
    found = trainer(tmp_path, [callback(suite, on="steps", every=2)], **how)
    with caplog.at_level(logging.WARNING, "pytest_bias.training"):
        found.train()
    (told,) = [r.getMessage() for r in caplog.records if r.name == "pytest_bias.training"]
    what = "bias was not measured at step 4" if everything else "planted[en] at step 4"
    assert told == f"{what}: RuntimeError: no more"
    assert found.state.global_step == 8
    assert list(curve(found)) == [0, 2]
    with (tmp_path / "out/bias-steps/steps.csv").open(encoding="utf-8", newline="") as file:
        failed = [r for r in csv.DictReader(file) if r["status"] == "error"]
    assert [(r["step"], r["value"], r["reason"]) for r in failed] == [
        (step, "", "RuntimeError: no more") for step in ("4", "6", "8")
    ]
    without = trainer(tmp_path, **how)
    without.train()
    assert weights(without) == weights(found)


@pytest.mark.slow
def test_the_best_model_is_the_nearest_to_the_ideal(suite: Path, tmp_path: Path) -> None:
    found = trainer(
        tmp_path,
        [callback(suite)],
        max_steps=8,
        eval_steps=4,
        save_strategy="steps",
        save_steps=4,
        load_best_model_at_end=True,
        metric_for_best_model=f"{NAME}_distance",
        greater_is_better=False,
    )
    found.train()
    distances = curve(found, f"{NAME}_distance")
    of_checkpoints = {n: d for n, d in distances.items() if n}
    best = min(of_checkpoints, key=lambda n: of_checkpoints[n])
    assert found.state.best_metric == of_checkpoints[best]
    assert found.state.best_model_checkpoint.endswith(f"checkpoint-{best}")


@pytest.mark.slow
@pytest.mark.slow
def test_a_training_that_goes_on_keeps_its_steps(suite: Path, tmp_path: Path) -> None:
    how: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2, "eval_steps": 2}
    how |= {"max_steps": 6}
    trainer(tmp_path, [callback(suite)], **how).train()
    there = sorted(p.name for p in (tmp_path / "out/bias-steps").iterdir())
    checkpoint = str(tmp_path / "out/checkpoint-2")
    again = trainer(tmp_path, [callback(suite)], **how)
    with pytest.raises(OutputError, match="later steps"):
        again.train(resume_from_checkpoint=checkpoint)
    again = trainer(tmp_path, [callback(suite, fresh=True)], **how)
    again.train(resume_from_checkpoint=checkpoint)
    assert sorted(p.name for p in (tmp_path / "out/bias-steps").iterdir()) == there
    text = (tmp_path / "out/bias-steps/steps.csv").read_text(encoding="utf-8")
    assert {line.split(",")[0] for line in text.splitlines()[1:]} == {"0", "2", "4", "6"}
    with pytest.raises(OutputError, match="4 steps of an earlier training"):
        trainer(tmp_path, [callback(suite)]).train()
    again = trainer(tmp_path, [callback(suite, fresh=True)], max_steps=1)
    again.train()
    assert sorted(p.name for p in (tmp_path / "out/bias-steps").glob("step-*")) == [
        "step-000000",
        "step-000001",
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"every": 0}, "every=0"),
        ({"every": True}, "every=True"),
        ({"on": "step"}, "Did you mean 'steps'"),
        ({"items": "quik"}, "Did you mean 'quick'"),
        ({"seeds": 1}, "Did you mean 'seed'"),
        ({"suites": "seat"}, r"suites=\['seat'\]"),
        ({"data_dir": "/nowhere"}, "does not exist"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        BiasCallback(**given)


def test_settings_that_withhold_scores_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest-bias.yaml").write_text("withhold_scores: true\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="withhold"):
        BiasCallback()


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ({"eval_strategy": "no"}, UsageError, "has no evaluations"),
        ({"metric_for_best_model": "bias/planted/en/preferense"}, UnknownName, "Did you mean"),
        (
            {"metric_for_best_model": f"{NAME}_distance", "greater_is_better": True},
            UsageError,
            "greater_is_better=False",
        ),
    ],
    ids=["no evaluations", "no such metric", "wrong direction"],
)
@pytest.mark.by_day("no evaluations")
def test_what_could_never_work_is_refused_before_the_first_step(
    suite: Path, tmp_path: Path, how: dict[str, Any], error: type[BiasError], says: str
) -> None:
    found = trainer(tmp_path, [callback(suite)], **how)
    with pytest.raises(error, match=says):
        found.train()
    assert found.state.global_step == 0


def test_a_model_without_tokenizer_or_suite_is_refused(suite: Path, tmp_path: Path) -> None:
    found = trainer(tmp_path, [callback(suite)])
    found.processing_class = found.callback_handler.processing_class = None
    with pytest.raises(ModelError, match="needs its tokenizer"):
        found.train()
    with pytest.raises(UsageError, match=r"none of the suites.*mnli_negation"):
        trainer(tmp_path, [BiasCallback(["mnli_negation"], offline=True)]).train()


@pytest.mark.slow
def test_a_missing_score_is_never_the_best(suite: Path, tmp_path: Path) -> None:
    """Every second evaluation has none: transformers would end the training for its lack."""
    found = trainer(
        tmp_path,
        [callback(suite, every=2)],
        max_steps=4,
        eval_steps=1,
        metric_for_best_model=f"{NAME}_distance",
        greater_is_better=False,
    )
    found.train()
    assert list(curve(found)) == [0, 2, 4]
    assert math.isfinite(found.state.best_metric)
    json.dumps(found.state.log_history, allow_nan=False)
