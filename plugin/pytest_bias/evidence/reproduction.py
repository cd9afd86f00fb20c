"""The reproduction of a report by a second run: the content of reproduction.json.

`reproduction_compare` compares the two reports; this module has the result as it is stored.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Literal, TypeAlias

from pytest_bias.errors import ReportError
from pytest_bias.records.documents import to_document, with_schema
from pytest_bias.records.report import Json, digest_of
from pytest_bias.records.validation import built

SCHEMA: Final = "pytest-bias/reproduction/1"

ROUNDING: Final = 1e-9
"""Numbers that differ by no more are equal up to the order of summation."""

Level: TypeAlias = Literal["agrees", "consistent", "differs", "not compared"]
Verdict: TypeAlias = Literal["agrees", "differs", "not comparable"]

EXITS: Final[Mapping[Verdict, int]] = {"agrees": 0, "differs": 1, "not comparable": 3}


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest that has to be the same in both runs."""

    what: str
    published: str | None
    again: str | None

    @property
    def is_same(self) -> bool:
        """Whether the digests are equal, or both absent."""
        return self.published == self.again


@dataclass(frozen=True, slots=True)
class ScoreAgain:
    """One score in both runs; `margin` is set for a suite whose texts a model generated."""

    metric: str
    by: Mapping[str, str]
    published: float | None
    again: float | None
    difference: float | None
    tolerance: float
    unit: str
    margin: float | None = None

    @property
    def agrees(self) -> bool:
        """Whether both values lie within the tolerance, or neither run has one."""
        if self.difference is None:
            return self.published is None and self.again is None
        return abs(self.difference) <= self.tolerance + ROUNDING

    @property
    def is_consistent(self) -> bool:
        """Whether the values could be two measurements of one model with different samples."""
        if self.agrees or self.difference is None or self.margin is None:
            return self.agrees
        return abs(self.difference) <= self.margin


@dataclass(frozen=True, slots=True)
class SuiteAgain:
    """One suite in both runs.

    `counts` says that the badge counts it: it is about bias, reviewed, and not a control of another
    suite. Of `n` items, `n_same` had the same outcome.
    """

    entry: str
    level: Level
    counts: bool
    reason: str | None = None
    n: int = 0
    n_same: int = 0
    digests: tuple[Digest, ...] = ()
    scores: tuple[ScoreAgain, ...] = ()


@dataclass(frozen=True, slots=True)
class Party:
    """Who ran it, as the run itself states; only a signature proves it."""

    owner: str = ""
    source: Literal["github", "stated", "unknown"] = "unknown"
    repository: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of a second run of a report: the content of reproduction.json.

    `of` is the digest of the published report, `report` that of the second one; `published_at` is
    where the first was read.
    """

    of: str
    report: str
    model: str
    published_at: str
    by: Party
    created: str
    digests: tuple[Digest, ...]
    suites: tuple[SuiteAgain, ...]
    environments: Mapping[str, Json] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def counted(self) -> tuple[SuiteAgain, ...]:
        """Suites that a badge counts."""
        return tuple(s for s in self.suites if s.counts)

    def n(self, level: Level) -> int:
        """Return how many of the counted suites have this level."""
        return sum(s.level == level for s in self.counted)

    @property
    def verdict(self) -> Verdict:
        """The verdict: every counted suite has to agree, or be consistent."""
        if not all(d.is_same for d in self.digests):
            return "not comparable"
        if not self.counted or self.n("not compared") == len(self.counted):
            return "not comparable"
        return (
            "agrees" if self.n("agrees") + self.n("consistent") == len(self.counted) else "differs"
        )

    def digested(self) -> Json:
        """Return what the digest covers."""
        return {"schema": SCHEMA, **asdict(self), "verdict": self.verdict}

    @property
    def digest(self) -> str:
        """Return ``sha256:`` and the digest of the whole content."""
        return digest_of(self.digested())

    def to_json(self) -> str:
        """Return reproduction.json."""
        plain = {**self.digested(), "digest": self.digest}
        return to_document(plain)

    @classmethod
    def from_json(cls, text: str) -> "Reproduction":
        """Read what `to_json` wrote.

        Raises
        ------
        ReportError
            If it is not a reproduction of this schema, or was changed after it was written.
        """
        plain = with_schema(text, SCHEMA, "reproduction")
        try:
            found = built(cls, plain)
            sealed = digest_of({k: v for k, v in plain.items() if k != "digest"})
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ReportError(f"not a whole reproduction: {error!r:.200}") from None
        if plain.get("digest") != sealed or plain.get("verdict") != found.verdict:
            raise ReportError("the reproduction was changed after it was written.")
        return found


def claimed_party(stated: str | None, environment: Mapping[str, str] | None = None) -> Party:
    """Return who claims to run this: as stated, else the repository of a GitHub workflow."""
    environment = os.environ if environment is None else environment
    if stated:
        return Party(stated, "stated")
    owner = environment.get("GITHUB_REPOSITORY_OWNER")
    if environment.get("GITHUB_ACTIONS") == "true" and owner:
        repository, number = environment.get("GITHUB_REPOSITORY"), environment.get("GITHUB_RUN_ID")
        return Party(owner, "github", repository, number)
    return Party()
