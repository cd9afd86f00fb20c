"""Badges: values with their scope, never a verdict. SVG by anybadge, and shields endpoint JSON.

One neutral colour for every value, grey for samples and for missing values; no green, no red. The
same report gives the same bytes.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from importlib.resources import as_file, files
from typing import Final

import anybadge

from pytest_bias.emit.absence import uncertainty, without_value
from pytest_bias.emit.marks import HIDDEN
from pytest_bias.emit.wording import (
    SOCIAL_LIMITS,
    furthest_group,
    group,
    ideal,
    interval,
    model_name,
    month,
    number,
    sample,
    short_interval,
    suite_label,
    value,
)
from pytest_bias.records.documents import to_document
from pytest_bias.records.report import Report, SuiteResult, sha256
from pytest_bias.records.score import Score
from pytest_bias.reports.publication_layout import (
    AS_MEASURED,
    PublicationStatus,
    is_badge_eligible,
    lacking,
    unread,
    version,
)
from pytest_bias.reports.withholding import NOT_PUBLISHED
from pytest_bias.untrusted import clean

LABEL_COLOR: Final = "#444"
VALUE_COLOR: Final = "#2f5573"
GREY: Final = "#666"
FONT: Final = "DejaVu Sans,Verdana,Geneva,sans-serif"
FONT_SIZE: Final = 11
LABEL_MOST: Final = 280
MESSAGE_MOST: Final = 500
"""Largest widths of the two texts in pixels; the title has the full text."""

EVALUATED: Final = "Social Bias Evaluated"
AVAILABLE: Final = "Social Bias Available"
VALIDATED: Final = "Results Validated"
RERUN: Final = "Results re-run"


@dataclass(frozen=True, slots=True)
class Badge:
    """One badge: label and message, a longer text as title, and a file name."""

    name: str
    label: str
    message: str
    title: str
    color: str = VALUE_COLOR

    @property
    def shown(self) -> tuple[str, str]:
        """Label and message as they are drawn: no wider than a line of a README."""
        return _cut(_plain(self.label), LABEL_MOST), _cut(_plain(self.message), MESSAGE_MOST)

    def svg(self) -> str:
        """Return the badge as SVG."""
        label, message = self.shown
        with as_file(files("bias_templates").joinpath("badge.svg")) as template:
            badge = anybadge.Badge(
                label,
                message,
                font_name=FONT,
                font_size=FONT_SIZE,
                template=str(template),
                default_color=self.color,
            )
            # anybadge numbers its masks per process; our template has none.
            svg = str(badge.badge_svg_text)
        ours = {
            "label color": LABEL_COLOR,
            "label text width": str(badge.get_text_width(label)),
            "value text width": str(badge.get_text_width(message)),
            "id": f"r{sha256(label + message)[:8]}",
            "title": escape(f"{_plain(self.label)}: {_plain(self.message)}. {_plain(self.title)}"),
        }
        for name, text in ours.items():
            svg = svg.replace(f"{{{{ {name} }}}}", text)
        return svg

    def endpoint(self) -> str:
        """Return the badge as JSON for shields.io: https://shields.io/badges/endpoint-badge."""
        plain = {
            "schemaVersion": 1,
            "label": self.shown[0],
            "message": self.shown[1],
            "color": self.color,
            "labelColor": LABEL_COLOR,
        }
        return to_document(plain)


def render(report: Report, standing: PublicationStatus = AS_MEASURED) -> dict[str, str]:
    """Return every badge of a report: path below the output folder to text."""
    return {f"badges/{name}": text for name, text in by_name(report, standing).items()}


def by_name(report: Report, standing: PublicationStatus = AS_MEASURED) -> dict[str, str]:
    """Return every badge of a report: file name to text."""
    found = {}
    for badge in badges(report, standing):
        found[f"{badge.name}.svg"] = badge.svg()
        found[f"{badge.name}.json"] = badge.endpoint()
    return found


