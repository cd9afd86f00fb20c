"""Reports of earlier runs from a GitHub on this machine: which one counts, and no other."""

import io
import stat
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from github_server import JOB, Failure, GitHub, Token, serving, zipped
from pytest_bias.ci import contents
from pytest_bias.ci.github import api, artifacts
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.artifacts import Found, last_report
from pytest_bias.errors import ProviderError, UsageError

REF = "org/training/.github/workflows/bias.yml@refs/heads/main"
REPORT = {"report.json": b"{}", "badges/a.svg": b"<svg/>", "records/a[en].parquet": b"PAR1"}


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    monkeypatch.setattr(api, "PATIENCE", replace(api.PATIENCE, backoff_s=0))
    with serving(GitHub()) as running:
        for name, value in running.env.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def last(github: GitHub, tmp_path: Path):
    """Return a function that asks for the last report."""

    def ask(ref: str = REF, run_id: int = 1, **more: str) -> Found | None:
        client = Client.of("job-token")
        into = tmp_path / "into"
        return last_report(
            client, name="bias-report", workflow_ref=ref, run_id=run_id, into=into, **more
        )

    return ask


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


def test_the_report_of_the_last_run_is_unpacked(github, last):
    github.artifact(github.run(), {"report.json": b"old"})
    run = github.run()
    github.artifact(run, REPORT)
    found = last()
    assert files_of(found.folder) == REPORT
    assert found.source == f"the artifact bias-report of run {run.id} on main"
    assert found.address == f"https://github.com/org/training/actions/runs/{run.id}"


def test_where_there_never_was_one(github, last):
    assert last() is None
    github.artifact(github.run(), REPORT, "another-name")
    assert last() is None


NOT_OURS = {
    "a fork whose branch is main too": {"head_repository": 2},
    "a pull request of a fork": {"head_repository": 2, "event": "pull_request"},
    "a pull request": {"event": "pull_request"},
    "a pull request, with rights": {"event": "pull_request_target"},
    "a comment": {"event": "issue_comment"},
    "the end of another workflow": {"event": "workflow_run"},
    "another branch": {"branch": "feature"},
    "another workflow": {"path": ".github/workflows/other.yml"},
    "a failure": {"conclusion": "failure"},
    "a cancelled run": {"conclusion": "cancelled"},
    "a run that is under way": {"conclusion": None},
}


@pytest.mark.parametrize("more", NOT_OURS.values(), ids=NOT_OURS)
def test_runs_that_do_not_count(github, last, more):
    good = github.run()
    github.artifact(good, {"report.json": b"good"})
    github.artifact(github.run(**more), {"report.json": b"bad"})
    assert files_of(last().folder) == {"report.json": b"good"}
    del github.artifacts[0]
    assert last() is None


def test_the_artifacts_word_on_its_run_is_not_taken(github, last):
    # Listed as one of the repository's own branch; its run says otherwise.
    run = github.run(head_repository=2)
    listed = github.run()
    github.artifact(listed, REPORT)
    github.runs[listed.id] = run
    assert last() is None


def test_this_run_is_not_meant(github, last):
    run = github.run()
    github.artifact(run, REPORT)
    assert last(run_id=run.id) is None


@pytest.mark.parametrize("event", artifacts.EVENTS)
def test_runs_that_count(github, last, event):
    run = github.run(event=event, branch="release", path=".github/workflows/bias.yml@main")
    github.artifact(run, REPORT)
    assert last() is None
    assert last(branch="release") is not None


def test_the_default_branch_is_asked_for(github, last):
    github.default_branch = "trunk"
    github.artifact(github.run(branch="trunk"), REPORT)
    assert "on trunk" in last().source


def test_a_run_that_was_deleted_does_not_count(github, last):
    run = github.run()
    github.artifact(run, REPORT)
    del github.runs[run.id]
    assert last() is None


def test_it_is_found_on_a_later_page(github, last):
    github.page_size = 2
    github.artifact(github.run(), REPORT)
    for _ in range(6):
        github.artifact(github.run(head_repository=2), REPORT)
    assert last() is not None
    # Artifacts of forks are passed over without a question.
    assert sum("/actions/runs/" in line for line in github.asked) == 1


def test_an_expired_one_is_an_error_that_says_what_to_do(github, last):
    github.artifact(github.run(), REPORT, expired=True)
    with pytest.raises(ProviderError, match="has expired on 2027-01-30") as caught:
        last()
    assert "`badges-branch`" in str(caught.value)
    assert "`baseline: published`" in str(caught.value)


def test_an_expired_one_of_a_fork_is_none(github, last):
    github.artifact(github.run(head_repository=2), REPORT, expired=True)
    assert last() is None


def test_too_many_failed_runs_are_not_asked_for(github, last, monkeypatch):
    monkeypatch.setattr(artifacts, "MOST_RUNS", 2)
    for conclusion in ("success", "failure", "failure"):
        github.artifact(github.run(conclusion=conclusion), REPORT)
    with pytest.raises(ProviderError, match="none of the 2 newest"):
        last()


def test_a_token_that_may_not_ask(github, last):
    github.private = True
    github.tokens["job-token"] = Token(may={"contents": "read"})
    with pytest.raises(ProviderError, match="`actions: read`"):
        last()


@pytest.mark.parametrize("ref", ["", "org/other/.github/workflows/x.yml@main", "org/training/@x"])
def test_a_workflow_that_is_not_of_the_repository(last, ref):
    with pytest.raises(UsageError, match="names no workflow of org/training"):
        last(ref)


# The download


