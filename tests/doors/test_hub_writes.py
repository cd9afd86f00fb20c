"""Commits to a Hub on this machine by the Hub's own client, and everything that can go wrong."""

import time
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import CommitOperationAdd, HfApi, constants

from hub_client import lead_to
from hub_contents import Access, Failure, Hub, Repository
from hub_server import serving
from pytest_bias.errors import BiasError, ModelError, PublishError
from pytest_bias.hub import repository as publishing
from pytest_bias.hub.repository import Committed, commit, look, read

MAIN, OLDER = "a" * 40, "b" * 40
README = b"---\nlicense: mit\n---\n# Model\r\n"
MODEL = {"README.md": README, "config.json": b"{}", "model.safetensors": b"\0weights" * 10}
RECORDS = "bias/abc/records/crows_pairs[en].parquet"
FILES = {
    "README.md": README + b"badges \xf0\x9f\x8d\x8e\n",
    RECORDS: b"PAR1\x00\xff" * 500,
    "bias/abc/report.json": b'{"schema": "1"}\n',
    "bias/badges/seat.png": b"\x89PNG\r\n\x1a\n\x00\x80",
}
TOKENS: dict[str, Access] = {"hf_own": "write", "hf_reader": "read", "hf_guest": "propose"}
TITLE = "Publish report abc"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Serve one model, and lead the client to it with a token that may write."""
    repository = Repository({OLDER: {}, MAIN: MODEL}, {"main": MAIN})
    served = Hub({"org/model": repository}, tokens=dict(TOKENS))
    with serving(served) as found:
        lead_to(found, monkeypatch, tmp_path, "hf_own")
        monkeypatch.setattr(publishing, "LOOKS_AFTER_S", (0.0, 0.0))
        yield found


@pytest.fixture
def model(hub: Hub) -> Repository:
    """Return the one model of the server."""
    return hub.repositories["org/model"]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Do not wait between two attempts of the client; return how long it would have waited."""
    found: list[float] = []

    class Clock:
        sleep = staticmethod(found.append)

    monkeypatch.setattr(huggingface_hub.utils._http, "time", Clock)
    return found


def publish(**options: bool) -> Committed:
    return commit(look("org/model"), FILES, message=TITLE, description="Scores.", **options)


def refused(*words: str, kind: type[BiasError] = PublishError, **options: bool) -> None:
    """Publish, and assert that it fails with these words and exit code 3."""
    with pytest.raises(BiasError) as found:
        publish(**options)
    said = str(found.value)
    assert type(found.value) is kind, said
    assert (found.value.exit_code, found.value.hint is None) == (3, False)
    assert [w for w in words if w not in said] == [], said
    assert "hf_own" not in said


def untouched(model: Repository) -> bool:
    """Whether nobody sees anything new in the model's repository."""
    return (model.names, model.commits[MAIN], len(model.commits)) == ({"main": MAIN}, MODEL, 2)


# What is written


def test_all_files_arrive_in_one_commit(hub: Hub, model: Repository) -> None:
    made = publish()
    assert model.head == {**MODEL, **FILES}
    assert model.names == {"main": made.sha}
    assert list(model.commits)[2:] == [made.sha]
    assert made.url == f"{hub.address}/org/model/commit/{made.sha}"
    assert (made.pull_request, made.new, made.notices) == (None, True, ())
    assert list(hub.objects.values()) == [FILES[RECORDS]]
    assert sum(a.startswith("POST /api/models/org/model/commit/") for a in hub.asked) == 1


def test_what_was_committed_is_read_back_at_its_commit(model: Repository) -> None:
    before = look("org/model")
    made = publish()
    after = look("org/model")
    assert (after.head, set(after.files)) == (made.sha, {*MODEL, *FILES})
    assert {path: read(after, path) for path in FILES} == FILES
    assert read(before, "README.md") == README
    assert read(before, RECORDS) is None
    assert all(after.holds(path, content) for path, content in FILES.items())
    assert not any(before.holds(path, content) for path, content in FILES.items())