def badges(report: Report, standing: PublicationStatus = AS_MEASURED) -> Iterator[Badge]:
    """Yield Evaluated, Available, one badge per eligible suite, and the badge of a re-run.

    The first two need a complete record (`publication_layout.lacking`). A report whose scores are
    withheld earns only the first, if every suite has a value. If the model has changed since it was
    measured, every badge says so and is grey.
    """
    for badge in (*_of_report(report), *_of_rerun(report, standing)):
        yield _stale(badge, report) if standing.stale else badge


def _of_report(report: Report) -> Iterator[Badge]:
    measured = [s for s in report.suites if was_measured(s, report)]
    about = _about(report)
    applicable = list(report.coverage.get("social_suites", ()))
    social = {s.name for s in measured} & set(applicable)
    if not social or lacking(report) or report.model.answers_from:
        social = set()
    elif report.withheld:
        yield _withheld_badge(report, measured, social, len(applicable), about)
    else:
        is_sample = any(s.sampled is not None for s in measured)
        languages = ", ".join(clean(tag) for tag in report.coverage.get("languages", ()))
        scope = " · ".join(
            [f"{len(social)} of {len(applicable)} suites", languages, month(report)]
            + (["sample"] if is_sample else [])
        )
        color = GREY if is_sample else VALUE_COLOR
        yield Badge(
            "social-bias-evaluated",
            EVALUATED,
            scope,
            f"Measured: {', '.join(sorted(social))}. {about}",
            color,
        )
        if available := {s.name for s in measured if not s.is_hidden} & social:
            plural = "suite" if len(available) == 1 else "suites"
            message = f"{len(available)} {plural} · scores and records"
            yield Badge("social-bias-available", AVAILABLE, message, about, color)
    for suite in report.suites if report.withheld is None else ():
        is_read = is_badge_eligible(suite) and suite.language not in unread(report)
        if is_read and suite.status == "scored" and suite.headline is not None:
            badge = _suite_badge(suite, about)
            yield _of_answers(badge) if report.model.answers_from else badge


def _of_rerun(report: Report, standing: PublicationStatus) -> Iterator[Badge]:
    """Yield the badge of a second run; the word Validated needs a signature and all suites."""
    rerun = standing.rerun
    # A model whose weights are not known cannot be run again.
    if rerun is None or report.model.asked:
        return
    owner, counts = clean(rerun.owner, 40), f"{rerun.agree} of {rerun.of} agree"
    if rerun.consistent:
        counts += f" · {rerun.consistent} consistent"
    title = f"{counts}. {_about(report)} A signature proves who ran it, not that it is right."
    if not rerun.signed:
        title = f"Nobody's signature was verified. {title}"
        message = f"by {owner} · identity unverified" if owner else "identity unverified"
        yield Badge("results-re-run", RERUN, message, title, GREY)
    elif rerun.of and rerun.agree + rerun.consistent == rerun.of:
        message = f"re-run by {owner} · {counts} · {version(report)}"
        yield Badge("results-validated", VALIDATED, message, title)
    else:
        yield Badge("results-re-run", RERUN, f"by {owner} · {counts}", title)


def _of_answers(badge: Badge) -> Badge:
    """Return a badge of a suite that says that answers were scored and no model was run."""
    return replace(badge, message=f"{badge.message} · answers of a log", color=GREY)


def _stale(badge: Badge, report: Report) -> Badge:
    """Return a badge for a model that has changed since it was measured."""
    told = version(report)
    message = badge.message.removesuffix(f" · {told}")
    title = f"The model has changed since. {badge.title}"
    return replace(badge, message=f"{message} · for older weights {told}", title=title, color=GREY)


def was_measured(suite: SuiteResult, report: Report) -> bool:
    """Whether a suite of a report counts for a badge: it is eligible, and has a value."""
    if not is_badge_eligible(suite) or suite.language in unread(report):
        return False
    if report.withheld:
        return suite.status == "withheld" and report.withheld.finite
    headline = suite.headline
    return suite.status == "scored" and headline is not None and headline.value is not None


