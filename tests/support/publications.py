"""A published model to tamper with: a real run of the demo, in a repository of org-a."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest_bias
from own_sigstore import Sigstore
from pytest_bias.emit import badges
from pytest_bias.emit.card import model_index
from pytest_bias.emit.card import section as card
from pytest_bias.emit.card.readme import merged
from pytest_bias.engine import session
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.provenance import Traits
from pytest_bias.evidence.publishing import Prepared, prepare, write
from pytest_bias.evidence.reproduction import Party
from pytest_bias.evidence.reproduction_compare import reproduction
from pytest_bias.evidence.verification import Publication, Trust, Verified, verify_publication
from pytest_bias.models import ModelRef
from pytest_bias.models.fingerprint import fingerprint
from pytest_bias.models.snapshot import locate
from pytest_bias.records.report import (
    Record,
    Report,
    canonical_json,
    items_digest,
    records_digest,
    sha256,
)
from pytest_bias.reports.folder import REPORT, read_plain_report, read_report, write_report
from pytest_bias.reports.publication_layout import BIAS, CURRENT, REPRODUCTION, SIGNATURE, digest12
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.settings.settings import Settings
from pytest_bias.suites import find
from pytest_bias.suites.results import scored

NAME = "org-a/model"
SUITE = "template_association"
ENTRY = f"{SUITE}[en]"
DEMOS = Path(pytest_bias.__file__).parent / "models" / "demo"
Edit = Callable[[dict[str, Any]], object]


def measured(model: Path) -> Report:
    """Return a real report of a folder with a demo model, as if it were on the Hub."""
    settings = Settings(suites=(SUITE,), languages=("en",), offline=True)
    made = session.run(session.Session(plan(describe_for(settings, str(model)), settings)))
    return replace(made, model=replace(made.model, reference=NAME))


@dataclass(frozen=True)
class Repository:
    """A model's repository on this machine, which stands for one on the Hub."""

    root: Path
    sigstore: Sigstore
    name: str = NAME

    def publication(self, root: Path | None = None) -> Publication:
        """Return what it publishes now."""
        root = root or self.root
        ref = ModelRef.parse(str(root))
        pointer = root / CURRENT
        digest = json.loads(pointer.read_text("utf-8"))["report"] if pointer.is_file() else ""
        return Publication(
            self.name,
            root,
            root / BIAS / digest12(digest) if digest else root / BIAS,
            digest,
            fingerprint(ref),
            Traits.of(locate(ref)),
            "https://huggingface.co",
        )

    @property
    def trust(self) -> Trust:
        """Trust our own Sigstore."""
        return Trust(self.sigstore.trusted_root, offline=True)

    @property
    def folder(self) -> Path:
        """Folder of the report that counts."""
        return self.publication().folder

    @property
    def report(self) -> Report:
        """The report that counts."""
        return read_plain_report(self.folder / REPORT, check=False)

    def publish(self, source: Path) -> Prepared:
        """Publish a folder, as the command does."""
        made = prepare(source, self.publication(), Settings(), self.trust)
        write(made, self.root)
        return made

    def verify(self) -> Verified:
        """Check everything, as the command does."""
        return verify_publication(self.publication(), Settings(), self.trust)

    def outcomes(self) -> dict[str, str]:
        """Return check to outcome."""
        return {named(c): c.outcome for c in self.verify().checks}

    def failing(self) -> dict[str, str]:
        """Return what fails, and why."""
        return {named(c): c.detail for c in self.verify().checks if c.outcome == "fails"}

    def edit(self, change: Edit, *, seal: bool = True) -> None:
        """Edit the report that counts; `seal` computes all digests anew and draws all anew."""
        path = self.folder / REPORT
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        if seal:
            content["digest"] = digest_of(content)
        path.write_text(json.dumps(content), encoding="utf-8")
        if seal:
            self.move(content["digest"])

    def move(self, digest: str) -> None:
        """Give a report's folder, the pointer, badges and card the names of a new digest."""
        before = self.folder
        after = before.with_name(digest12(digest))
        if before != after:
            before.rename(after)
        pointer = json.loads((self.root / CURRENT).read_text(encoding="utf-8"))
        (self.root / CURRENT).write_text(json.dumps({**pointer, "report": digest}), "utf-8")
        self.draw()

    def draw(self) -> None:
        """Draw badges and card anew, as a forger would."""
        report, found = self.report, self.publication()
        shutil.rmtree(self.root / BIAS / "badges")
        (self.root / BIAS / "badges").mkdir()
        for name, text in badges.render(report).items():
            (self.root / BIAS / name).write_text(text, encoding="utf-8")
        readme, place = self.root / "README.md", found.place(report)
        section, entries = card.section(report, place), model_index.entries(report, place)
        readme.write_bytes(merged(readme.read_bytes(), section, entries))

    def sign(self, path: Path, owner: str, **more: Any) -> None:
        """Sign a file, by our workflow unless told otherwise."""
        bundle = self.sigstore.sign(
            path.read_bytes(), owner=owner, repository=f"{owner}/runs", **more
        )
        path.with_name(f"{path.name}{SIGNATURE}").write_bytes(bundle)


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest that a report.json of this content states."""
    covered = {k: v for k, v in content.items() if k not in ("digest", "run")}
    return f"sha256:{sha256(canonical_json(covered))}"


def named(check: Check) -> str:
    """Return the name of a check with what it is about."""
    return f"{check.about} {check.what}".strip()


def source_of(report: Report, folder: Path) -> Path:
    """Write a report as a run does."""
    write_report(report, badges.render(report), folder)
    return folder


def with_records(report: Report, change: Callable[[Record], Record | None]) -> Report:
    """Return a report made from other records, whole in itself: scores and digests are anew."""
    suites = []
    for suite in report.suites:
        if suite.name == SUITE:
            records = tuple(r for r in map(change, suite.records) if r is not None)
            assert suite.data is not None
            data = replace(suite.data, n_items=len(records), items_sha256=items_digest(records))
            suite = replace(
                suite, records=records, records_sha256=records_digest(records), data=data
            )
            suite = scored(suite, find(SUITE), 0)
        suites.append(suite)
    return replace(report, suites=with_decision_family(suites), sealed=None)


def rerun(repository: Repository, folder: Path, owner: str = "org-b", **more: Any) -> Path:
    """Return the folder of a second run of what a repository publishes: the same numbers again."""
    first = read_report(repository.folder)
    again = replace(more.pop("again", first), sealed=None)
    source_of(again, folder)
    of: Mapping[str, Any] = {"published_at": NAME, "by": Party(owner, "stated")}
    made = replace(reproduction(first, again, **of), **more)
    (folder / REPRODUCTION).write_text(made.to_json(), encoding="utf-8")
    return folder


def unsign(repository: Repository) -> None:
    """Remove every signature."""
    for path in repository.root.rglob(f"*{SIGNATURE}"):
        path.unlink()


def forge(repository: Repository, report: Report) -> None:
    """Put a report in the place of the one that counts, all digests right, without a signature."""
    unsign(repository)
    folder = repository.folder
    shutil.rmtree(folder)
    source_of(report, folder)
    shutil.rmtree(folder / "badges", ignore_errors=True)
    repository.move(report.digest)
