"""A second run of a report on this machine, with the same settings and the same model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from pytest_bias.errors import ReportError, UsageError
from pytest_bias.evidence.locate import Named
from pytest_bias.models.fingerprint import differences, fingerprint
from pytest_bias.models.reference import DEMOS, asked_in_words
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import default_folder, read_report
from pytest_bias.reports.publication_layout import digest12
from pytest_bias.settings.settings import Settings, asked_as
from pytest_bias.suites.catalogue import Catalogue

if TYPE_CHECKING:
    from pytest_bias.engine.planning import Plan

_OF_THIS_MACHINE: Final = (
    *("device", "devices", "device_map", "data_dir", "config", "fresh", "offline"),
    *("trust_remote_code", "allow_pickle", "texts"),
)
"""Settings that the second run chooses itself; the data it finds are compared afterwards."""

_NEEDED: Final = ("requested", "profile", "chat")
"""Settings that a report must state so that it can be run again, besides the seed."""


def settings_of(report: Report, found: Named, given: Settings, text: str) -> Settings:
    """Return the settings of a report, adapted to the machine of the second run."""
    _refuse_asked(report, given, text)
    model = given.model or _model(report, found)
    if model is None:
        raise UsageError(
            f"{text} is the report of a folder named {report.model.reference!r}: which model is it "
            "here?",
            f"pytest-bias reproduce {text} --model DIR or org/name",
        )
    if missing := [n for n in _NEEDED if n not in report.settings] + (
        [] if isinstance(report.settings.get("seed"), int) else ["seed"]
    ):
        raise ReportError(f"the report does not say how it was made: {', '.join(missing)}.")
    if any(s.sampled is not None for s in report.suites) and report.settings["profile"] != "quick":
        raise ReportError(
            f"{text} was measured under --budget, which took as many items as there was time for: "
            "a second run would take others.",
            "--profile quick takes the same sample everywhere.",
        )
    plain = Settings()
    out = default_folder(f"{report.model.reference}-again", digest12(report.digest))
    return replace(
        plain,
        model=model,
        suites=given.as_given(report.settings["requested"]),
        languages=tuple(report.coverage.get("languages", ())),
        profile=report.settings["profile"],
        seed=report.settings["seed"],
        chat=report.settings["chat"],
        **asked_as(report.settings),
        dtype=report.model.dtype,
        scorers=_scorers(report),
        labels=_labels(report, given.catalogue),
        accept_licences=given.accept_licences,
        energy=given.energy,
        **{name: getattr(given, name) for name in _OF_THIS_MACHINE},
        out=given.out or out,
    )


def _refuse_asked(report: Report, given: Settings, text: str) -> None:
    """Raise `UsageError` for a model whose weights are not known: nothing proves it is the same."""
    if report.model.answers_from:
        raise UsageError(
            f"{text} cannot be reproduced: it has scores of a log of answers, no model was run, "
            "and nothing shows which one gave them.",
            "pytest-bias score on the same files gives the same scores; pytest-bias verify "
            "recomputes them from the records.",
        )
    who = report.model.asked or asked_in_words(given.model or "")
    if not who:
        return
    raise UsageError(
        f"{text} cannot be reproduced with {who}: nothing shows which weights it has, so a second "
        "run would prove nothing about the first.",
        "To compare: pytest-bias run MODEL --baseline REPORT",
    )


def _model(report: Report, found: Named) -> str | None:
    """Return the model to measure: the repository that holds the report, else the one it names."""
    reference, revision = report.model.reference, report.model.revision
    if found.ref:
        own = found.publication and found.publication.head and found.publication.head.revision
        if found.ref.source == "hub" and reference == found.ref.name and revision:
            return f"{reference}@{revision}"
        return (
            f"{found.ref.name}@{own}" if own and found.ref.source == "hub" else found.ref.argument
        )
    if reference in DEMOS:
        return reference
    if "/" in reference:
        return f"{reference}@{revision}" if revision and "+" not in reference else reference
    return None


def _scorers(report: Report) -> dict[str, str]:
    found = [s.scorer for s in report.suites if s.scorer]
    return {s.role: f"{s.reference}@{s.revision}" if s.revision else s.reference for s in found}


def _labels(report: Report, catalogue: Catalogue) -> dict[str, Mapping[str, str]]:
    """Return the labels that were chosen, by role."""
    found: dict[str, Mapping[str, str]] = {}
    for suite in report.suites:
        role = suite.scorer.role if suite.scorer else _role(suite.name, suite.measure, catalogue)
        if suite.labels and role:
            found[role] = dict(suite.labels)
    return found


def _role(name: str, measure: str | None, catalogue: Catalogue) -> str:
    return catalogue.find(name).measure_named(measure).reads if measure else ""


def run_again(report: Report, settings: Settings, console: Console) -> tuple[Report | None, Path]:
    """Run a report again; the new report is None if it was interrupted.

    Raises
    ------
    ReportError
        If the model is not the one that was measured; this is found before weights are loaded.
    """
    from pytest_bias.runs.finishing import run_job

    def check(plan: "Plan") -> None:
        ref = plan.model.ref
        # At the commit that was described, in case the head moves meanwhile.
        exact = replace(ref, revision=plan.model.identity.revision)
        now = fingerprint(exact if ref.source == "hub" else ref, offline=settings.offline)
        if other := differences(report.model, now):
            raise ReportError(
                f"{ref} is not the model that was measured: another {', '.join(other)}.",
                "Give the revision that was measured: --model org/name@revision",
            )

    done = run_job(settings, console, check)
    made = read_report(done.out)
    return (None if made.run.get("interrupted") else made), done.out
