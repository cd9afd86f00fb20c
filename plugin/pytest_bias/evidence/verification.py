"""Verification of everything that a model's repository publishes.

`evidence.report` checks one report from its own files. This module checks a model's repository:
that the report is of the model in it, that badges and card follow from the report, who signed it,
and the reproductions by others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

from pytest_bias.errors import BiasError, ReportError
from pytest_bias.evidence import signatures
from pytest_bias.evidence.attested import bundle_of, signed_model_check, verdicts_check
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.provenance import Traits
from pytest_bias.evidence.rendered import badges_check, card_check
from pytest_bias.evidence.report import verify
from pytest_bias.evidence.reproduction import Reproduction
from pytest_bias.evidence.reproduction_compare import reproduction
from pytest_bias.evidence.signatures import OWNER, Signature, Signer, by_our_workflow, owners_differ
from pytest_bias.evidence.signatures.model_signing import SignedFiles, signed_files
from pytest_bias.models.fingerprint import ModelFingerprint, differences
from pytest_bias.records.documents import to_document
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT, read_plain_report, read_report
from pytest_bias.reports.publication_layout import (
    CURRENT_SCHEMA,
    REPRODUCTION,
    REPRODUCTIONS,
    SIGNATURE,
    Place,
    PublicationStatus,
    Rerun,
    digest12,
    unproven,
)
from pytest_bias.settings.settings import Settings

REPRODUCTION_CHECK: Final = "reproduction"
"""Name of the checks of reproductions, before the name of the folder."""

VALIDATING: Final = (
    "Results Validated takes a signature by a workflow of pytest-bias, of another owner than the "
    "author's and the model's"
)


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication in a model's repository.

    Parameters
    ----------
    name : str
        ``org/name`` on the Hub, else the name of the folder.
    root : Path
        Folder with README.md and ``bias/``.
    folder : Path
        Folder of the report that counts.
    digest : str
        Digest of that report, as the pointer states it.
    head : ModelFingerprint or None
        Current state of the model; None where it is not known.
    traits : Traits or None
        Facts from its files that decide which suites apply.
    endpoint : str
        Address of the Hub; empty for a folder.
    """

    name: str
    root: Path
    folder: Path
    digest: str
    head: ModelFingerprint | None = None
    traits: Traits | None = None
    endpoint: str = ""

    @property
    def owner(self) -> str:
        """Owner of the repository on the Hub; empty for a folder."""
        return self.name.partition("/")[0] if self.endpoint else ""

    def place(self, report: Report) -> Place:
        """Return where the links of its card point."""
        if self.endpoint:
            return Place.on_hub(self.name, report, self.endpoint)
        return Place.in_repository(report)


@dataclass(frozen=True, slots=True)
class Verified:
    """The outcomes of the checks, and the status that badges may show."""

    checks: tuple[Check, ...]
    standing: PublicationStatus
    signer: str = ""


@dataclass(frozen=True, slots=True)
class Trust:
    """How signatures are checked; `model_key` is the public key that signed the model's files."""

    trusted_root: Path | None = None
    offline: bool = False
    model_key: Path | None = None

    def of(self, file: Path) -> Signature:
        """Check the signature beside a file."""
        bundle = file.with_name(f"{file.name}{SIGNATURE}")
        content = bundle.read_bytes() if bundle.is_file() else None
        return signatures.signature(
            file.read_bytes(), content, trusted_root=self.trusted_root, offline=self.offline
        )

    def verdicts(self, folder: Path, report: Report, authors: Sequence[Signer]) -> list[Check]:
        """Check the signed verdicts on limits beside a report; none if there are none."""
        bundle = bundle_of(folder)
        if not bundle.is_file():
            return []
        found = signatures.statement(
            bundle.read_bytes(), trusted_root=self.trusted_root, offline=self.offline
        )
        return [verdicts_check(found, folder, report, authors)]

    def of_model(self, bundle: Path) -> SignedFiles:
        """Check the signature of a model's files."""
        return signed_files(
            bundle.read_bytes(),
            key=self.model_key,
            trusted_root=self.trusted_root,
            offline=self.offline,
        )


def signature_check(found: Signature) -> Check:
    """Return the check that states who signed a report."""
    detail = found.detail
    if found.outcome == "unverified":
        detail = "nobody signed it: its publisher could have made up all of it"
    return Check("signature", found.outcome, detail)