def test_a_damaged_copy_in_the_cache_is_not_read(hub: Hub, tmp_path: Path) -> None:
    repository = look("org/model")
    assert read(repository, "README.md") == README
    (kept,) = (tmp_path / "cache").rglob(f"snapshots/{MAIN}/README.md")
    kept.resolve().write_bytes(b"cut")
    assert read(repository, "README.md") == README


def test_a_cache_that_cannot_be_written(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="the cache of the Hub's client cannot be used") as found:
        read(look("org/model"), "README.md")
    assert "HF_HOME" in str(found.value)


def test_nothing_is_written_twice(hub: Hub, model: Repository) -> None:
    made = publish()
    hub.asked.clear()
    again = publish()
    assert (again.sha, again.new) == (made.sha, False)
    assert [a for a in hub.asked if not a.startswith("GET")] == []
    more = commit(look("org/model"), {**FILES, "bias/current.json": b"{}"}, message="More")
    assert set(model.commits[more.sha]) - set(model.commits[made.sha]) == {"bias/current.json"}


def test_what_gitignore_names_is_published_all_the_same(model: Repository) -> None:
    model.ignored = (".parquet", ".png")
    publish()
    assert model.head == {**MODEL, **FILES}


def test_a_commit_without_some_files_is_told(
    model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.ignored = (".png",)
    keep = HfApi.preupload_lfs_files
    monkeypatch.setattr(
        HfApi, "preupload_lfs_files", lambda *a, gitignore_content=None, **k: keep(*a, **k)
    )
    refused("left 1 of 4 files out", "bias/badges/seat.png", "/org/model/commit/", ".gitignore")


def test_a_pull_request_leaves_main_alone(hub: Hub, model: Repository) -> None:
    made = publish(create_pr=True)
    assert model.names == {"main": MAIN, "refs/pr/1": made.sha}
    assert model.commits[made.sha] == {**MODEL, **FILES}
    assert model.head == MODEL
    assert made.pull_request == f"{hub.address}/org/model/discussions/1"
    assert model.pulls == [TITLE]


def test_who_may_propose_only(hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_guest")
    refused("403 (Forbidden)", "--create-pr")
    # By LFS the Hub takes large files of members alone, those of a pull request as well.
    refused("403 (Forbidden)", "may write to org/model", create_pr=True)
    assert untouched(model)
    small = {path: content for path, content in FILES.items() if path != RECORDS}
    made = commit(look("org/model"), small, message=TITLE, create_pr=True)
    assert model.commits[made.sha] == {**MODEL, **small}


def test_large_files_by_xet_are_refused_in_the_same_words(
    hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hf_xet")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    hub.failures["xet"] = [Failure(401), Failure(403)]
    refused("does not accept the token", "(401 Unauthorized)", "hf auth login")
    refused("the token does not allow it", "(403 Forbidden)", "may write to org/model")
    refused("(404 Not Found)", create_pr=True)
    assert untouched(model)
    asked = [a for a in hub.asked if "/xet-write-token/" in a]
    assert [a.rpartition("/")[2] for a in asked] == ["main", "main", "None?create_pr=1"]


# What the Hub says of a repository


def test_private_and_gated_are_known(
    hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = look("org/model")
    assert (found.private, found.gated, found.head) == (False, False, MAIN)
    model.private, model.gated = True, "manual"
    found = look("org/model")
    assert (found.private, found.gated, read(found, "config.json")) == (True, True, b"{}")
    monkeypatch.delenv("HF_TOKEN")
    model.private = False
    with pytest.raises(ModelError, match=r"README\.md of org/model .*: it is gated") as closed:
        read(look("org/model"), "README.md")
    assert "hf auth login" in str(closed.value)
    model.private = True
    refused("no model of this name, or it is private", "hf auth login", kind=ModelError)


def test_a_model_that_is_not_there(hub: Hub) -> None:
    for name in ("org/modle", "org/nothing"):
        with pytest.raises(ModelError, match=f"{name} cannot be read .*: there is no model") as no:
            look(name)
        assert f"https://huggingface.co/{name}" in str(no.value)


# Without a token, with a wrong one, with one that may not


def test_without_a_token_nothing_is_sent(
    hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    refused("no token to write with", "hf auth login", "HF_TOKEN", "HF_OIDC_RESOURCE=org/model")
    assert [a for a in hub.asked if not a.startswith("GET")] == []


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("hf_wrong", ("401 (Unauthorized): Invalid credentials", "does not accept the token")),
        ("hf_reader", ("403 (Forbidden): Forbidden: you must use a write token", "--create-pr")),
        ("hf_two words", ("spaces or letters that no token has", "settings/tokens")),
    ],
)
def test_tokens_that_do_not_open_it(
    hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch, token: str, words: tuple[str, ...]
) -> None:
    repository = look("org/model")
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(PublishError) as found:
        commit(repository, FILES, message=TITLE)
    said = str(found.value)
    assert said.startswith("nothing was published to org/model: ")
    assert [w for w in words if w not in said] == [], said
    assert token not in said
    assert untouched(model)


def test_a_job_of_ci_without_a_secret(
    hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setenv("HF_OIDC_RESOURCE", "org/model")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    refused("gives this job no token", "id-token: write", kind=ModelError)
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{hub.address}/ci/identity")
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "job-1")
    refused("no trusted publisher of org/model matches", "trusted publisher", kind=ModelError)
    assert untouched(model)
    hub.identities["job-1"] = "org/model"
    assert model.commits[publish().sha] == {**MODEL, **FILES}


def test_a_token_of_ci_that_is_handed_in(
    hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = look("org/model")
    monkeypatch.setenv("HF_OIDC_RESOURCE", "org/model")
    monkeypatch.setenv("HF_OIDC_ID_TOKEN", "job-2")
    hub.failures["exchange"] = [Failure(503)]
    with pytest.raises(PublishError, match=r"no token \(HF_OIDC_RESOURCE=org/model\): it fails"):
        commit(repository, FILES, message=TITLE)
    assert untouched(model)
    hub.identities["job-2"] = "org/model"
    assert commit(repository, FILES, message=TITLE).new


def test_offline(hub: Hub, model: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = look("org/model")
    hub.asked.clear()
    with pytest.raises(PublishError, match=r"nothing was published .*: this run is offline"):
        commit(repository, FILES, message=TITLE, offline=True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for act in (
        lambda: look("org/model"),
        lambda: read(repository, "README.md"),
        lambda: commit(repository, FILES, message=TITLE),
    ):
        with pytest.raises(BiasError, match=r"this run is offline\.\n.*HF_HUB_OFFLINE"):
            act()
    assert hub.asked == []
    assert untouched(model)


# Answers with an error: nothing is there


def test_a_commit_in_between_is_not_overwritten(hub: Hub, model: Repository) -> None:
    repository = look("org/model")
    other = CommitOperationAdd("config.json", b"theirs")
    theirs = HfApi().create_commit("org/model", [other], commit_message="Theirs").oid
    with pytest.raises(PublishError) as found:
        commit(repository, FILES, message=TITLE)
    assert f"the repository has moved since it was read at {MAIN[:7]}" in str(found.value)
    assert "Run the command again" in str(found.value)
    assert model.names == {"main": theirs}
    assert model.head == {**MODEL, "config.json": b"theirs"}
    assert publish().new
    assert model.head == {**MODEL, "config.json": b"theirs", **FILES}


ANSWERS = {
    "unauthorized": (Failure(401, "", "Invalid username or password."), ("401", "hf auth login")),
    "forbidden": (
        Failure(403, "", "no write access"),
        ("403 (Forbidden): no write", "--create-pr"),
    ),
    "gated": (Failure(403, "GatedRepo"), ("it is gated", "Ask for it at https://hugging")),
    "repository": (Failure(404, "RepoNotFound"), ("no model of this name",)),
    "revision": (Failure(404, "RevisionNotFound"), (f"no such commit at {MAIN[:7]}",)),
    "entry": (Failure(404, "EntryNotFound"), ("404 (Not Found): EntryNotFound",)),
    "conflict": (Failure(409, "", "busy"), ("another change", "409 (Conflict): busy", "again")),
    "moved": (Failure(412, "", "Refresh"), ("has moved", "412 (Precondition Failed): Refresh")),
    "limit": (
        Failure(429, headers={"Retry-After": "90"}),
        ("asked too often", "429 (Too Many Requests)", "asks to wait 90 s"),
    ),
    "limit in words": (
        Failure(429, headers={"ratelimit": '"api";r=0;t=55'}),
        ("429 (Too Many Requests)", "asks to wait 55 s"),
    ),
    "failing": (Failure(500), ("it fails", "500 (Internal", "It was looked for and is not there")),
    "absent": (Failure(503), ("503 (Service Unavailable)", "It was looked for and is not there")),
    "bad": (
        Failure(400, "", "Bad\x1b[31m\nfile"),
        ("it refuses", "400 (Bad Request): Bad[31m fil"),
    ),
}


@pytest.mark.parametrize("proposed", [False, True], ids=["commit", "pull request"])
@pytest.mark.parametrize("case", ANSWERS)
def test_answers_to_a_commit(hub: Hub, model: Repository, case: str, proposed: bool) -> None:
    failure, words = ANSWERS[case]
    hub.failures["commit"] = [failure]
    refused("nothing was published to org/model: ", *words, create_pr=proposed)
    assert untouched(model)
    commits = [a for a in hub.asked if a.startswith("POST /api/models/org/model/commit/")]
    assert len(commits) == 1, "the client must not send a commit twice"
    assert publish(create_pr=proposed).new


@pytest.mark.parametrize("what", ["preupload", "batch", "upload"])
def test_a_busy_hub_is_asked_again_before_a_commit(
    hub: Hub, model: Repository, waits: list[float], what: str
) -> None:
    hub.failures[what] = [Failure(429, headers={"Retry-After": "7"}), Failure(503)]
    hub.failures[what].append(Failure(drop="before"))
    assert publish().new
    assert waits == [8, 2, 4]


@pytest.mark.parametrize("what", ["preupload", "batch", "upload"])
@pytest.mark.parametrize(
    ("failure", "words", "waited"),
    [
        (Failure(503), ("503 (Service Unavailable)", "later"), 23),
        (Failure(429, headers={"Retry-After": "7"}), ("429", "asks to wait 7 s"), 40),
        (Failure(drop="before"), ("no connection", "again"), 23),
    ],
    ids=["503", "429", "dropped"],
)
def test_a_hub_that_stays_busy(
    hub: Hub,
    model: Repository,
    waits: list[float],
    what: str,
    failure: Failure,
    words: tuple[str, ...],
    waited: int,
) -> None:
    hub.failures[what] = [failure] * 6
    refused("nothing was published to org/model: ", *words)
    assert sum(waits) == waited
    assert untouched(model)


@pytest.mark.parametrize(
    ("readme", "words"),
    [
        (b"---\nlicense: [\n---\n", ("the metadata at the head of README.md: - YAML:", "Correct")),
        (b"---\n- a\n---\n", ("the metadata at the head of README.md: - metadata is no table",)),
    ],
)
def test_metadata_that_the_hub_refuses(
    hub: Hub, model: Repository, readme: bytes, words: tuple[str, ...]
) -> None:
    with pytest.raises(PublishError) as found:
        commit(look("org/model"), FILES | {"README.md": readme}, message=TITLE)
    assert [w for w in words if w not in str(found.value)] == [], str(found.value)
    assert untouched(model)


def test_what_the_hub_warns_of_is_passed_on(hub: Hub) -> None:
    made = commit(look("org/model"), FILES | {"README.md": b"# No metadata"}, message=TITLE)
    (notice,) = made.notices
    assert "empty or missing yaml metadata" in notice


# Answers that are lost: the commit is looked for

LOST = {
    "dropped": (
        Failure(drop="before"),
        Failure(drop="after"),
        "to the Hub (RemoteProtocol",
    ),
    "failing": (Failure(500), Failure(500, done=True), "500 (Internal Server Error)"),
    "gateway": (Failure(504), Failure(504, done=True), "504 (Gateway Timeout)"),
    "silent": (
        Failure(late=0.6, drop="before"),
        Failure(late=0.6),
        "no connection to the Hub (ReadTimeout",
    ),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a third of a second only."""
    monkeypatch.setattr(publishing, "TIMEOUT_S", 0.3)


@pytest.mark.parametrize("proposed", [False, True], ids=["commit", "pull request"])
@pytest.mark.parametrize("case", LOST)
def test_a_commit_that_arrived_is_found(
    hub: Hub, model: Repository, impatient: None, case: str, proposed: bool
) -> None:
    _, arrived, words = LOST[case]
    hub.failures["commit"] = [arrived]
    made = publish(create_pr=proposed)
    (notice,) = made.notices
    assert words in notice
    assert "It is there, and whole." in notice
    assert model.commits[made.sha] == {**MODEL, **FILES}
    assert len(model.commits) == 3
    number = f"{hub.address}/org/model/discussions/1"
    assert made.pull_request == (number if proposed else None)
    assert model.names == {"main": MAIN, "refs/pr/1": made.sha} if proposed else {"main": made.sha}


@pytest.mark.parametrize("proposed", [False, True], ids=["commit", "pull request"])
@pytest.mark.parametrize("case", LOST)
def test_a_commit_that_did_not_arrive(
    hub: Hub, model: Repository, impatient: None, case: str, proposed: bool
) -> None:
    lost, _, words = LOST[case]
    hub.failures["commit"] = [lost]
    refused(
        *("nothing was published to org/model: ", words, "It was looked for and is not there."),
        *("Run the command again.", "/discussions" if proposed else "/commits/main"),
        create_pr=proposed,
    )
    assert untouched(model)


def test_a_commit_that_cannot_be_looked_for(hub: Hub, model: Repository) -> None:
    repository = look("org/model")
    hub.failures["commit"] = [Failure(drop="after")]
    hub.failures["model"] = [Failure(503), Failure(drop="before")]
    with pytest.raises(PublishError) as found:
        commit(repository, FILES, message=TITLE)
    said = str(found.value)
    assert "it is not known whether anything was published to org/model: no connection" in said
    assert f"Look at {hub.address}/org/model/commits/main" in said


def test_a_lost_commit_that_somebody_has_changed(hub: Hub, model: Repository) -> None:
    made = publish()
    files = FILES | {"README.md": b"---\na: b\n---\n", "bias/new.json": b"1"}
    model.commits["c" * 40] = {**model.head, "bias/new.json": b"1", "README.md": b"theirs"}
    repository = look("org/model")
    hub.failures["commit"] = [Failure(500)]
    model.names["main"] = "c" * 40
    with pytest.raises(PublishError, match=r"not known whether .* 1 of 2 files are there"):
        commit(repository, files, message=TITLE)
    assert repository.head == made.sha


def test_a_hub_that_is_not_there(
    hub: Hub, model: Repository, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = look("org/model")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(PublishError) as found:
        commit(repository, FILES, message=TITLE)
    assert "nothing was published to org/model: no connection to the Hub (ConnectError" in str(
        found.value
    )
    with pytest.raises(
        ModelError, match=r"org/model cannot .*: no connection to the Hub \(ConnectError"
    ):
        look("org/model")


def test_the_patience_of_other_requests_is_left_as_it_was(hub: Hub) -> None:
    session = huggingface_hub.get_session()
    before = session.timeout
    publish()
    assert huggingface_hub.get_session().timeout == before


# The server itself


def test_the_server_lists_folders(hub: Hub) -> None:
    publish()
    api = HfApi()
    top = {e.path for e in api.list_repo_tree("org/model")}
    assert top == {"README.md", "config.json", "model.safetensors", "bias"}
    below = {e.path for e in api.list_repo_tree("org/model", "bias", recursive=True)}
    folders = {"bias/abc", "bias/abc/records", "bias/badges"}
    assert below == {*folders, *(p for p in FILES if p.startswith("bias/"))}
    assert api.whoami()["auth"]["accessToken"]["role"] == "write"


def test_retries_take_as_long_as_the_module_says(hub: Hub) -> None:
    hub.failures["preupload"] = [Failure(429, headers={"Retry-After": "0"})]
    began = time.monotonic()
    assert publish().new
    assert 1 <= time.monotonic() - began < 5