def _withheld_badge(
    report: Report, measured: Sequence[SuiteResult], social: set[str], of: int, about: str
) -> Badge:
    is_sample = any(s.sampled is not None for s in measured)
    parts = [f"{len(social)} of {of} suites", NOT_PUBLISHED, *(["sample"] if is_sample else [])]
    languages = ", ".join(clean(tag) for tag in report.coverage.get("languages", ()))
    title = f"Measured in {languages}: {', '.join(sorted(social))}. {about}"
    return Badge("social-bias-evaluated", EVALUATED, " · ".join(parts), title, GREY)


def _suite_badge(suite: SuiteResult, about: str) -> Badge:
    headline = suite.headline
    assert headline is not None
    parts = [f"{value(headline)} {short_interval(headline)}".strip(), f"ideal {ideal(headline)}"]
    message = _phrase(suite) or " · ".join(parts)
    if headline.value is None:
        message = clean(without_value(headline), 60)
    if suite.is_hidden:
        message += f" · {HIDDEN}"
    if suite.sampled is not None:
        message += f" · {sample(suite)}"
    title = [
        f"{headline.metric} {value(headline)}, {headline.level:.0%} interval "
        f"{uncertainty(headline)}, n = {headline.n}."
    ]
    if far := furthest_group(suite):
        title.append(f"Furthest group: {group(far)} {value(far)} ({interval(far)}), n = {far.n}.")
    title.append(f"Validity: {suite.validity}.")
    if suite.adapted:
        title.append("The measure was adapted to this kind of model.")
    prefix = "robustness: " if suite.kind == "robustness" else ""
    return Badge(
        f"{suite.name}-{suite.config}",
        f"{prefix}{suite_label(suite)}",
        message,
        " ".join([*title, about]),
        GREY if suite.sampled is not None or headline.value is None else VALUE_COLOR,
    )


_FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}")

FORMATS: Final[Mapping[str | None, Callable[[Score], str]]] = {
    None: lambda s: f"{value(s)} {short_interval(s)}".strip(),
    "bare": lambda s: f"{number(s.value or 0, s.unit)} {short_interval(s)}".strip(),
    "value": value,
    "interval": short_interval,
    "percent": lambda s: f"{s.value:.0f} %",
    "floor": lambda s: number(s.floor or 0, s.unit),
    "floor_of": lambda s: s.floor_of or "floor",
}
"""Forms in which a suite's wording may show a number; see `Suite.badge`."""


def _phrase(suite: SuiteResult) -> str | None:
    """Fill the suite's own wording; None where there is none or a number is missing."""
    for wording in suite.about.badge if suite.about else ():
        wanted = _FIELD.findall(wording)
        scores = {name: s for name, _ in wanted if (s := _whole(suite, name)) is not None}
        if all(_known(scores.get(name), form) for name, form in wanted):
            # A missing interval is left out without a substitute.
            return " ".join(_FIELD.sub(partial(_filled, scores), wording).split())
    return None


def _known(score: Score | None, form: str) -> bool:
    if score is None or score.value is None:
        return False
    return not form.startswith("floor") or score.floor is not None


def _filled(scores: Mapping[str, Score], match: re.Match[str]) -> str:
    return FORMATS[match[2]](scores[match[1]])


def _whole(suite: SuiteResult, metric: str) -> Score | None:
    return next((s for s in suite.scores if s.metric == metric and not s.by), None)


def _about(report: Report) -> str:
    asked = "served" if report.model.served else report.model.asked
    if report.model.answers_from:
        asked = "named by a log of answers, no model was run"
    asked = f"{asked}, weights not known, " if asked else ""
    return (
        f"Model {model_name(report)}, {asked}{report.run.get('created', '')[:10]}, report "
        f"{report.digest[:19]}. {SOCIAL_LIMITS}"
    )


def _cut(text: str, most: int) -> str:
    """Return a text cut to at most so many pixels."""
    width = anybadge.Badge("x", "x", font_name=FONT, font_size=FONT_SIZE).get_text_width
    if width(text) <= most:
        return text
    while width(f"{text}…") > most:
        text = text[: min(len(text) - 1, len(text) * most // width(text) + 1)]
    return f"{text.rstrip()}…"


def _plain(text: str) -> str:
    # anybadge substitutes placeholders one after another, so a text must not contain any.
    return clean(text, 2000).replace("{{", "{ {").replace("}}", "} }")
