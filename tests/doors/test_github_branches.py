"""Reports on branches of a repository, by git's data: read and written as git itself would."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from github_server import READER, Failure, GitHub, Token, serving
from made import HOSTILE, record, report, result, score
from pytest_bias.ci import contents
from pytest_bias.ci.github import api
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.branches import (
    Place,
    commit_message,
    commit_report,
    place_for,
    read_report_of,
)
from pytest_bias.emit import badges, page, summary
from pytest_bias.errors import GitHubError, ProviderError, ReportError, UsageError
from pytest_bias.evidence.report import verify
from pytest_bias.records.report import Item, Report
from pytest_bias.reports.folder import PAGE, REPORT, SUMMARY, read_report, write_report
from pytest_bias.reports.withholding import SALT, withheld
from pytest_bias.runs import baselines

BADGES = Place("badges")


def made(value: float = 60.48) -> Report:
    records = [record("crows/0001", 100.0), record("crows/0002", 0.0)]
    return report(result(scores=[score(value=value)], records=records))


def written(report: Report, folder: Path, texts: object = None) -> Path:
    """Write what a run leaves."""
    files = {
        **badges.render(report),
        SUMMARY: summary.render(report),
        PAGE: page.render(report, None, None, texts),
        "decision.json": "{}\n",
        "card.md": "card\n",
    }
    write_report(report, files, folder, texts)
    return folder


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    monkeypatch.setattr(api, "PATIENCE", replace(api.PATIENCE, backoff_s=0))
    with serving(GitHub()) as running:
        for name, value in running.env.items():
            monkeypatch.setenv(name, value)
        running.push("main", {"README.md": b"# Training\n"})
        yield running


@pytest.fixture
def client(github: GitHub) -> Client:
    return Client.of("job-token")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(made(), tmp_path / "report")


def on_branch(github: GitHub) -> dict[str, bytes]:
    """Return the files of the branch, but for the one that a new branch begins with."""
    files = github.files("badges").items()
    return {path: content for path, content in files if path != ".nojekyll"}


def expected(folder: Path) -> set[str]:
    kept = {REPORT, SUMMARY, PAGE, "records/crows_pairs[en].parquet"}
    return {f"bias/{name}" for name in {*kept, *badges.render(read_report(folder))}}


# Writing


def test_a_new_branch_begins_with_the_report_alone(github, client, folder):
    done = commit_report(client, BADGES, folder)
    files = on_branch(github)
    assert files.keys() == expected(folder)
    assert files["bias/report.json"] == (folder / REPORT).read_bytes()
    assert github.files("badges")[".nojekyll"] == b""
    assert github.objects.commits[done.sha].parents == ()
    assert done.address == f"https://github.com/org/training/commit/{done.sha}"
    assert done.changed
    assert github.files("main") == {"README.md": b"# Training\n"}


def test_git_reads_what_was_written(github, client, folder, tmp_path):
    commit_report(client, BADGES, folder)
    commit_report(client, BADGES, written(made(55.0), tmp_path / "next"))
    repository = tmp_path / "repository.git"
    github.objects.write(repository, github.branches)

    def git(*words: str) -> str:
        command = ["git", "--git-dir", str(repository), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    git("fsck", "--strict")
    assert git("log", "--format=%s", "badges").splitlines() == ["Bias report: org/name"] * 2
    listed = set(git("ls-tree", "-r", "--name-only", "badges").split())
    assert listed == expected(folder) | {".nojekyll"}
    now = (tmp_path / "next" / REPORT).read_text(encoding="utf-8")
    assert git("show", "badges:bias/report.json") == now


def test_the_same_report_makes_no_commit(github, client, folder):
    first = commit_report(client, BADGES, folder)
    github.asked.clear()
    again = commit_report(client, BADGES, folder)
    assert again == replace(first, changed=False)
    assert github.wrote() == []


def test_what_changed_is_sent_and_what_is_gone_is_removed(github, client, folder, tmp_path):
    commit_report(client, BADGES, folder)
    other = {"bias/badges/old.svg": b"<svg/>", "bias/notes.txt": b"x", "docs/bias/x": b"y"}
    github.push("badges", {**other, "README.md": b"Badges\n", "biased": b"z"})
    head = github.branches["badges"]
    github.asked.clear()
    done = commit_report(client, BADGES, written(made(55.0), tmp_path / "next"))
    assert github.objects.commits[done.sha].parents == (head,)
    left = on_branch(github).keys()
    assert left == expected(folder) | {"README.md", "docs/bias/x", "biased"}
    # One tree, with what is short; one commit; one ref. The records are the same.
    sent = [line.rpartition("/git/")[2].partition("/")[0] for line in github.wrote()]
    assert sent == ["trees", "commits", "refs"]


def test_a_report_with_many_badges_takes_few_requests(github, client, tmp_path):
    records = [record("crows/0001", 100.0)]
    suites = [result(f"suite_{i}", scores=[score()], records=records) for i in range(60)]
    folder = written(report(*suites), tmp_path / "report")
    commit_report(client, BADGES, folder)
    files = on_branch(github)
    assert len([p for p in files if p.startswith("bias/badges/")]) > 100
    # GitHub lets a token send eighty things a minute.
    assert len(github.wrote()) < 70
    assert all(files[f"bias/{p}"] == t.encode() for p, t in badges.render(report(*suites)).items())


def test_the_message_says_model_and_digest(github, client, tmp_path):
    plain = made()
    measured = replace(plain, model=replace(plain.model, revision="abc1234" * 5))
    done = commit_report(client, BADGES, written(measured, tmp_path / "report"))
    assert github.objects.commits[done.sha].message == (
        f"Bias report: org/name\n\nModel org/name, revision {'abc1234' * 5}\n"
        f"Report {measured.digest}\n"
    )


@pytest.mark.parametrize("name", [*HOSTILE.values(), "x [skip ci]", "fixes #1, @team", "a\n\nb: c"])
def test_a_hostile_name_does_nothing_in_a_message(name):
    text = commit_message(report(model=name))
    assert len(text.splitlines()) == 4
    assert not set(text.replace(report(model=name).digest, "")) & set("[]#@<>\"'`$\\|\0")


def test_what_is_the_owners_own_stays_behind(github, client, tmp_path):
    sealed = withheld(made(), "ab" * 32)
    folder = written(sealed, tmp_path / "report")
    (folder / SALT).write_text("ab" * 32, encoding="ascii")
    for name in ("unfinished/state.json", "records/crows_pairs[en].parquet", "badges/x.svg"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("left by another run", encoding="utf-8")
    commit_report(client, BADGES, folder)
    assert on_branch(github).keys() == expected(folder) - {"bias/records/crows_pairs[en].parquet"}
    assert not [c for c in github.files("badges").values() if b"60.5" in c]


def test_texts_of_items_stay_behind(github, client, tmp_path):
    text = "an offensive sentence"
    item = Item("crows/0001", "crows/0001", texts={"sent_more": text})
    folder = written(made(), tmp_path / "report", {"crows_pairs[en]": {item.id: item}})
    # As the page has it where one item is further from the ideal than others.
    with (folder / PAGE).open("a", encoding="utf-8") as stream:
        stream.write(f"<dd>{text}</dd>")
    assert text.encode() in (folder / "records/crows_pairs[en].parquet").read_bytes()
    commit_report(client, BADGES, folder)
    assert on_branch(github).keys() == expected(folder)
    assert not [p for p, c in github.files("badges").items() if text.encode() in c]


def test_a_report_that_does_not_hold_together_is_not_written(github, client, folder):
    (folder / "records/crows_pairs[en].parquet").unlink()
    with pytest.raises(ReportError, match="is missing"):
        commit_report(client, BADGES, folder)
    assert "badges" not in github.branches


@pytest.mark.parametrize(
    ("about", "words"),
    [({"interrupted": True}, "interrupted"), ({"shard": {"part": 1, "of": 2}}, "one shard")],
)
def test_a_part_of_a_run_is_not_written(github, client, tmp_path, about, words):
    part = replace(made(), run={**made().run, **about})
    with pytest.raises(ReportError, match=words):
        commit_report(client, BADGES, written(part, tmp_path / "report"))
    assert github.wrote() == []


# Somebody else pushes


def test_the_commit_is_made_anew_upon_theirs(github, client, folder):
    commit_report(client, BADGES, folder)
    github.push("badges", {"bias/report.json": b"{}"})
    theirs = [lambda i=i: github.push("badges", {f"{i}.txt": b"x"}) for i in range(3)]
    github.meanwhile["move_ref"] = theirs
    commit_report(client, BADGES, folder)
    assert on_branch(github).keys() == expected(folder) | {"0.txt", "1.txt", "2.txt"}
    assert github.files("badges")["bias/report.json"] == (folder / REPORT).read_bytes()


def test_the_branch_is_made_by_another_job_meanwhile(github, client, folder):
    github.meanwhile["new_ref"] = [lambda: github.push("badges", {"x": b"x"})]
    commit_report(client, BADGES, folder)
    assert on_branch(github).keys() == expected(folder) | {"x"}


def test_a_branch_that_moves_all_the_time_is_not_forced(github, client, folder):
    first = github.push("badges", {"x": b"x"})
    theirs = [lambda i=i: github.push("badges", {f"{i}.txt": b"x"}) for i in range(4)]
    github.meanwhile["move_ref"] = theirs
    with pytest.raises(GitHubError, match="Update is not a fast forward"):
        commit_report(client, BADGES, folder)
    assert github.objects.descends(github.branches["badges"], first)
    assert "bias/report.json" not in github.files("badges")


def test_a_conflict_is_tried_again(github, client, folder):
    github.push("badges", {"x": b"x"})
    github.failures["move_ref"] = [Failure(409, message="Conflict")] * 3
    assert commit_report(client, BADGES, folder).changed


@pytest.mark.parametrize("what", ["new_blob", "new_tree", "new_commit", "new_ref"])
def test_an_answer_that_was_lost(github, client, folder, what):
    github.failures[what] = [Failure(drop="after")]
    assert commit_report(client, BADGES, folder).changed
    assert on_branch(github).keys() == expected(folder)


# Several jobs


def of_a_job(folder: Path, identity: str, run: str = "1") -> Path:
    (folder / "job.json").write_text(f'{{"identity": "{identity}", "run": "{run}"}}\n')
    return folder


def of_another_model(folder: Path) -> Path:
    other = made()
    return written(replace(other, model=replace(other.model, reference="org/other")), folder)


def test_jobs_of_one_run_keep_a_folder_each(github, client, folder, tmp_path):
    """A matrix over suites or models: none replaces another one's badges, again and again."""
    jobs = {
        "bias-a": of_a_job(folder, "a"),
        "bias-b": of_a_job(written(made(value=50.0), tmp_path / "b"), "b"),
        "bias-c": of_a_job(of_another_model(tmp_path / "c"), "c"),
    }
    for _ in range(2):
        for own, there in jobs.items():
            place = place_for(client, "badges", own, there)
            assert place == Place("badges", own)
            commit_report(client, place, there)
    for own, there in jobs.items():
        assert github.files("badges")[f"{own}/{REPORT}"] == (there / REPORT).read_bytes()


