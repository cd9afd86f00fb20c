"""The commands ``verify``, ``reproduce`` and ``publish``: from arguments to an exit code."""

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

from pytest_bias.cli.eval_results import with_eval_results
from pytest_bias.cli.screens import checks as emit_checks
from pytest_bias.cli.screens import reproduction as emit_reproduction
from pytest_bias.emit.wording import size
from pytest_bias.errors import ModelError, OutputError, ReportError, UsageError
from pytest_bias.evidence.attested import verification_result
from pytest_bias.evidence.checks import Check, exit_code
from pytest_bias.evidence.locate import Named, named, publication
from pytest_bias.evidence.publishing import (
    Prepared,
    prepare,
    require_own_files,
    require_report,
    write,
)
from pytest_bias.evidence.reproduction import EXITS, Reproduction, claimed_party
from pytest_bias.evidence.reproduction_compare import reproduction
from pytest_bias.evidence.rerun import run_again, settings_of
from pytest_bias.evidence.verification import Trust, verify_publication, verify_report
from pytest_bias.hub import repository as hub
from pytest_bias.models import ModelRef
from pytest_bias.models.snapshot import file_sha256
from pytest_bias.records.documents import write_whole
from pytest_bias.reports.folder import REPORT, hold, read_plain_report, read_report
from pytest_bias.reports.publication_layout import BIAS, README, REPRODUCTION, digest12, title_of
from pytest_bias.reports.publication_pointer import published
from pytest_bias.settings.settings import Settings
from pytest_bias.untrusted import clean, visible


class Published(NamedTuple):
    """Addresses of the commit and of the pull request; None where there is none."""

    published: str | None = None
    proposed: str | None = None


def trust_of(trusted_root: Path | None, settings: Settings, model_key: Path | None = None) -> Trust:
    """Return how signatures are checked.

    Raises
    ------
    UsageError
        If the trust root or the key is no file, which would go unnoticed if nothing is signed.
    """
    if model_key and not model_key.is_file():
        raise UsageError(
            f"--model-key {model_key}: there is no such file.",
            "It is the public key in PEM that model_signing verify key takes as --public_key.",
        )
    if trusted_root and not trusted_root.is_file():
        raise UsageError(
            f"--trusted-root {trusted_root}: there is no such file.",
            "Without the option the public Sigstore is trusted.",
        )
    return Trust(trusted_root, settings.offline, model_key)


def verify_command(
    text: str,
    settings: Settings,
    trust: Trust,
    console: Console,
    full: Path | None = None,
    svr: Path | None = None,
) -> int:
    """Check a report, or the evidence that a model publishes; returns the exit code.

    With `svr`, the checks that hold are written to a file, unless one fails.
    """
    with named(text, offline=trust.offline) as found, console.status("Checking …"):
        checks = [*found.remarks, *_linked(found), *_checks(found, settings, trust, full)]
        file = found.folder / REPORT if found.folder.is_dir() else found.folder
        digest = file_sha256(file)
    is_public = found.is_public
    emit_checks.show(checks, console)
    console.print()
    # Shown for a model's folder as well, where it does not affect the exit code.
    told = emit_checks.sentence(checks, published=is_public or found.publication is not None)
    console.print(Text(told, style="bold"), soft_wrap=True)
    if svr:
        console.print(Text(_write_result(svr, digest, checks)), soft_wrap=True)
    return exit_code(checks, published=is_public)


def _write_result(path: Path, digest: str, checks: list[Check]) -> str:
    """Write a verification result where no check fails; returns what to say."""
    if any(c.outcome == "fails" for c in checks):
        earlier = " What is there is of an earlier check." if path.exists() else ""
        return f"Nothing is written to {path}, since a check fails.{earlier}"
    try:
        write_whole(path, verification_result(digest, checks))
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from None
    return f"Written  {path}"


def _checks(found: Named, settings: Settings, trust: Trust, full: Path | None) -> list[Check]:
    if found.publication and not full:
        return list(verify_publication(found.publication, settings, trust).checks)
    return verify_report(
        found.folder, settings, trust, full, is_run=found.is_run, is_public=found.is_public
    )


def _linked(found: Named) -> list[Check]:
    """Check the digest in a link, or its beginning in the name of the folder."""
    file = found.folder / REPORT if found.folder.is_dir() else found.folder
    folder = file.absolute().parent
    short = folder.name if folder.parent.name == BIAS and found.report else ""
    if not found.digest and not short:
        return []
    report = read_plain_report(file, check=False)
    if short and digest12(str(report.sealed)) != short:
        there = f"the folder is called {short}, there lies {report.sealed!s:.19}"
        return [Check("link", "fails", there)]
    if not found.digest or report.sealed == found.digest:
        return [Check("link", "holds", f"it leads to {report.sealed!s:.19}")]
    there = str(report.sealed)[:19]
    return [Check("link", "fails", f"it names {found.digest[:19]}, there lies {there}")]