def verify_publication(found: Publication, settings: Settings, trust: Trust) -> Verified:
    """Check everything that a model's repository publishes.

    Raises
    ------
    ReportError
        If there is no report that can be read.
    """
    file = found.folder / REPORT
    report = read_plain_report(file, check=False)
    checks = [_pointer(found, report), *_model(found, report)]
    for source, bundle in found.head.signatures.items() if found.head else ():
        checks += signed_model_check(report, source, trust.of_model(bundle))
    checks += verify(found.folder, settings=settings, traits=found.traits, is_run=False)
    signed = trust.of(file)
    checks.append(signature_check(signed))
    authors = signed.signers
    checks += trust.verdicts(found.folder, report, authors)
    reruns = []
    for again, rows in _reproductions(found, report, authors, trust, settings):
        checks += rows
        if again:
            reruns.append(again)
    stale = any(c.what == "model" and c.outcome == "fails" for c in checks)
    standing = PublicationStatus(stale, _best(reruns))
    otherwise = None
    if any(c.outcome == "unknown" and c.what.startswith(REPRODUCTION_CHECK) for c in checks):
        otherwise = PublicationStatus(stale, _best([replace(r, signed=True) for r in reruns]))
    # A folder that was published locally and then pushed has links to its own files.
    places = (found.place(report), Place.in_repository(report))
    drawn = partial(badges_check, found.root, report, catalogue=settings.catalogue)
    checks.append(_shown(drawn, standing, otherwise))
    checks.append(_shown(partial(card_check, found.root, report, places), standing, otherwise))
    author = authors[0].owner if authors else ""
    return Verified(tuple(checks), standing, author)


def require_checked(found: Verified) -> None:
    """Raise `ReportError` if badges would lose a signature only because it cannot be checked here.

    Whether a re-run validates is then not known, and badges drawn now would show that it does not.
    """
    for check in found.checks:
        if check.outcome == "unknown" and check.what.startswith(REPRODUCTION_CHECK):
            raise ReportError(
                f"{check.what} cannot be checked here, so it is not known what its badge may say: "
                f"{check.detail}",
                "pip install 'pytest-bias[signatures]'",
            )


def _best(reruns: Sequence[Rerun]) -> Rerun | None:
    """Return the re-run that badges name: of the signed ones, if any, the one that agrees most."""
    return max(reruns, key=lambda r: (r.signed, r.agree + r.consistent, r.agree), default=None)


def _pointer(found: Publication, report: Report) -> Check:
    name = "report that counts"
    folder = digest12(str(report.sealed))
    if report.sealed != found.digest or folder != found.folder.name:
        said = f"{found.digest[:19]} is named, bias/{found.folder.name} holds {report.digest[:19]}"
        return Check(name, "fails", said)
    return Check(name, "holds", f"bias/{folder}")


def _model(found: Publication, report: Report) -> Iterator[Check]:
    """Check that a report is of the model in its repository, and not of an older version."""
    stated = report.model.reference
    if found.owner and "/" in stated and stated != found.name:
        yield Check("model", "fails", f"the report is of {stated!a}, not of {found.name}")
        return
    if report.model.asked:
        yield Check("model", "fails", unproven(report.model))
        return
    if found.head is None:
        yield Check("model", "unknown", "the files of the model are not at hand")
        return
    if parts := _misnamed(report.model, found.head):
        yield Check("model", "fails", f"the report is of {parts}")
        return
    if other := differences(report.model, found.head):
        what = ", ".join(other)
        yield Check("model", "fails", f"stale: {what} changed since it was measured")
        return
    at = f" at {found.head.revision[:7]}" if found.head.revision else ""
    yield Check("model", "holds", f"weights, configuration, tokenizer and code are those{at}")


def _shown(
    check: Callable[[PublicationStatus], Check],
    standing: PublicationStatus,
    otherwise: PublicationStatus | None,
) -> Check:
    """Check badges or card; state if they are right provided that unchecked signatures are valid.

    `otherwise` is the status of the report if these signatures are valid.
    """
    found = check(standing)
    if found.outcome != "fails" or otherwise is None or check(otherwise).outcome != "holds":
        return found
    return replace(found, outcome="unknown", detail="right if the signatures hold")


def _misnamed(stated: ModelIdentity, head: ModelFingerprint) -> str:
    """Return where a report gives the parts of an adapted model other names than they have."""
    one, other = stated.adapter, head.adapter
    if one and other and (stated.base_model, one.reference) != (head.base, other.reference):
        given = f"{stated.base_model}+{one.reference}"
        return f"{given!a}, not of {head.base}+{other.reference}"
    return ""


def _reproductions(
    found: Publication,
    report: Report,
    authors: Sequence[Signer],
    trust: Trust,
    settings: Settings,
) -> Iterator[tuple[Rerun | None, list[Check]]]:
    folder = found.folder / REPRODUCTIONS
    # Its records are read once, and only if there is a reproduction to compare.
    whole = cache(partial(read_report, found.folder))
    others = (authors, found.owner)
    for path in sorted(folder.glob(f"*/{REPRODUCTION}")):
        yield _checked_reproduction(path, report, whole, others, trust, settings)