def test_the_plain_folder_stays_with_the_job_that_has_it(github, client, folder, tmp_path):
    commit_report(client, BADGES, folder)
    of_a_job(folder, "a")
    assert place_for(client, "badges", "bias-a", folder) == BADGES
    commit_report(client, BADGES, folder)
    assert place_for(client, "badges", "bias-a", folder) == BADGES
    for other in (of_a_job(written(made(), tmp_path / "b"), "b"), of_another_model(tmp_path / "c")):
        assert place_for(client, "badges", "bias-b", other) == Place("badges", "bias-b")


def test_a_folder_that_two_jobs_share_is_an_error(github, client, folder, tmp_path):
    commit_report(client, BADGES, of_a_job(folder, "a"))
    before = on_branch(github)
    with pytest.raises(UsageError, match="report of another job of this run") as caught:
        commit_report(client, BADGES, of_a_job(written(made(50.0), tmp_path / "b"), "b"))
    assert "badges-branch: badges:FOLDER" in str(caught.value.hint)
    with pytest.raises(UsageError, match="report of another model, org/name"):
        commit_report(client, BADGES, of_a_job(of_another_model(tmp_path / "c"), "c", "2"))
    assert on_branch(github) == before
    # In a later run the inputs may have changed.
    commit_report(client, BADGES, of_a_job(tmp_path / "b", "b", "2"))
    assert on_branch(github) != before


