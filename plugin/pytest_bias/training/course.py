"""The measurements of one training: planned and loaded once, taken at several steps."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pytest_bias.emit.wording import about_time, count, counted
from pytest_bias.engine.planning import Plan, Planned, plan
from pytest_bias.engine.run_forecast import expected
from pytest_bias.engine.sampling import n_open
from pytest_bias.engine.schedule import joined
from pytest_bias.engine.session import Session, run
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.models.in_memory import InMemory, undisturbed
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.settings.options import PROFILES
from pytest_bias.settings.settings import Settings, read_settings, require_data_dir
from pytest_bias.suites.suite import LoadedData
from pytest_bias.untrusted import clean

OPTIONS: Final = (
    *("languages", "seed", "chat", "system", "answers", "answer_tokens", "answer_samples"),
    *("scorers", "data_dir", "config", "offline", "fresh"),
)
"""Options of ``pytest-bias run`` that also apply to a model in memory."""


def settings_for(suites: Iterable[str], items: str, options: Mapping[str, Any]) -> Settings:
    """Return the settings of a training's measurements, as far as they apply to these.

    Raises
    ------
    UsageError
        If an option is not known, or the settings file says something that does not apply.
    """
    if isinstance(suites, str):
        raise UsageError(f"suites={suites!r} is a text.", f"suites=[{suites!r}]")
    if items not in PROFILES:
        raise UnknownName.among("items", str(items), PROFILES)
    for name in options:
        if name not in OPTIONS:
            raise UnknownName.among("option of BiasCallback", name, OPTIONS)
    given = {**options, "suites": [str(s) for s in suites], "profile": items}
    settings = read_settings(given)
    require_data_dir(settings)
    if settings.withhold_scores:
        raise UsageError(
            "the settings withhold scores (withhold_scores), and a training logs them.",
            "Remove it, or measure checkpoints with pytest-bias run.",
        )
    # They are about a run of its own: other models, other devices, a limit of time.
    others = ("model", "models", "baseline", "budget", "devices", "device_map", "shard", "out")
    usual = Settings()
    return replace(settings, **{name: getattr(usual, name) for name in others})


@dataclass(frozen=True)
class Cost:
    """What one measurement takes: the items, the tokens with padding, and the seconds."""

    items: int
    tokens: int
    seconds: float

    def __str__(self) -> str:
        return f"{counted(self.items)}, about {count(self.tokens)} tokens and {_time(self.seconds)}"


@dataclass
class Course:
    """The measurements of one training.

    Parameters
    ----------
    network : torch.nn.Module
        The model as the trainer has it, within its wrappers.
    model : InMemory
        Its description.
    settings : Settings
        From `settings_for`.
    """

    network: Any
    model: InMemory
    settings: Settings
    prepared: dict[str, LoadedData | SuiteResult] = field(default_factory=dict)
    plan: Plan = field(init=False)

    def __post_init__(self) -> None:
        self.plan = plan(self.model, self.settings)
        session = self._session(self.plan)
        for planned in self.plan.entries:
            session.prepare(planned)
        if not any(not planned.is_structure for planned in self.ready):
            why = [f"{entry}: {reason}" for entry, reason in self.absent.items()]
            raise UsageError(
                "none of the suites can be measured on this model. " + "; ".join(why),
                "pytest-bias suites lists what there is, and what it needs.",
            )

    @property
    def ready(self) -> list[Planned]:
        """The entries that are measured at every step."""
        entries = self.plan.entries
        return [p for p in entries if isinstance(self.prepared[p.entry.id], LoadedData)]

    @property
    def absent(self) -> dict[str, str]:
        """Entry to the reason why it is never measured in this training."""
        return {
            name: clean(f"{found.status.replace('_', ' ')}, {found.reason}", 300)
            for name, found in self.prepared.items()
            if isinstance(found, SuiteResult)
        }

    def cost(self) -> Cost:
        """Forecast what one measurement takes; no training is disturbed."""
        session = self._session(self.plan)
        items = tokens = 0
        with undisturbed(self.network):
            seconds = sum(e.seconds or 0.0 for e in expected(session, self.ready))
            for planned in self.ready:
                data, measure = self.prepared[planned.entry.id], planned.measure
                assert isinstance(data, LoadedData)
                assert measure is not None, "an entry without a measure is not ready"
                clusters = session.schedule.clusters(planned.entry, data.items)
                items += sum(map(n_open, clusters))
                try:
                    with session.model.counting() as work:
                        waiting = [i for i in joined(clusters) if i.status is None]
                        measure.measure_items(session.model, waiting)
                except Exception:
                    # It occurs again when the entry is measured, and is said then.
                    continue
                tokens += work.tokens
        return Cost(items, tokens, seconds)

    def measure(self, step: int, epoch: float | None) -> Report:
        """Measure the network as it is now; a suite that fails is a result with the reason."""
        reference = f"{self.model.identity.reference}, step {step}"
        session = self._session(replace(self.plan, model=self.model.at(reference)))
        with undisturbed(self.network):
            report = run(session)
        if report.run.get("interrupted"):
            raise KeyboardInterrupt
        about = {"step": step, "epoch": None if epoch is None else round(epoch, 6)}
        return replace(report, run={**report.run, "training": about})

    def _session(self, plan: Plan) -> Session:
        return Session(plan, prepared=self.prepared)


def actual(report: Report) -> str:
    """Return what a measurement took, in words."""
    cost = report.run["cost"]
    texts, tokens = (count(int(cost[name])) for name in ("forwards", "tokens"))
    return f"{texts} texts, {tokens} tokens, {_time(cost['wall_s'])}"


def _time(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 60 else about_time(seconds)
