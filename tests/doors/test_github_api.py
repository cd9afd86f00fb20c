"""The client of GitHub's API and the comment that it keeps, against a server on this machine."""

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from file_server import serving as files
from github_contents import FORBIDDEN
from github_server import JOB, READER, Failure, GitHub, Token, serving
from pytest_bias.ci.github import api
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.comments import (
    BOT,
    Commented,
    PullRequest,
    comment,
    marker,
    pull_request,
)
from pytest_bias.errors import GitHubError, UsageError

TOKEN = "job-token"
PULL = PullRequest(7, from_fork=False)
FORK = PullRequest(7, from_fork=True)
OLD_MARK = marker("bias.yml", "measure", "org/name", "bias-report")
MARK = marker("bias.yml", "measure", "org/name")
SOMEBODY = {"login": "somebody", "type": "User"}


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    monkeypatch.setattr(api, "PATIENCE", replace(api.PATIENCE, backoff_s=0))
    with serving(GitHub()) as running:
        for name, value in running.env.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def client(github: GitHub) -> Client:
    return Client.of(TOKEN)


def refused(client: Client, path: str = "issues/7/comments") -> GitHubError:
    with pytest.raises(GitHubError) as caught:
        client.get(path, needs="pull-requests: read")
    assert TOKEN not in str(caught.value)
    return caught.value


# What is asked, and how


def test_every_request_names_the_version_of_the_api(github, client):
    assert client.get("", needs="contents: read")["default_branch"] == "main"
    line, headers = github.sent[0]
    assert line == "GET /repos/org/training"
    assert headers["X-GitHub-Api-Version"] == "2022-11-28"
    assert headers["Accept"] == "application/vnd.github+json"
    assert headers["Authorization"] == "Bearer job-token"


def test_all_pages_of_a_list_are_read_as_they_are_needed(github, client):
    github.page_size = 2
    for i in range(5):
        github.comment(str(i))
    found = client.pages("issues/7/comments", needs="pull-requests: read")
    assert next(found)["body"] == "0"
    assert len(github.asked) == 1
    assert [c["body"] for c in found] == ["1", "2", "3", "4"]
    assert [line.rpartition("page=")[2] for line in github.asked] == ["100", "2", "3"]


def test_a_list_without_end_is_refused(github, client, monkeypatch):
    monkeypatch.setattr(api, "MOST_PAGES", 2)
    github.page_size = 1
    for i in range(3):
        github.comment(str(i))
    with pytest.raises(GitHubError, match="more than 2 pages"):
        list(client.pages("issues/7/comments", needs="pull-requests: read"))


@pytest.mark.parametrize(
    ("api_url", "repository", "token", "words"),
    [
        ("http://api.example.org", "o/r", "t", "no token is sent there"),
        ("ftp://127.0.0.1", "o/r", "t", "no token is sent there"),
        ("https://[", "o/r", "t", "no token is sent there"),
        ("https://x:99999", "o/r", "t", "no token is sent there"),
        ("https://api.github.com", "", "t", "owner/name"),
        ("https://api.github.com", "o/r/../../x", "t", "owner/name"),
        ("https://api.github.com", "o/r", "", "empty"),
        ("https://api.github.com", "o/r", "hidden\ntoken", "spaces or special"),
    ],
)
def test_what_cannot_be_an_address_a_name_or_a_token(api_url, repository, token, words):
    with pytest.raises(UsageError, match=words) as caught:
        Client(api_url, repository, token)
    assert "hidden" not in str(caught.value)


# Failures that pass


@pytest.mark.parametrize(
    "failure",
    [
        Failure(502, message="Bad Gateway"),
        Failure(drop="before"),
        Failure(drop="after"),
        Failure(429, message="Too many requests", headers={"Retry-After": "0"}),
        Failure(403, message="You have exceeded a secondary rate limit."),
        Failure(
            403,
            message="API rate limit exceeded",
            headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"},
        ),
    ],
    ids=["5xx", "dropped", "answer lost", "429", "secondary", "primary"],
)
def test_what_passes_is_waited_for(github, client, failure):
    github.failures["comments"] = [failure] * 4
    assert client.get("issues/7/comments", needs="pull-requests: read") == []
    assert len(github.asked) == 5