def test_another_run_that_found_the_same_makes_no_commit(github, client, folder):
    commit_report(client, BADGES, of_a_job(folder, "a"))
    assert not commit_report(client, BADGES, of_a_job(folder, "a", "2")).changed


def test_a_token_that_may_only_read(github, folder):
    github.tokens["job-token"] = READER
    with pytest.raises(GitHubError, match="`contents: write`"):
        commit_report(Client.of("job-token"), BADGES, folder)
    assert "badges" not in github.branches


# Reading


def test_a_report_is_read_as_it_was_written(github, client, folder, tmp_path):
    place = Place("reports/nightly", "docs/bias")
    commit_report(client, place, folder)
    head = github.branches["reports/nightly"]
    found = read_report_of(client, place, tmp_path / "into")
    assert read_report(found.folder) == read_report(folder)
    assert found.source == f"docs/bias of the branch reports/nightly at {head[:7]}"
    assert found.address.endswith(f"/commit/{head}")


@pytest.mark.workflow
def test_a_real_run_comes_back_as_a_baseline(github, client, demo, tmp_path):
    commit_report(client, BADGES, demo.at)
    found = read_report_of(client, BADGES, tmp_path / "into")
    assert baselines.read(found.folder) == read_report(demo.at)
    assert [c for c in verify(found.folder) if c.outcome == "fails"] == []
    for path in demo.at.rglob("badges/*"):
        assert github.files("badges")[f"bias/badges/{path.name}"] == path.read_bytes()


