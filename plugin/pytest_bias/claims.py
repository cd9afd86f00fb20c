"""What is claimed of a model in public, and where it lies.

Below the folder ``bias`` of a model's repository::

    current.json                           which report counts, by its digest
    <digest12>/report.json                 the report, its records beside it; never overwritten
    <digest12>/report.json.sigstore.json   its signature, if somebody signed it
    <digest12>/reproductions/<digest12>/   reproduction.json with its signature, and the report of
                                           the second run with its records
    badges/                                what README.md shows, drawn from the report that counts

``<digest12>`` is the beginning of a report's digest. What lies here, and README.md, does not count
when it is asked whether the model has changed.
"""

from dataclasses import dataclass
from typing import Final

from pytest_bias.folder import REPORT
from pytest_bias.records import Report

BIAS: Final = "bias"
"""Folder of a model's repository that holds everything published about it."""
CURRENT: Final = f"{BIAS}/current.json"
CURRENT_SCHEMA: Final = "pytest-bias/current/1"
BADGES: Final = f"{BIAS}/badges"
REPRODUCTIONS: Final = "reproductions"
REPRODUCTION: Final = "reproduction.json"
SIGNATURE: Final = ".sigstore.json"
"""Behind the name of a signed file: the name of its signature, a Sigstore bundle."""

HUB: Final = "https://huggingface.co"


def digest12(digest: str) -> str:
    """Return the twelve digits by which a report's folder is called."""
    return digest.removeprefix("sha256:")[:12]


def evidence(report: Report) -> str:
    """Return the folder of a report below the root of a repository."""
    return f"{BIAS}/{digest12(report.digest)}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where badges and evidence lie, seen from the text that links to them.

    Parameters
    ----------
    badges : str
        What stands in front of ``/name.svg``.
    report : str
        Link to report.json.
    model : str
        How the commands in the text name the model: ``org/name`` or a folder.
    """

    badges: str
    report: str
    model: str

    @classmethod
    def beside(cls, report: Report) -> "Place":
        """In the folder that a run has written."""
        return cls("badges", REPORT, report.model.reference)

    @classmethod
    def in_repository(cls, report: Report) -> "Place":
        """In a repository, whose README.md links to its own files."""
        return cls(BADGES, f"{evidence(report)}/{REPORT}", report.model.reference)

    @classmethod
    def on_hub(cls, repository: str, report: Report, endpoint: str = HUB) -> "Place":
        """In a model's repository on the Hub."""
        root = f"{endpoint}/{repository}"
        return cls(
            f"{root}/resolve/main/{BADGES}",
            f"{root}/blob/main/{evidence(report)}/{REPORT}",
            repository,
        )


@dataclass(frozen=True, slots=True)
class Rerun:
    """What it came to when somebody ran a report again.

    `signed` says that a signature was verified which names `owner`, and that this is neither the
    author of the report nor the owner of the model. `agree` of `of` suites have every score within
    the tolerance, `consistent` more of them, whose texts were sampled, within a stated margin.
    """

    owner: str
    agree: int
    of: int
    consistent: int = 0
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds of a report now, and can change without it.

    `stale` says that the model's repository holds another model than the report was made of.
    """

    stale: bool = False
    rerun: Rerun | None = None
