"""The callback for transformers' Trainer, and for those of TRL, which are made from it."""

import logging
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import torch.distributed
from rich.console import Console
from transformers import TrainerCallback
from transformers.trainer_callback import CallbackHandler

from pytest_bias.errors import BiasError, UnknownName, UsageError
from pytest_bias.models.in_memory import from_memory
from pytest_bias.records.report import Report
from pytest_bias.settings.settings import Settings
from pytest_bias.training import steps
from pytest_bias.training.course import Course, actual, settings_for
from pytest_bias.training.numbers import PREFIX, numbers
from pytest_bias.untrusted import clean

WHEN: Final = ("evaluate", "steps")
EVALUATION: Final = "eval_"
"""Prefix by which a trainer knows metrics of an evaluation."""
DEEPEST: Final = 8
"""Frames in which the caller is looked for."""

log = logging.getLogger("pytest_bias.training")


class BiasCallback(TrainerCallback):  # type: ignore[misc]
    """Scores the model in memory at evaluations of a training, and logs the scores.

    It is measured before the first step, and then as `every` and `on` say, always on the same
    items. Weights, modes, random states and gradients are as if it were not: the trained weights
    are the same bits. A suite that fails never ends the training.

    Logged through the trainer, so for all of ``report_to``: ``eval_bias/<suite>/<configuration>/
    <metric>``, the same with ``_low`` and ``_high`` (the ends of its interval) and ``_distance``
    (from the ideal). The report of every step, with records, is in ``<output_dir>/bias-steps/``.

    Parameters
    ----------
    suites : sequence of str
        ``NAME``, ``NAME[CONFIG]``, ``@TAG`` or a file ``*.bias.yaml``; by default all that apply.
    items : {"quick", "standard", "full"}
        How much of each suite is measured; ``quick`` is a sample of about 200 items of each.
    every : int
        Which evaluations: every n-th one. With ``on="steps"``: every n-th step, and the last one.
    on : {"evaluate", "steps"}
        ``steps`` is for trainings without evaluations.
    tokenizer : transformers tokenizer, optional
        By default the trainer's ``processing_class``.
    name : str, optional
        Name of the model in reports; by default that of the model it was made from.
    **options
        Options of ``pytest-bias run`` that apply to a model in memory, such as ``languages``,
        ``seed``, ``data_dir``, ``offline``; ``fresh=True`` replaces the steps of an earlier
        training in the same ``output_dir``.

    Raises
    ------
    BiasError
        Before the first step: if an option is wrong, nothing can be measured, or the parameters
        are distributed over processes (FSDP, ZeRO-3). Later there are only warnings.

    Notes
    -----
    With several processes the main one measures, and the others wait for its scores.
    """

    def __init__(
        self,
        suites: Sequence[str] = (),
        items: str = "quick",
        every: int = 1,
        on: str = "evaluate",
        *,
        tokenizer: Any = None,
        name: str = "",
        **options: Any,
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise UsageError(f"every={every!r} is not a number of evaluations.", "every=1")
        if on not in WHEN:
            raise UnknownName.among("on", str(on), WHEN)
        self.settings: Settings = settings_for(suites, items, options)
        self.every, self.on = every, on
        self.tokenizer, self.name = tokenizer, name
        self._handler: CallbackHandler | None = None
        self._course: Course | None = None
        self._reports: list[Report] = []
        self._warned: set[str] = set()
        self._failed: dict[int, str] = {}
        self._n_evaluations, self._evaluated = 0, -1
        self._last: tuple[int, dict[str, float]] | None = None
        self._parent = Path()
        self._is_training = False

    def set_trainer(self, trainer: Any) -> None:
        """Name the trainer, if it is one that does not call its callbacks as the Trainer does."""
        self._handler = trainer.callback_handler

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Plan, load the data, say what it will cost, and measure before the first step."""
        self._check(args)
        self._handler = self._handler or _calling()
        if self._handler is None:
            raise UsageError(
                "this trainer calls its callbacks in a way of its own, so nothing can be logged.",
                "callback.set_trainer(trainer), before trainer.train()",
            )
        self._parent = Path(args.output_dir) / steps.FOLDER
        self._reports, self._warned, self._failed, self._last = [], set(), {}, None
        self._n_evaluations, self._evaluated = 0, -1
        tokenizer = self.tokenizer if self.tokenizer is not None else kwargs["processing_class"]
        _on_main(state, lambda: self._begin(kwargs["model"], tokenizer, state))
        self._is_training = True
        self._measure(args, state, control)
        self._check_wanted(args)
        if self._course and self._reports:
            _say(f"The first took {actual(self._reports[-1])}.")

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any
    ) -> None:
        """Measure at every n-th evaluation; `metrics` are those the best model is chosen by."""
        if not self._is_training or self.on != "evaluate":
            return
        # Of several sets of data at one step each is an evaluation of its own.
        self._n_evaluations += state.global_step != self._evaluated
        self._evaluated = state.global_step
        if self._n_evaluations % self.every == 0:
            self._measure(args, state, control)
        if metrics is None:
            return
        if self._last and self._last[0] == state.global_step:
            metrics.update(self._last[1])
        if wanted := _wanted(args):
            # A missing one would end the training. Of no model is this the best.
            metrics.setdefault(wanted, math.nan)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Measure at every n-th step, and at the last one, with ``on="steps"``."""
        if self.on != "steps" or not self._is_training:
            return
        if state.global_step % self.every == 0 or control.should_training_stop:
            self._measure(args, state, control)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Print and write one table of all steps."""
        course, self._course, self._is_training = self._course, None, False
        if course is None or not self._reports:
            return
        try:
            catalogue = self.settings.catalogue
            steps.show(self._reports, self._parent, Console(stderr=True), catalogue)
        except Exception as error:
            self._warn(f"the table of all steps failed: {_told(error)}")

    def _check(self, args: Any) -> None:
        """Refuse, before the first step, what would never be measured or would end the training."""
        strategy = str(getattr(args.eval_strategy, "value", args.eval_strategy))
        if self.on == "evaluate" and strategy == "no":
            raise UsageError(
                "this training has no evaluations (eval_strategy is no), so none would be scored.",
                'BiasCallback(…, on="steps", every=100)',
            )
        if str(args.fsdp or "").strip("[]"):
            raise UsageError(*_distributed("FSDP"))
        from transformers.integrations import is_deepspeed_zero3_enabled

        if is_deepspeed_zero3_enabled():
            raise UsageError(*_distributed("ZeRO-3 of DeepSpeed"))

    def _check_wanted(self, args: Any) -> None:
        """Refuse a metric for the best model that does not exist, or would choose the worst."""
        known = self._last[1] if self._last else {}
        if not (wanted := _wanted(args)) or not known:
            return
        if wanted not in known:
            raise UnknownName.among("metric_for_best_model", wanted, known)
        if wanted.endswith("_distance") and args.greater_is_better:
            raise UsageError(
                f"metric_for_best_model={wanted!r} is a distance from the ideal, and "
                "greater_is_better would choose the model that is farthest from it.",
                "greater_is_better=False",
            )

    def _begin(self, model: Any, tokenizer: Any, state: Any) -> None:
        fresh, step = self.settings.fresh, state.global_step
        self._reports = steps.begin(self._parent, step, fresh=fresh)
        self._course = Course(model, from_memory(model, tokenizer, name=self.name), self.settings)
        ready = ", ".join(p.entry.id for p in self._course.ready)
        times = "" if self.every == 1 else f"every {self.every} "
        what = {"evaluate": "evaluation", "steps": "step"}[self.on] + ("s" if times else "")
        _say(
            f"Bias is measured before the first step and at {times or 'every '}{what}: {ready}. "
            f"Each time: {self._course.cost()}, by forecast."
        )
        for entry, reason in self._course.absent.items():
            _say(f"  never {entry}: {reason}")

    def _measure(self, args: Any, state: Any, control: Any) -> None:
        """Measure once at a step, keep the report, and log the scores."""
        step = state.global_step
        if self._last and self._last[0] == step:
            return
        found = _on_main(state, lambda: self._measured(step, state.epoch))
        self._last = step, found
        if found:
            self._log(args, state, control, found)

    def _measured(self, step: int, epoch: float | None) -> dict[str, float]:
        assert self._course is not None, "the main process has planned"
        try:
            report = self._course.measure(step, epoch)
        except Exception as error:
            self._failed[step] = _told(error)
            self._warn(f"bias was not measured at step {step}: {_told(error)}", str(error))
            self._keep(None, step)
            return {}
        for suite in report.suites:
            if suite.status not in ("scored", "not_applicable") and (
                suite.entry not in self._course.absent
            ):
                reason = clean(suite.reason or suite.status, 300)
                self._warn(f"{suite.entry} at step {step}: {reason}", suite.entry + reason)
        self._keep(report, step)
        return {f"{EVALUATION}{k}": v for k, v in numbers(report, headlines=True).items()}

    def _keep(self, report: Report | None, step: int) -> None:
        """Write the report of a step, if there is one, and the table of all steps."""
        try:
            if report:
                steps.keep(report, steps.folder_of(self._parent, step))
                kept = [r for r in self._reports if steps.step_of(r) != step]
                self._reports = [*kept, steps.without_records(report)]
            steps.write_table(self._reports, self._parent, self._failed)
        except Exception as error:
            self._warn(f"the report of step {step} could not be kept: {_told(error)}", str(error))

    def _log(self, args: Any, state: Any, control: Any, found: dict[str, float]) -> None:
        """Log as `Trainer.log` does; its subclasses' would take away what they wait to log."""
        assert self._handler is not None, "it was found before the first step"
        logs = dict(found)
        if state.epoch is not None:
            logs["epoch"] = state.epoch
        state.log_history.append({**logs, "step": state.global_step})
        waits = control.should_log
        self._handler.on_log(args, state, control, logs)
        # The loss of this step is still to be logged.
        control.should_log = waits

    def _warn(self, text: str, about: str = "") -> None:
        """Warn of something once."""
        if (about or text) not in self._warned:
            self._warned.add(about or text)
            log.warning("%s", text)


def _wanted(args: Any) -> str:
    """Return the metric that the best model is chosen by, if it is one of ours; else nothing."""
    wanted = EVALUATION + str(args.metric_for_best_model or "").removeprefix(EVALUATION)
    return wanted if wanted.startswith(f"{EVALUATION}{PREFIX}/") else ""


def _calling() -> CallbackHandler | None:
    """Return the handler that calls a callback: it hands on everything except itself."""
    frame: Any = sys._getframe(1)
    for _ in range(DEEPEST):
        frame = frame and frame.f_back
        caller = frame and frame.f_locals.get("self")
        if isinstance(caller, CallbackHandler):
            return caller
    return None


def _on_main(state: Any, work: Callable[[], Any]) -> Any:
    """Do work in the main process; the others wait, and get its result or its error."""
    there = torch.distributed
    if not (there.is_available() and there.is_initialized()) or there.get_world_size() == 1:
        return work()
    done: list[Any] = [None, None]
    if state.is_world_process_zero:
        try:
            done[0] = work()
        except Exception as error:
            # Or the others would wait for ever.
            done[1] = error if isinstance(error, BiasError) else RuntimeError(_told(error))
    there.broadcast_object_list(done, src=0)
    if done[1] is not None:
        raise done[1]
    return done[0]


def _distributed(how: str) -> tuple[str, str]:
    return (
        f"the parameters of this training are distributed over processes ({how}): no process has "
        "the whole model, so it is not measured while it is trained.",
        "Measure checkpoints instead: pytest-bias run FOLDER",
    )


def _say(text: str) -> None:
    Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


def _told(error: BaseException) -> str:
    words = error.message if isinstance(error, BiasError) else f"{type(error).__name__}: {error}"
    return clean(words, 400)