def test_where_there_is_none(github, client, tmp_path):
    assert read_report_of(client, BADGES, tmp_path / "into") is None
    github.push("badges", {"README.md": b"x", "bias/badges/x.svg": b"x"})
    assert read_report_of(client, BADGES, tmp_path / "into") is None
    assert read_report_of(client, Place("badges", "other"), tmp_path / "into") is None
    github.branches.clear()
    assert read_report_of(client, BADGES, tmp_path / "into") is None
    assert not (tmp_path / "into").exists()


def test_only_files_of_a_report_are_read(github, client, folder, tmp_path):
    commit_report(client, BADGES, folder)
    github.push("badges", {"bias/evil.py": b"x", "bias/.netrc": b"x", f"bias/{SALT}": b"x"})
    found = read_report_of(client, BADGES, tmp_path / "into")
    names = {f"bias/{p.relative_to(found.folder).as_posix()}" for p in found.folder.rglob("*.*")}
    assert names == expected(folder)


def test_a_link_on_a_branch_is_refused(github, client, tmp_path):
    objects = github.objects
    blob = objects.blob(b"/etc/passwd")
    tree = objects.tree({"bias/report.json": ("120000", blob)})
    github.branches["badges"] = objects.commit(tree, [], "x")
    with pytest.raises(GitHubError, match="is a link"):
        read_report_of(client, BADGES, tmp_path / "into")


def test_a_folder_that_is_a_file(github, client, tmp_path):
    github.push("badges", {"bias": b"x"})
    with pytest.raises(GitHubError, match="is a file"):
        read_report_of(client, BADGES, tmp_path / "into")


def test_more_than_a_report_has_is_not_fetched(github, client, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "MOST_BYTES", 1000)
    github.push("badges", {"bias/report.json": bytes(1001)})
    with pytest.raises(ProviderError, match="that is no report"):
        read_report_of(client, BADGES, tmp_path / "into")
    assert not [line for line in github.asked if "blobs" in line]


def test_a_repository_that_a_token_cannot_see_is_not_one_without_the_branch(github, tmp_path):
    github.private = True
    github.tokens["job-token"] = Token(may={})
    with pytest.raises(GitHubError, match="the token may not see it"):
        read_report_of(Client.of("job-token"), BADGES, tmp_path / "into")


def test_a_failure_is_not_taken_for_a_branch_that_is_not_there(github, client, tmp_path):
    github.failures["ref"] = [Failure(500)] * 9
    with pytest.raises(GitHubError, match="500"):
        read_report_of(client, BADGES, tmp_path / "into")


# Names


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("badges", Place("badges", "bias")),
        ("a/b:docs/bias/", Place("a/b", "docs/bias")),
        ("badges:", Place("badges", "bias")),
    ],
)
def test_a_place_is_a_branch_and_a_folder(text, place):
    assert Place.parse(text) == place


@pytest.mark.parametrize(
    "text",
    [
        *("", ":x", "a b", "a..b", "/a", "a/", "a.lock", "a//b", "a~1", "a^", "a?", "a\\b", "a\nb"),
        *("a:..", "a:/x/../y", "a:x/../../y", "a:.git", "a:x/.github/workflows", "a:x\ny", "a:."),
    ],
)
def test_what_is_no_place(text):
    with pytest.raises(UsageError, match=r"no name of a branch|no folder"):
        Place.parse(text)


def test_a_branch_of_any_name_is_asked_for_as_it_is(github, client, folder, tmp_path):
    place = Place("feature/ü%2F#1&x=y")
    shutil.rmtree(tmp_path / "into", ignore_errors=True)
    commit_report(client, place, folder)
    assert place.branch in github.branches
    assert read_report_of(client, place, tmp_path / "into") is not None