def test_the_token_does_not_follow_to_the_storage(github, last, capfd):
    github.artifact(github.run(), REPORT)
    assert last() is not None
    (headers,) = [headers for line, headers in github.sent if line.startswith("storage")]
    assert "Authorization" not in headers
    assert "job-token" not in capfd.readouterr().out


def test_the_signed_address_is_not_shown(github, last):
    github.artifact(github.run(), REPORT)
    github.failures["storage"] = [Failure(403, message="AuthenticationFailed")]
    with pytest.raises(ProviderError) as caught:
        last()
    assert "sig" not in str(caught.value)
    assert "/artifacts/" in str(caught.value)


@pytest.mark.parametrize("failure", [Failure(500), Failure(drop="before"), Failure(drop="after")])
def test_the_storage_is_asked_again(github, last, failure):
    github.artifact(github.run(), REPORT)
    github.failures["storage"] = [failure] * 3
    assert files_of(last().folder) == REPORT


def test_a_download_that_always_breaks_off(github, last):
    github.artifact(github.run(), REPORT)
    github.failures["storage"] = [Failure(drop="after")] * 9
    with pytest.raises(ProviderError, match="does not answer") as caught:
        last()
    assert "sig" not in str(caught.value)


def test_a_password_for_the_storage_in_netrc_is_not_sent(github, last, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    github.artifact(github.run(), REPORT)
    assert last() is not None


def test_other_bytes_than_github_states(github, last):
    github.artifact(github.run(), REPORT, digest=f"sha256:{'0' * 64}")
    with pytest.raises(ProviderError, match="digest"):
        last()


def test_an_old_artifact_without_digest(github, last):
    github.artifact(github.run(), REPORT, digest=None)
    assert last() is not None


# What is unpacked


def refused(github: GitHub, last, content: Mapping[str, bytes] | bytes, words: str) -> None:
    run = github.run()
    github.artifact(run, content)
    with pytest.raises(ProviderError, match=words):
        last()
    github.artifacts.clear()


@pytest.mark.parametrize(
    "path",
    [
        "../report.json",
        "a/../../badges/x.svg",
        "/etc/report.json",
        "//host/x",
        "C:/x.json",
        "..\\x",
        "badges/./x.svg",
    ],
)
def test_paths_that_lead_elsewhere(github, last, tmp_path, path):
    before = set(tmp_path.rglob("*"))
    refused(github, last, {"report.json": b"{}", path: b"x"}, "not unpacked")
    assert set(tmp_path.rglob("*")) - before == {tmp_path / "into"}


def test_links(github, last):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        opened.writestr("report.json", b"{}")
        link = zipfile.ZipInfo("badges/x.svg")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(link, "/etc/passwd")
    refused(github, last, stream.getvalue(), "is a link")


def test_only_files_of_a_report_are_kept(github, last):
    others = {
        "withheld-salt.txt": b"salt",
        "unfinished/state.json": b"x",
        "pytest_bias.py": b"import evil",
        ".netrc": b"x",
        "records/.hidden.parquet": b"x",
        "badges/a.svg.exe": b"x",
        "badges/deep/x.svg": b"x",
    }
    github.artifact(github.run(), {**REPORT, **others})
    assert files_of(last().folder) == REPORT


def test_a_report_may_lie_in_a_folder_above_another(github, last):
    inner = {f"bias-report/base-1234567/{name}": b"other" for name in REPORT}
    github.artifact(github.run(), {**{f"bias-report/{n}": c for n, c in REPORT.items()}, **inner})
    assert files_of(last().folder) == REPORT


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"a/report.json": b"{}", "b/report.json": b"{}"}, "2 reports side by side.*: a, b"),
        ({"badges/x.svg": b""}, "0 reports"),
        (b"this is no archive", "cannot be unpacked"),
        (zipped(REPORT)[:-30], "cannot be unpacked"),
        ({"report.json": b"{}", "REPORT.json": b"{}"}, "two files of one name"),
    ],
)
def test_what_is_no_report(github, last, content, words):
    refused(github, last, content, words)


def test_a_damaged_file(github, last):
    content = bytearray(zipped({"report.json": bytes(range(256)) * 100}))
    content[60:80] = b"\xff" * 20
    refused(github, last, bytes(content), "cannot be unpacked")


def test_limits_on_number_and_size(github, last, monkeypatch):
    many = {f"badges/{i}.svg": b"x" for i in range(contents.MOST_FILES)}
    refused(github, last, {"report.json": b"{}", **many}, "2001 files")
    monkeypatch.setattr(contents, "MOST_BYTES", 10**6)
    bomb = {"report.json": bytes(10**6 + 1)}
    assert len(zipped(bomb)) < 2000
    refused(github, last, bomb, "that is no report")


def test_a_download_without_end(github, last, monkeypatch):
    monkeypatch.setattr(artifacts, "MOST_BYTES", 100)
    refused(github, last, {"report.json": b"{}"}, r"larger than 0\.0001 MB")


def test_an_entry_that_is_larger_than_it_says(github, last):
    content = zipped({"report.json": b"x" * 500})
    # The size before compression stands in both of the headers.
    size, lie = (500).to_bytes(4, "little"), (50).to_bytes(4, "little")
    assert content.count(size) == 2
    refused(github, last, content.replace(size, lie), "larger than it says|cannot be unpacked")


def test_nothing_is_left_of_the_archive(github, last, tmp_path):
    github.artifact(github.run(), REPORT)
    last()
    assert not list(tmp_path.rglob("*.zip"))
    assert JOB.allows("actions", "read")