def _checked_reproduction(
    path: Path,
    report: Report,
    whole: Callable[[], Report],
    others: tuple[Sequence[Signer], str],
    trust: Trust,
    settings: Settings,
) -> tuple[Rerun | None, list[Check]]:
    """Check one reproduction of a report; None where a check fails.

    The second run is checked like the first; its result is computed again from the records of both,
    so that no value in reproduction.json itself is trusted.
    """
    name = f"{REPRODUCTION_CHECK} {path.parent.name}"
    try:
        stated = Reproduction.from_json(path.read_text(encoding="utf-8"))
        own = read_report(path.parent)
        if asked := [r.model for r in (report, own) if r.model.asked]:
            return None, [Check(name, "fails", unproven(asked[0]))]
        if stated.of != report.digest:
            said = f"it is of the report {stated.of[:19]}, not of this one"
            return None, [Check(name, "fails", said)]
        again = reproduction(whole(), own, stated.published_at, stated.by, settings.catalogue)
    except (BiasError, OSError, UnicodeDecodeError, ValueError) as error:
        detail = error.message if isinstance(error, BiasError) else str(error)
        return None, [Check(name, "fails", detail[:300])]
    # Look for data only in caches.
    plain = Settings(suites=settings.suites)
    bad = [c for c in verify(path.parent, settings=plain, is_run=False) if c.outcome == "fails"]
    if bad:
        first = bad[0]
        said = f"its own report does not hold: {first.about} {first.what}: {first.detail}"
        return None, [Check(name, "fails", " ".join(said.split()))]
    if replace(again, created=stated.created) != stated:
        return None, [Check(name, "fails", "it does not say what the two reports give")]
    signed = trust.of(path)
    rerun = Rerun(
        owner=signed.signer.owner if signed.signer else _named(stated.by.owner),
        agree=again.n("agrees"),
        of=len(again.counted),
        consistent=again.n("consistent"),
    )
    return _signed(name, rerun, again, signed, others)


def _signed(
    name: str,
    rerun: Rerun,
    again: Reproduction,
    signed: Signature,
    others: tuple[Sequence[Signer], str],
) -> tuple[Rerun | None, list[Check]]:
    """Return a re-run with the status that its signature gives it, and the checks."""
    counts = f"{rerun.agree} of {rerun.of} suites agree"
    if rerun.consistent:
        counts += f", {rerun.consistent} more are consistent"
    if again.verdict == "not comparable":
        return None, [Check(name, "fails", "the two runs are not of the same model and data")]
    if signed.outcome == "fails":
        return None, [Check(name, "fails", f"its signature does not hold: {signed.detail}")]
    if signed.signer is None:
        by = f" by {rerun.owner}, as it says" if rerun.owner else ""
        said = f"{counts}; re-run{by}; {signed.detail}"
        return rerun, [Check(name, signed.outcome, said)]
    if not signed.signer.owner or not by_our_workflow(signed.signer):
        said = f"{counts}; signed by {signed.signer.identity}. {VALIDATING}."
        return replace(rerun, owner=""), [Check(name, "unverified", said)]
    authors, owner = others
    by = str(signed.signer).partition(", in a run")[0]
    if signed.signer.runner == "self-hosted":
        by += " on a machine of its own"
    if not authors:
        said = (
            f"{counts}; re-run by {by}, signed; nobody signed the report, so its author is unknown"
        )
        return rerun, [Check(name, "unverified", said)]
    # A signer with an e-mail address has no owner name to compare.
    known: list[str | Signer] = [a for a in authors if a.owner]
    known += [owner] if owner else []
    if not known:
        said = f"{counts}; re-run by {by}, signed; the model's owner is not known"
        return rerun, [Check(name, "unverified", said)]
    if not owners_differ(signed.signer, *known):
        said = f"re-run by {by}, who owns the report or the model: no validation"
        return None, [Check(name, "fails", said)]
    return replace(rerun, signed=True), [Check(name, "holds", f"{counts}; re-run by {by}, signed")]


def _named(owner: str) -> str:
    """Return a name that is stated without a signature, if it is valid and claims nothing."""
    return owner if OWNER.fullmatch(owner) and "validated" not in owner.lower() else ""


def pointer_of(report: Report) -> str:
    """Return the content of the pointer that names a report."""
    return to_document({"schema": CURRENT_SCHEMA, "report": report.digest})


def verify_report(
    path: Path,
    settings: Settings,
    trust: Trust,
    full: Path | None = None,
    *,
    is_run: bool = True,
    is_public: bool = False,
) -> list[Check]:
    """Check a report outside of a model's repository: its files, and who signed it.

    A report that is public is expected to be signed.
    """
    file = path / REPORT if path.is_dir() else path
    checks = verify(path, full, settings, is_run=is_run)
    signed = trust.of(file)
    if is_public or signed.outcome != "unverified":
        checks.append(signature_check(signed))
    report = read_plain_report(file, check=False)
    return checks + trust.verdicts(file.parent, report, signed.signers)
