"""Layout of what is published about a model in its repository.

Below the folder ``bias`` of a model's repository::

    current.json                           which report counts, by its digest
    <digest12>/report.json                 the report, its records beside it; never overwritten
    <digest12>/report.json.sigstore.json   its signature, if it was signed
    <digest12>/reproductions/<digest12>/   reproduction.json with its signature, and the report of
                                           the second run with its records
    badges/                                what README.md shows, drawn from the report that counts

``<digest12>`` is the beginning of a report's digest. These files, and README.md, are ignored when
a model is checked for changes.
"""

import re
from dataclasses import dataclass
from typing import Final

from pytest_bias.models.snapshot import PUBLISHED
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.reports.folder import REPORT
from pytest_bias.scoring.metric import ALIKE

BIAS: Final = PUBLISHED
"""Folder of a model's repository that holds everything that is published about it."""
CURRENT: Final = f"{BIAS}/current.json"
CURRENT_SCHEMA: Final = "pytest-bias/current/1"
BADGES: Final = f"{BIAS}/badges"
README: Final = "README.md"
REPRODUCTIONS: Final = "reproductions"
REPRODUCTION: Final = "reproduction.json"
SIGNATURE: Final = ".sigstore.json"
"""Suffix that gives the name of a file's signature, a Sigstore bundle."""

DIGEST: Final = "sha256:[0-9a-f]{64}"
"""Pattern of a report's digest."""
DIGEST12: Final = "[0-9a-f]{12}"
"""Pattern of the name of a report's folder."""

HUB: Final = "https://huggingface.co"


def digest12(digest: str) -> str:
    """Return the twelve digits of a digest that name a report's folder."""
    return digest.removeprefix("sha256:")[:12]


TITLE: Final = re.compile(f"Bias report {DIGEST12}")
"""Titles of the commits and pull requests that publish a report."""


def title_of(report: Report) -> str:
    """Return the title under which a report is published."""
    return f"Bias report {digest12(report.digest)}"


def evidence(report: Report) -> str:
    """Return the path of a report's folder below the root of a repository."""
    return f"{BIAS}/{digest12(report.digest)}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where badges and evidence are, seen from the text that links to them.

    Parameters
    ----------
    badges : str
        Prefix of ``/name.svg``.
    report : str
        Link to report.json.
    model : str
        The model: ``org/name``, or the name of a folder.
    """

    badges: str
    report: str
    model: str

    @property
    def command(self) -> str:
        """Name of the model in commands: its name on the Hub, else the folder they run in.

        On the Hub, the name of a folder could be the name of another model.
        """
        return self.model if "/" in self.model else "."

    @classmethod
    def beside(cls, report: Report) -> "Place":
        """Return the place in the folder that a run has written."""
        return cls("badges", REPORT, report.model.reference)

    @classmethod
    def in_repository(cls, report: Report) -> "Place":
        """Return the place in a repository, whose README.md links to its own files."""
        return cls(BADGES, f"{evidence(report)}/{REPORT}", report.model.reference)

    @classmethod
    def on_hub(cls, repository: str, report: Report, endpoint: str = HUB) -> "Place":
        """Return the place in a model's repository on the Hub."""
        root = f"{endpoint}/{repository}"
        return cls(
            f"{root}/resolve/main/{BADGES}",
            f"{root}/blob/main/{evidence(report)}/{REPORT}",
            repository,
        )


@dataclass(frozen=True, slots=True)
class Rerun:
    """The result of a second run of a report.

    `signed` says that a verified signature names `owner`, who is neither the author of the report
    nor the owner of the model. In `agree` of `of` suites every score is within the tolerance; in
    `consistent` more, whose texts were sampled, every score is within a stated margin.
    """

    owner: str
    agree: int
    of: int
    consistent: int = 0
    signed: bool = False


@dataclass(frozen=True, slots=True)
class PublicationStatus:
    """The status of a published report, which can change while the report does not.

    `stale` says that the model in the repository is no longer the one that was measured.
    """

    stale: bool = False
    rerun: Rerun | None = None


AS_MEASURED: Final = PublicationStatus()
"""The status where only the report is known."""


def unproven(model: ModelIdentity) -> str:
    """Return why results of a model whose weights are not known can never be validated."""
    if model.answers_from:
        return (
            "no model was run: its answers were read from a log, and nothing shows which model "
            "gave them, so its results can never be validated"
        )
    return (
        f"{model.asked} answered for this model, and which weights it had cannot be shown: its "
        "results can never be validated"
    )


def is_badge_eligible(suite: SuiteResult) -> bool:
    """Whether a suite is about bias or robustness, reviewed, and not a control of another suite."""
    of_bias = suite.kind not in ("structure", "quality")
    return of_bias and not suite.draft and suite.control_of is None


def unread(report: Report) -> dict[str, str]:
    """Return the languages that the model does not read, each with the evidence.

    The evidence is the round trip, where the tokenizer does not reproduce plain sentences, or
    general quality, where plain and broken sentences have the same tokens or the model does not
    distinguish them better than chance.
    """
    found: dict[str, str] = {}
    for suite in report.suites:
        if suite.kind == "structure":
            of_it = (r for r in suite.records if r.item == ROUND_TRIP and r.status == "scored")
            if failed := next((r.reason for r in of_it if not r.value), None):
                found[suite.language] = failed
        elif suite.kind == "quality" and (why := _of_quality(suite)):
            found.setdefault(suite.language, why)
    return found


ROUND_TRIP: Final = "round trip"
"""The structural check of whether a tokenizer can represent a language."""


def _of_quality(suite: SuiteResult) -> str | None:
    if suite.status == "inconclusive" and ALIKE in (suite.reason or ""):
        return f"{suite.title}: {suite.reason}"
    score = suite.headline
    if score is None or score.value is None or score.floor is None or score.interval is None:
        return None
    low, high = score.interval
    if low > score.floor:
        return None
    return (
        f"{suite.title}: plain sentences are preferred to broken ones in {score.value:.0f} % "
        f"({low:.0f} to {high:.0f}), chance is {score.floor:.0f}"
    )


def version(report: Report) -> str:
    """Return seven digits that identify what was measured: of its commit, else of its weights."""
    model = report.model
    return (model.revision or model.weights_sha256 or "unknown")[:7]


def lacking(report: Report) -> tuple[str, ...]:
    """Return what is missing for the record of a report to be complete; empty if it is.

    A complete record states what the badge `Social Bias Evaluated` requires: the model, the suites
    and their data, the number of items, the version, the seed, and the number of suites that apply.
    """
    model = report.model
    stated: dict[str, object] = {
        "the digest of the weights": model.weights_sha256,
        "the digest of the configuration": model.config_sha256,
        "the digest of the tokenizer": model.tokenizer_sha256,
        "the version of the tool": report.tool.get("version"),
        "the seed": "seed" in report.settings,
        "the languages": report.coverage.get("languages"),
        "the suites that apply": report.coverage.get("social_suites"),
    }
    for suite in report.suites:
        if suite.status not in ("scored", "withheld") or suite.kind == "structure":
            continue
        data = suite.data
        stated[f"the version of {suite.entry}"] = suite.version
        stated[f"the digest of the data of {suite.entry}"] = data and data.sha256
        stated[f"the digest of the items of {suite.entry}"] = data and data.items_sha256
        stated[f"the number of items of {suite.entry}"] = data and data.n_items
        if report.withheld is None and not suite.is_hidden:
            stated[f"the records of {suite.entry}"] = suite.records_sha256
    return tuple(what for what, value in stated.items() if not value)
