"""Building of a report: results with model, settings, versions and devices."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

from pytest_bias.models.devices import in_words
from pytest_bias.models.interface import Model
from pytest_bias.records.identity import ModelIdentity, tool_version
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.scoring import statistics
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.scoring.scores import LEVEL
from pytest_bias.settings.settings import Settings, asked_otherwise
from pytest_bias.suites.about import with_about

if TYPE_CHECKING:
    from pytest_bias.engine.planning import Plan


class Requested(Protocol):
    """What was requested: the part of a plan that a report states."""

    @property
    def settings(self) -> Settings:
        """Settings of the run."""

    @property
    def requested(self) -> tuple[str, ...]:
        """Names of suites."""

    @property
    def chat(self) -> bool:
        """Whether prompts use the model's chat template."""

    @property
    def coverage(self) -> Mapping[str, Any]:
        """Languages, suites that apply, capabilities."""


def build_report(
    plan: Requested,
    identity: ModelIdentity,
    suites: Sequence[SuiteResult],
    about_run: Mapping[str, Any],
) -> Report:
    """Build a report from results; what does not change scores goes into `run`.

    Reports are published, so no text in them names folders of this machine.
    """
    settings = plan.settings

    def told(text: str) -> str:
        return without_own_paths(text, settings.data_dir)

    suites = [replace(s, reason=told(s.reason)) if s.reason else s for s in suites]
    notices = [told(str(text)) for text in about_run.get("notices", ())]
    report = Report(
        tool={
            **{"name": "pytest-bias", "version": tool_version()},
            "statistics_version": statistics.VERSION,
        },
        model=identity,
        settings={
            "requested": list(plan.requested),
            "profile": settings.profile,
            "seed": settings.seed,
            "level": LEVEL,
            "resamples": statistics.DRAWS.resamples,
            "chat": "on" if plan.chat else "off",
            **asked_otherwise(settings),
        },
        suites=with_decision_family(suites),
        coverage=plan.coverage,
        run={**about_run, "notices": notices},
    )
    return with_about(report, settings.catalogue)


def depends_on(plan: Plan, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the scores of a run depend on; `data` is by entry."""
    model, settings = plan.model, plan.settings
    return {
        "tool": tool_version(),
        "model": model.identity.reference,
        "revision": model.identity.revision,
        "weights": model.weights_digest(),
        "adapter": asdict(model.identity.adapter) if model.identity.adapter else None,
        "config": model.identity.config_sha256,
        "tokenizer": model.identity.tokenizer_sha256,
        "chat_template": model.identity.chat_template_sha256,
        "chat": plan.chat,
        **asked_otherwise(settings),
        "scorers": {role: s.depends_on() for role, s in plan.scorers.items()},
        "labels": {p.entry.id: dict(p.labels) for p in plan.entries if p.labels},
        "entries": dict(data),
        "profile": settings.profile,
        "seed": settings.seed,
        "dtype": settings.dtype,
        **{n: str(v) for n in ("shard", "budget") if (v := getattr(settings, n))},
    }


def environment(model: Model | None, device_map: str | None = None) -> dict[str, Any]:
    """Return versions and devices, for the part of the report that the digest does not cover."""
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    merges = ("peft",) if model and model.identity.adapter else ()
    for name in ("torch", "transformers", "numpy", "scipy", *merges):
        found[name] = version(name)
    body = getattr(model, "body", None)
    if body is not None:
        found["device"] = in_words(body.devices)
        found["devices"] = dict(body.devices)
    if model and model.identity.asked:
        found["device"] = model.identity.asked
    if device_map:
        found["device_map"] = device_map
    return found