def publish_command(
    source: Path,
    repository: str,
    settings: Settings,
    trust: Trust,
    console: Console,
    *,
    create_pr: bool,
    dry_run: bool,
    keep_earlier: bool = False,
    with_results: bool = False,
) -> Published:
    """Publish a report, or a reproduction, to a model's folder or its repository on the Hub.

    `with_results` adds results for the leaderboards of registered benchmarks.
    """
    folder = require_report(source)
    ref = ModelRef.parse(repository)
    if ref.source not in ("folder", "hub") or ref.adapter:
        raise UsageError(f"--repo {repository}: reports are published to a folder or to org/name.")
    if ref.revision:
        raise UsageError(
            f"--repo {repository}: a report is published at the head, not at a commit."
        )
    if ref.path and with_results:
        raise UsageError(
            f"--eval-results and --repo {repository}: a result names its evidence by address.",
            "--repo org/name, a repository on the Hub",
        )
    if ref.path:
        require_own_files(ref.path)
    with ExitStack() as stack:
        if ref.path and not dry_run:
            hint = "Publish again when it has ended."
            stack.enter_context(closing(hold(ref.path, hint)))
        there = hub.look(ref.name, offline=trust.offline) if ref.source == "hub" else None
        # The files are for exactly this commit, and refused if the repository moves meanwhile.
        ref = replace(ref, revision=there.head) if there else ref
        found = published(ref, offline=trust.offline)
        target = publication(ref, found, offline=trust.offline)
        with console.status("Working out what changes, and checking it …"):
            prepared = prepare(folder, target, settings, trust, keeps=keep_earlier)
            if there and with_results:
                place = target.place(prepared.report)
                prepared = with_eval_results(
                    prepared, there, place, settings, keeps=keep_earlier, offline=trust.offline
                )
        _tell(prepared, console)
        if dry_run:
            _show_diff(prepared, console)
            return Published()
        if not prepared.changes:
            console.print(Text(f"{ref.name} holds all of it already: nothing to do.", style="bold"))
            return Published()
        if there:
            return _commit(there, prepared, console, create_pr=create_pr, offline=trust.offline)
        write(prepared, target.root)
        n = len(prepared.changes)
        told = f"{n} files in {target.root}. Others see them once it is uploaded."
        console.print(Text(told, style="bold"), soft_wrap=True)
        return Published()


def _commit(
    there: hub.Repository, prepared: Prepared, console: Console, *, create_pr: bool, offline: bool
) -> Published:
    if there.about_access:
        console.print(Text(there.about_access, style="yellow"), soft_wrap=True)
    report = prepared.report
    title = title_of(report)
    if create_pr and (page := _proposed(there, title, offline=offline)):
        told = f"This report is proposed already: {page}"
        console.print(Text(told, style="bold"), soft_wrap=True)
        return Published(proposed=page)
    made = hub.commit(
        there,
        prepared.files,
        removed=prepared.removed,
        message=title,
        description=f"Published by pytest-bias {report.tool['version']}. Digest: {report.digest}",
        create_pr=create_pr,
        offline=offline,
    )
    for notice in made.notices:
        console.print(Text(clean(notice, 500), style="yellow"), soft_wrap=True)
    console.print(Text(f"Published: {made.pull_request or made.url}", style="bold"), soft_wrap=True)
    return Published(proposed=made.pull_request) if made.pull_request else Published(made.url)


def _proposed(there: hub.Repository, title: str, *, offline: bool) -> str | None:
    """Return the page of our own open pull request with that title; None if there is none."""
    try:
        pulls = hub.own_proposals(there, offline=offline)
    except ModelError:
        # A token of trusted publishing belongs to a workflow, which has no name to ask for.
        return None
    return next((pull.page for pull in pulls if pull.title == title), None)


def _tell(prepared: Prepared, console: Console) -> None:
    for notice in prepared.notices:
        console.print(Text(notice, style="yellow"), soft_wrap=True)
    for check in prepared.checks:
        if check.outcome != "holds" and check.what != "signature":
            told = f"{check.about} {check.what}: {check.outcome}, {check.detail}".strip()
            console.print(Text(clean(told, 500), style="yellow"), soft_wrap=True)


_STYLES: Final = {"+": "green", "-": "red", "@": "dim"}


def _show_diff(prepared: Prepared, console: Console) -> None:
    for change in prepared.changes:
        content = change.after if change.after is not None else change.before
        what = "new" if change.before is None else "gone" if change.after is None else "changed"
        told = f"{what:<8}{change.path}  {size(len(content or b''))}"
        console.print(Text(told), soft_wrap=True)
    for change in prepared.changes:
        if change.path == README:
            for line in change.diff():
                console.print(Text(visible(line), style=_STYLES.get(line[:1], "")), soft_wrap=True)
    n = len(prepared.changes)
    console.print(Text(f"Dry run: {n} files would change, nothing was written.", style="bold"))


def reproduce_command(
    text: str, settings: Settings, trust: Trust, console: Console, *, by: str | None
) -> int:
    """Run a published report again and compare the two; returns the exit code."""
    with named(text, offline=trust.offline) as found:
        report = read_report(found.folder)
        if report.withheld:
            raise ReportError(
                f"the scores of {text} are withheld: there is nothing to compare with.",
                "Ask its owner for the full report.",
            )
        again, out = run_again(report, settings_of(report, found, settings, text), console)
    if again is None:
        return 130
    result = reproduction(report, again, _where(found, text), claimed_party(by), settings.catalogue)
    path = out / REPRODUCTION
    path.write_text(result.to_json(), encoding="utf-8", newline="\n")
    console.print()
    emit_reproduction.show(result, console)
    console.print()
    console.print(Text(f"Written  {path}"), soft_wrap=True)
    _how_on(result, found, out, console)
    return EXITS[result.verdict]


def _how_on(result: Reproduction, found: Named, out: Path, console: Console) -> None:
    if result.verdict == "agrees" and found.publication and found.publication.owner:
        name = found.publication.name
        told = f"Publish  pytest-bias publish {out} --repo {name} --create-pr"
        console.print(Text(told), soft_wrap=True)


def _where(found: Named, text: str) -> str:
    if found.publication and found.publication.owner:
        revision = found.publication.head and found.publication.head.revision
        return f"{found.publication.name}@{revision}" if revision else found.publication.name
    return text if "://" in text else Path(text).name