def test_a_server_that_stays_broken_is_told(github, client):
    github.failures["comments"] = [Failure(503, message="Unicorn")] * 5
    error = refused(client)
    assert error.message == (
        f"GitHub answers 503 (Service Unavailable) to GET {github.address}"
        "/repos/org/training/issues/7/comments: Unicorn"
    )
    assert (error.status, error.unsure) == (503, True)
    assert len(github.asked) == 5


def test_waits_grow_and_end_after_a_minute_in_all(github, monkeypatch):
    waits: list[float] = []
    patience = replace(api.PATIENCE, backoff_s=1.0, sleep=waits.append)
    monkeypatch.setattr(api, "PATIENCE", patience)
    client = Client.of(TOKEN)
    github.failures["comments"] = [Failure(500)] * 10
    refused(client)
    assert waits == [1, 2, 4, 8]
    late = Failure(429, headers={"Retry-After": "40"})
    github.failures["comments"] = [late, late]
    error = refused(client)
    assert waits[4:] == [40]
    assert (error.limited, error.forbidden) == (True, False)
    assert "Run the job again in 40 s" in str(error)


def test_a_long_wait_is_told_and_not_waited_for(github, client):
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3000)}
    github.failures["comments"] = [Failure(403, message="API rate limit exceeded", headers=reset)]
    assert "asked too often" in str(refused(client))
    assert len(github.asked) == 1


def test_nobody_listens(github, client):
    client.api = "http://127.0.0.1:9"
    error = refused(client)
    assert "Connection refused" in error.message
    assert (error.status, error.unsure, error.forbidden) == (None, True, False)


def test_a_server_that_says_nothing_is_not_waited_for_without_end(github, monkeypatch):
    monkeypatch.setattr(api, "TIMEOUT_S", (1.0, 0.1))
    github.failures["comments"] = [Failure(late=0.4, drop="before")] * 5
    assert "no answer from 127.0.0.1 within 0.1 s" in refused(Client.of(TOKEN)).message


# Refusals


def test_a_permission_that_is_missing_is_named(github, client):
    github.private = True
    github.tokens[TOKEN] = Token(may={"contents": "read"})
    error = refused(client)
    assert "403 (Forbidden)" in error.message
    assert "Resource not accessible by integration" in error.message
    assert "`pull-requests: read`" in str(error.hint)
    assert "permissions:" in str(error.hint)


def test_a_private_repository_that_a_token_cannot_see(github, client):
    github.private = True
    github.tokens[TOKEN] = Token(may={})
    assert "the token may not see it" in str(refused(client))


def test_a_token_that_is_none(github):
    error = refused(Client.of("another"))
    assert "Bad credentials" in error.message
    assert "`github-token`" in str(error.hint)


def test_an_answer_that_is_no_json():
    with files() as server:
        server.files["repos/org/training"] = b"<html>Log in to the proxy</html>"
        client = Client(server.address, "org/training", TOKEN)
        assert "something else than JSON" in refused(client, "").message


def test_a_next_page_elsewhere_is_not_asked_for(github, client):
    github.page_size = 1
    github.comment("x")
    github.comment("y")
    github.address = "http://localhost:1"
    with pytest.raises(GitHubError, match=r"next page .* is at http://localhost:1/repos/"):
        list(client.pages("issues/7/comments", needs="pull-requests: read"))


# The token


def test_the_token_is_in_no_message_log_or_repr(github, client, caplog):
    caplog.set_level(logging.DEBUG)
    github.failures["comments"] = [Failure(422, message="no: job-token is wrong")]
    assert "no: *** is wrong" in refused(client).message
    client.get("", needs="contents: read")
    assert TOKEN not in repr(client)
    assert TOKEN not in caplog.text
    assert "org/training" in caplog.text


def test_a_page_elsewhere_gets_no_token(github, client):
    with serving(GitHub(repository="org/training")) as other:
        link = {"Location": f"{other.address}/repos/org/training/issues/7/comments"}
        github.failures["comments"] = [Failure(302, headers=link)]
        assert refused(client).status == 401
        assert ["Authorization" in headers for _, headers in other.sent] == [False]


