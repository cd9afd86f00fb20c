"""A report as a report of the AI Vulnerability Database (AVID): measurements, no verdict.

AVID knows four types of reports. A *Measurement* gives numbers without the claim of a problem,
which is all that a report of bias scores can be. How serious a number is, and whom it affects, is
said by people: none of that is filled in.
"""

from collections.abc import Iterable
from datetime import date
from typing import Any, Final

from pytest_bias.emit import wording
from pytest_bias.emit.exports.rows import ScoreRow, absent, score_rows
from pytest_bias.emit.exports.tables import score_columns, suite_columns
from pytest_bias.errors import UsageError
from pytest_bias.records.documents import to_document
from pytest_bias.records.report import Report
from pytest_bias.records.score import Score
from pytest_bias.untrusted import clean

AVID: Final = "avid.json"
MOST_NAMED: Final = 12
"""Largest number of suites that a sentence names."""

VIEWS: Final = {
    "intrinsic": ("Ethics", "E0100: Bias/ Discrimination"),
    "downstream": ("Ethics", "E0100: Bias/ Discrimination"),
    "robustness": ("Performance", "P0200: Model issues"),
}
"""Kinds of suites to risk domain and category of AVID's taxonomy; others are about no risk."""
TAXONOMY: Final = "0.2"
EVALUATION: Final = "L05: Evaluation"


def render(report: Report) -> str:
    """Return a report of AVID with the headline of every suite of social bias or robustness.

    Headlines without interval and test are left out and named: AVID has a number only with the
    method that found it, a significance test or a threshold.

    Raises
    ------
    UsageError
        If there is no number that an AVID report could hold.
    """
    headlines = [r for r in score_rows(report) if _is_told(r)]
    found = [row for row in headlines if _method(row.score)]
    if not found:
        raise UsageError(
            f"--to avid: there is nothing to say of {wording.model_name(report)}: "
            f"{_why_nothing(report, headlines)}.",
            "It holds headlines with an interval or a test; --to csv writes every score.",
        )
    views = [VIEWS[row.suite.kind] for row in found]
    kind = "System" if report.model.application else "Model"
    plain = {
        "data_type": "AVID",
        "affects": {
            "developer": [],
            "deployer": [],
            "artifacts": [{"type": kind, "name": wording.model_name(report)}],
        },
        "problemtype": {
            "classof": "LLM Evaluation",
            "type": "Measurement",
            "description": _text(
                f"Measurements of {_topics(domain for domain, _ in views)} of "
                f"{wording.model_name(report)}. They are no verdict: "
                "whether they are a problem depends on the use of the model."
            ),
        },
        "metrics": [_metric(row) for row in found],
        "references": [],
        "description": _text(" ".join(_description(report, headlines))),
        "impact": {
            "avid": {
                "vuln_id": None,
                "risk_domain": list(dict.fromkeys(domain for domain, _ in views)),
                "sep_view": list(dict.fromkeys(category for _, category in views)),
                "lifecycle_view": [EVALUATION],
                "taxonomy_version": TAXONOMY,
            }
        },
        **_day(report),
    }
    return to_document(plain)


def _is_told(row: ScoreRow) -> bool:
    """Whether it is the headline of a suite about a risk; a control is no result."""
    score, suite = row.score, row.suite
    is_headline = score.headline and not score.by
    return is_headline and suite.kind in VIEWS and suite.control_of is None


def _metric(row: ScoreRow) -> dict[str, Any]:
    return {
        "name": f"{row.suite.entry}.{clean(row.score.metric)}",
        "detection_method": {"type": "Significance Test", "name": _method(row.score)},
        "results": {**suite_columns(row.suite), **score_columns(row.score)},
    }


def _method(score: Score) -> str:
    """Return the test of the null hypothesis that the score is at its ideal; empty without one.

    An interval is such a test: it rejects the ideals outside of it.
    """
    if score.test and score.p_value is not None:
        return clean(score.test)
    if score.interval:
        return f"{wording.level(score)} confidence interval ({clean(score.method or 'unnamed')})"
    return ""


def _topics(domains: Iterable[str]) -> str:
    words = {"Ethics": "social bias", "Performance": "robustness"}
    return " and ".join(dict.fromkeys(words[domain] for domain in domains))


def _description(report: Report, headlines: list[ScoreRow]) -> list[str]:
    version = clean(str(report.tool.get("version", "")), 40)
    lines = [
        f"Made by pytest-bias {version} from its report {report.digest}.",
        "A value is read by its distance from the ideal of its metric, with its interval.",
        *wording.scope_limits(report),
    ]
    without = [row.suite.entry for row in headlines if not _method(row.score)]
    if without:
        lines.append(f"Left out, with neither interval nor test: {_named(without)}.")
    missing = [a.suite.entry for a in absent(report) if a.suite.kind in VIEWS]
    if missing:
        lines.append(f"Without a score here: {_named(missing)}.")
    return lines


def _named(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _why_nothing(report: Report, headlines: list[ScoreRow]) -> str:
    if headlines:
        names = _named([row.suite.entry for row in headlines])
        return f"{names} has neither interval nor test"
    reasons = [f"{a.suite.entry}: {clean(a.reason)}" for a in absent(report)]
    return _named(reasons) if reasons else "no suite of social bias or robustness has a headline"


def _text(words: str) -> dict[str, str]:
    return {"lang": "eng", "value": words}


def _day(report: Report) -> dict[str, str]:
    try:
        return {"reported_date": date.fromisoformat(wording.date(report)).isoformat()}
    except ValueError:
        return {}