def test_a_change_is_not_sent_on_to_elsewhere(github, client):
    with serving(GitHub()) as other:
        link = {"Location": f"{other.address}/repos/org/training/issues/7/comments"}
        github.failures["comment"] = [Failure(307, headers=link)]
        with pytest.raises(GitHubError, match="not followed"):
            client.send("POST", "issues/7/comments", {"body": "x"}, needs="pull-requests: write")
        assert other.asked == []


def test_a_repository_that_was_renamed_is_followed(github, client):
    link = {"Location": f"{github.address}/repos/org/training/issues/7/comments"}
    github.failures["comment"] = [Failure(307, headers=link)]
    client.send("POST", "issues/7/comments", {"body": "x"}, needs="pull-requests: write")
    assert [c.body for c in github.comments] == ["x"]


def test_a_password_for_the_host_in_netrc_is_not_sent(github, client, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    client.get("", needs="contents: read")
    assert github.sent[0][1]["Authorization"] == "Bearer job-token"


# The comment


def bodies(github: GitHub) -> list[str]:
    return [c.body for c in github.comments]


def test_one_comment_is_written_and_then_written_anew(github, client):
    first = comment(client, PULL, MARK, "one")
    assert first.outcome == "created"
    assert first.address == f"https://github.com/org/training/pull/7#issuecomment-{1001}"
    assert comment(client, PULL, MARK, "two") == Commented("updated", first.address)
    assert comment(client, PULL, MARK, "two") == Commented("unchanged", first.address)
    assert bodies(github) == [f"{MARK}\ntwo"]
    assert [line.split()[0] for line in github.wrote()] == ["POST", "PATCH"]


def test_a_comment_with_the_marker_of_before_is_taken_over_once(client, github):
    old = github.comment(f"{OLD_MARK}\nold")
    assert comment(client, PULL, MARK, "new", before=OLD_MARK).outcome == "updated"
    assert old.body == f"{MARK}\nnew"
    # Another job, which had the same marker before, writes one of its own.
    other = marker("bias.yml", "measure", "another")
    assert comment(client, PULL, other, "other", before=OLD_MARK).outcome == "created"
    assert old.body == f"{MARK}\nnew"


def test_it_is_found_on_a_later_page(github, client):
    github.page_size = 3
    for i in range(8):
        github.comment(str(i), SOMEBODY)
    ours = github.comment(f"{MARK}\r\nold")
    assert comment(client, PULL, MARK, "new").outcome == "updated"
    assert ours.body == f"{MARK}\nnew"
    assert len(github.comments) == 9


def test_comments_of_others_with_our_marker_are_left_alone(github, client):
    theirs = [
        github.comment(f"{MARK}\nmine now", SOMEBODY),
        github.comment(f"{MARK}\nfrom a bot", {"login": "other[bot]", "type": "Bot"}),
        github.comment(f"{MARK}\nno bot", {"login": "github-actions[bot]", "type": "User"}),
        github.comment(f"Quoted: {MARK}"),
        github.comment(f"{MARK}\ngone"),
    ]
    theirs[-1].user = None
    before = bodies(github)
    assert comment(client, PULL, MARK, "ours").outcome == "created"
    assert bodies(github) == [*before, f"{MARK}\nours"]


def test_of_several_the_oldest_stays(github, client):
    for text in ("a", "b", "c"):
        github.comment(f"{MARK}\n{text}")
    github.comment(f"{MARK}\ntheirs", SOMEBODY)
    assert comment(client, PULL, MARK, "new").outcome == "updated"
    assert bodies(github) == [f"{MARK}\nnew", f"{MARK}\ntheirs"]
    assert github.comments[0].id == 1001


def test_one_of_several_that_another_run_removed(github, client):
    for text in ("a", "b"):
        github.comment(f"{MARK}\n{text}")
    github.meanwhile["delete_comment"] = [github.comments.pop]
    assert comment(client, PULL, MARK, "new").outcome == "updated"
    assert bodies(github) == [f"{MARK}\nnew"]


def test_jobs_and_models_have_comments_of_their_own(github, client):
    names = ("bias.yml", "measure", "org/name"), ("bias.yml", "measure", "org/other")
    for one in names:
        comment(client, PULL, marker(*one), "text")
    assert len(set(bodies(github))) == 2
    assert marker("a", "b-c") != marker("a-b", "c")
    assert "-->" not in marker("x --> <script>")[:-3]


def test_a_person_has_their_own(github):
    github.tokens["person"] = Token("somebody", "User", JOB.may)
    github.comment(f"{MARK}\nof the job")
    client = Client.of("person")
    assert comment(client, PULL, MARK, "mine").outcome == "created"
    assert comment(client, PULL, MARK, "mine too").outcome == "updated"
    assert bodies(github) == [f"{MARK}\nof the job", f"{MARK}\nmine too"]


def test_another_app_learns_its_name_from_what_it_wrote(github):
    github.tokens["app"] = Token("an-app[bot]", "Bot", JOB.may)
    client = Client.of("app")
    assert comment(client, PULL, MARK, "one").outcome == "created"
    assert comment(client, PULL, MARK, "two").outcome == "updated"
    assert bodies(github) == [f"{MARK}\ntwo"]


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_comment_whose_answer_was_lost_is_not_written_twice(github, client, drop):
    github.failures["comment"] = [Failure(drop=drop)]
    outcome = comment(client, PULL, MARK, "text").outcome
    assert outcome == ("created" if drop == "before" else "unchanged")
    assert bodies(github) == [f"{MARK}\ntext"]


def test_a_fork_may_not_comment_and_nothing_breaks(github):
    github.tokens[TOKEN] = READER
    done = comment(Client.of(TOKEN), FORK, MARK, "text")
    why = "the pull request comes from a fork, whose runs may not comment"
    assert done == Commented("refused", reason=why)
    assert github.comments == []


@pytest.mark.parametrize("what", ["comments", "comment"])
@pytest.mark.parametrize("failure", [FORBIDDEN, Failure(404, message="Not Found")])
def test_what_a_token_may_not_is_a_reason(github, client, what, failure):
    github.failures[what] = [failure]
    done = comment(client, PULL, MARK, "text")
    assert done.outcome == "refused"
    needs = {"comments": "pull-requests: read", "comment": "pull-requests: write"}
    assert f"`{needs[what]}`" in str(done.reason)


def test_a_conversation_that_is_locked(github, client):
    message = "Unable to create comment because issue is locked."
    github.failures["comment"] = [Failure(403, message=message)]
    assert message in str(comment(client, PULL, MARK, "text").reason)


def test_too_many_requests_are_no_refusal(github, client):
    wait = {"Retry-After": "600"}
    github.failures["comment"] = [Failure(403, message="secondary rate limit", headers=wait)]
    with pytest.raises(GitHubError, match="asked too often"):
        comment(client, PULL, MARK, "text")


# Of which pull request


def event(folder: Path, plain: object) -> dict[str, str]:
    path = folder / "event.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    return {"GITHUB_EVENT_PATH": str(path)}


def pull(head: object, number: object = 7) -> dict[str, object]:
    return {"pull_request": {"number": number, "head": {"repo": head}, "base": {"repo": {"id": 1}}}}


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        (pull({"id": 1}), PULL),
        (pull({"id": 2}), FORK),
        (pull(None), FORK),
        ({"issue": {"number": 7, "pull_request": {"url": "x"}}, "comment": {}}, PULL),
        ({"issue": {"number": 7}}, None),
        ({"ref": "refs/heads/main", "number": 7}, None),
        (pull({"id": 1}, "7; rm"), None),
        (pull({"id": 1}, True), None),
        ([], None),
    ],
)
def test_the_event_names_the_pull_request(tmp_path, plain, expected):
    assert pull_request(event(tmp_path, plain)) == expected


def test_without_an_event_there_is_no_pull_request(tmp_path):
    assert pull_request({}) is None
    with pytest.raises(UsageError, match="cannot be read"):
        pull_request({"GITHUB_EVENT_PATH": str(tmp_path / "none.json")})


def test_the_account_of_a_job():
    assert BOT == ("github-actions[bot]", "Bot")
