"""A job of the Hub that every push starts: registered once, and played against a Hub here."""

import importlib.util
import io
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import HfApi, constants
from rich.console import Console

import hub_jobs
import pytest_bias
from commands import Ran, environment
from hub_server import Failure, Hub, Repository, serving
from pytest_bias import hub_event
from pytest_bias.errors import BiasError, PublishError, UnknownName, UsageError
from pytest_bias.hub.job import JOB_TOKEN, PUBLISH, command, hub_job_command
from pytest_bias.hub.webhooks import MODEL, REGISTRATION, SECRET
from pytest_bias.reports.publication_layout import CURRENT, README
from pytest_bias.settings.settings import Settings, read_settings

DEMOS = Path(pytest_bias.__file__).parent / "models" / "demo"
NAME = "org-a/model"
COMMIT = "1" * 40
TEXT = b"---\nlanguage: en\n---\n# A model\n"
SETTINGS = b"suites: [template_association]\n"
OTHERS_JOB = {"environment": {}, "flavor": "cpu-basic", "command": ["true"], "owner": "somebody"}
WRITING = ("POST", "PUT", "DELETE")


def files_of(demo: str) -> dict[str, bytes]:
    found = {p.name: p.read_bytes() for p in (DEMOS / demo).iterdir()}
    return {**found, README: TEXT, "pytest-bias.yaml": SETTINGS}


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Serve one model, and a webhook and a job that are not ours."""
    repository = Repository({COMMIT: files_of("planted")}, {"main": COMMIT})
    tokens = {"hf_own": "write", "hf_reader": "read", "hf_job": "write"}
    watched = [{"type": "model", "name": NAME}]
    others = {"watched": watched, "domains": ["repo"], "secret": "s", "disabled": False}
    served = Hub(
        {NAME: repository},
        tokens=tokens,
        jobs={"f" * 24: {**OTHERS_JOB, "stage": "RUNNING"}},
        webhooks={
            "b" * 24: {**others, "url": "https://example.org", "secrets": {}},
            "c" * 24: {**others, "job": OTHERS_JOB, "secrets": {}},
        },
    )
    with serving(served) as found:
        yield found


@pytest.fixture
def client(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lead the client in this process to the Hub, and let it not wait between attempts."""

    class Clock:
        sleep = staticmethod(lambda seconds: None)

    monkeypatch.setattr(huggingface_hub.utils._http, "time", Clock)
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    template = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_HUB_OFFLINE", "HF_OIDC_RESOURCE", JOB_TOKEN):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_TOKEN", "hf_own")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def register(settings: Settings | None = None, name: str = NAME, **options: Any) -> str:
    """Register a job; returns what was printed."""
    said = io.StringIO()
    code = hub_job_command(name, settings or Settings(), Console(file=said, width=250), **options)
    assert code == 0
    assert "hf_" not in said.getvalue()
    return said.getvalue()


def refused(*words: str, kind: type[BiasError] = PublishError, **options: Any) -> str:
    """Register, and assert that it fails with these words; returns the message."""
    with pytest.raises(BiasError) as found:
        register(**options)
    said = str(found.value)
    assert type(found.value) is kind, said
    assert [w for w in words if w not in said] == [], said
    assert "hf_own" not in said
    return said


def ours(hub: Hub) -> dict[str, dict[str, Any]]:
    return {n: h for n, h in hub.webhooks.items() if n not in ("b" * 24, "c" * 24)}


def jobs(hub: Hub, *stages: str) -> list[dict[str, Any]]:
    found = [j for n, j in hub.jobs.items() if n != "f" * 24]
    return [j for j in found if j["stage"] in stages] if stages else found


def foreign_are_untouched(hub: Hub) -> bool:
    return (
        hub.jobs["f" * 24]["stage"] == "RUNNING"
        and hub.webhooks["b" * 24]["url"] == "https://example.org"
        and hub.webhooks["c" * 24]["job"] == OTHERS_JOB
    )


# Registered


@pytest.mark.usefixtures("client")
def test_one_command_starts_a_job_and_watches_the_model(hub: Hub) -> None:
    said = register(flavor="t4-small", timeout="90m")
    ((number, hook),) = ours(hub).items()
    (job,) = jobs(hub)
    assert hook["watched"] == [{"type": "model", "name": NAME}]
    assert hook["domains"] == ["repo"]
    assert (job["flavor"], job["timeoutSeconds"], job["owner"]) == ("t4-small", 5400, "somebody")
    assert job["command"] == hook["job"]["command"] == list(command())
    assert job["secrets"] == hook["secrets"] == {"HF_TOKEN": "hf_own", SECRET: hook["secret"]}
    assert len(hook["secret"]) >= 32
    for shown in (job, hook["job"]):
        assert shown["environment"][MODEL] == NAME
        assert shown["environment"][PUBLISH] == "pull-request"
        assert not {"HF_TOKEN", SECRET} & set(shown["environment"])
        assert "hf_own" not in str(shown["environment"]) + str(shown["command"])
    # 90 minutes of 6667 millionths of a dollar
    assert "$0.0067 per minute, at most $0.60 per run" in said
    assert f"hf webhooks delete {number}" in said
    assert "hf jobs cancel somebody/" in said
    assert foreign_are_untouched(hub)


def test_the_command_of_a_job_is_one_that_a_shell_reads() -> None:
    shell, flag, line = command()
    assert (shell, flag) == ("bash", "-c")
    subprocess.run([shell, "-n", flag, line], check=True)
    words = shlex.split(line)
    assert words[-3:] == ["python", "-m", "pytest_bias.hub_event"]
    assert importlib.util.find_spec(words[-1]) is not None
    assert any(w.endswith("==0.1.0") and w.startswith("pytest-bias[") for w in words)


@pytest.mark.usefixtures("client")
def test_registered_twice_there_is_one_webhook_and_one_running_job(hub: Hub) -> None:
    register(flavor="t4-small")
    (first,) = ours(hub).items()
    said = register(flavor="a10g-small")
    ((number, hook),) = ours(hub).items()
    assert number == first[0]
    assert (hook["job"]["flavor"], hook["secret"] != first[1]["secret"]) == ("a10g-small", True)
    assert hook["secrets"][SECRET] == hook["secret"]
    assert [j["flavor"] for j in jobs(hub, "CANCELED")] == ["t4-small"]
    assert [j["flavor"] for j in jobs(hub, "SCHEDULING")] == ["a10g-small"]
    assert "Changed on a10g-small" in said
    assert "was cancelled" in said
    assert foreign_are_untouched(hub)


@pytest.mark.usefixtures("client")
def test_a_webhook_that_slept_is_awake(hub: Hub) -> None:
    register()
    ((number, _),) = ours(hub).items()
    hub.webhooks[number]["disabled"] = True
    register()
    assert hub.webhooks[number]["disabled"] is False
    hub.webhooks[number]["disabled"] = True
    hub.failures["enable"] = [Failure(503)]
    assert f"hf webhooks enable {number}" in register()


@pytest.mark.usefixtures("client")
def test_a_second_webhook_of_ours_is_named_and_not_removed(hub: Hub) -> None:
    register()
    ((_, hook),) = ours(hub).items()
    hub.webhooks["d" * 24] = dict(hook)
    assert f"hf webhooks delete {'d' * 24}" in register()
    assert len(ours(hub)) == 2


@pytest.mark.usefixtures("client")
def test_a_dry_run_writes_nothing(hub: Hub) -> None:
    before = (len(hub.jobs), len(hub.webhooks))
    said = register(dry_run=True, namespace="org-a", flavor="t4-small")
    assert [a for a in hub.asked if a.startswith(WRITING)] == []
    assert (len(hub.jobs), len(hub.webhooks)) == before
    assert "python -m pytest_bias.hub_event" in said
    assert "of org-a, on t4-small (Nvidia T4 - small)" in said
    assert "nothing was registered" in said


@pytest.mark.usefixtures("client")
def test_an_organization_runs_and_pays_for_it(hub: Hub) -> None:
    said = register(namespace="org-a")
    assert [j["owner"] for j in jobs(hub)] == ["org-a"]
    assert "hf jobs logs -f org-a/" in said


@pytest.mark.usefixtures("client")
def test_the_job_can_have_a_token_of_its_own(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(JOB_TOKEN, "hf_job")
    register()
    ((_, hook),) = ours(hub).items()
    assert hook["secrets"]["HF_TOKEN"] == jobs(hub)[0]["secrets"]["HF_TOKEN"] == "hf_job"
    monkeypatch.setenv(JOB_TOKEN, "hf_reader")
    before = len(hub.jobs)
    refused("403", "repo.write")
    assert len(hub.jobs) == before


@pytest.mark.usefixtures("client")
def test_a_consent_goes_along_and_what_is_measured_does_not(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Settings(suites=("seat",), profile="quick", trust_remote_code=True)
    monkeypatch.setenv(PUBLISH, "commit")
    register(given)
    there = jobs(hub)[0]["environment"]
    assert read_settings({}, environment=there, folder=tmp_path) == Settings(trust_remote_code=True)
    assert there[PUBLISH] == "commit"
    monkeypatch.setenv(PUBLISH, "comit")
    refused("'comit' is not known. Did you mean 'commit'?", kind=UnknownName)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"flavor": "t4-smal"}, ("--flavor 't4-smal'", "Did you mean 't4-small'?", "cpu-basic")),
        ({"name": "demo"}, ("'demo' is no model of the Hub",)),
        ({"name": f"{NAME}@main"}, ("every push", f"--hub-job {NAME}")),
        ({"name": "../../etc"}, ("no model of the Hub",)),
        ({"timeout": "soon"}, ("--timeout 'soon' is not a time",)),
        ({"timeout": "0"}, ("not a time above zero",)),
    ],
)
def test_mistakes_are_named_before_anything_is_written(
    hub: Hub, options: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as found:
        register(**options)
    assert [w for w in words if w not in str(found.value)] == []
    assert [a for a in hub.asked if a.startswith(WRITING)] == []


# What goes wrong

GONE = (Failure(drop="before"), "no connection")
REFUSALS = [
    (Failure(401, message="Invalid"), "does not accept the token"),
    (Failure(402, message="Payment required"), "settings/billing"),
    (Failure(403), "job.write"),
    (Failure(404), "404"),
    (Failure(409), "409"),
    (Failure(429, headers={"Retry-After": "7"}), "wait 7 s"),
    (Failure(503), "503"),
    GONE,
]
NAMES = ["401", "402", "403", "404", "409", "429", "503", "dropped"]


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("what", ["access", "webhooks", "start", "hook"])
@pytest.mark.parametrize(("failure", "words"), REFUSALS, ids=NAMES)
def test_what_fails_leaves_nothing_half_registered(
    hub: Hub, what: str, failure: Failure, words: str
) -> None:
    hub.failures[what] = [failure] * 6
    said = refused(words)
    assert ours(hub) == {}
    assert jobs(hub, "SCHEDULING", "RUNNING") == []
    assert ("was cancelled" in said) == (what == "hook")
    assert foreign_are_untouched(hub)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(("failure", "words"), REFUSALS, ids=NAMES)
def test_a_change_that_fails_leaves_the_webhook_as_it_was(
    hub: Hub, failure: Failure, words: str
) -> None:
    register(flavor="t4-small")
    before = dict(ours(hub))
    hub.failures["hook"] = [failure]
    refused(words, "is as it was", "was cancelled", flavor="a10g-small")
    assert ours(hub) == before
    assert [j["flavor"] for j in jobs(hub, "SCHEDULING")] == ["t4-small"]


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("lost", [Failure(500, done=True), Failure(drop="after")])
def test_a_job_whose_answer_was_lost_is_found_and_cancelled(hub: Hub, lost: Failure) -> None:
    hub.failures["start"] = [lost]
    refused("nothing was registered", "was cancelled")
    assert [j["stage"] for j in jobs(hub)] == ["CANCELED"]
    assert ours(hub) == {}


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("lost", [Failure(500, done=True), Failure(drop="after")])
def test_a_webhook_whose_answer_was_lost_is_found(hub: Hub, lost: Failure) -> None:
    hub.failures["hook"] = [lost]
    assert "answer to the webhook was lost" in register()
    ((_, hook),) = ours(hub).items()
    (job,) = jobs(hub, "SCHEDULING")
    assert hook["job"]["environment"][REGISTRATION] == job["environment"][REGISTRATION]


@pytest.mark.usefixtures("client")
def test_what_cannot_be_known_is_said(hub: Hub) -> None:
    hub.failures["start"] = [Failure(500, done=True)]
    hub.failures["jobs"] = [Failure(403)] * 6
    refused("Whether a job was started is not known", "settings/jobs")
    hub.failures["hook"] = [Failure(500, done=True)]
    hub.failures["webhooks"] = [Failure(), Failure(403)]
    refused("Whether the webhook is there is not known", "settings/webhooks")
    hub.failures.clear()
    hub.failures["hook"] = [Failure(403)]
    hub.failures["cancel"] = [Failure(503)]
    refused("could not be cancelled", "hf jobs cancel somebody/")


@pytest.mark.usefixtures("client")
def test_prices_that_the_hub_does_not_say_are_not_made_up(hub: Hub) -> None:
    hub.failures["hardware"] = [Failure(503)]
    said = register(flavor="l4x1", dry_run=True)
    assert "states neither its hardware nor the price" in said
    assert "Cost     not known here" in said
    assert "$" not in said


@pytest.mark.usefixtures("client")
def test_who_may_not_write_registers_nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_reader")
    refused("the token does not allow it", "repo.write", "user.webhooks.write")
    monkeypatch.setenv("HF_TOKEN", "")
    refused("there is no token to write with")
    assert [a for a in hub.asked if a.startswith(WRITING)] == []


@pytest.mark.usefixtures("client")
def test_a_client_that_is_too_old_is_named(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def create_webhook(self: HfApi, *, url: str, watched: list[str]) -> None:
        raise AssertionError("it was not to be called")

    monkeypatch.setattr(HfApi, "create_webhook", create_webhook)
    refused("pip install -U huggingface_hub", kind=UsageError)
    assert jobs(hub) == []


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("watched", [[("org", "org-a")], [("model", NAME), ("model", "org-b/m")]])
def test_a_webhook_that_watches_more_is_left_alone(
    hub: Hub, watched: list[tuple[str, str]]
) -> None:
    register()
    ((number, hook),) = ours(hub).items()
    hook["watched"] = [{"type": kind, "name": name} for kind, name in watched]
    register()
    assert hub.webhooks[number] == hook
    assert len(ours(hub)) == 2


@pytest.mark.usefixtures("client")
def test_there_is_no_such_model() -> None:
    with pytest.raises(BiasError, match="there is no model of this name"):
        register(name="org-a/other")


# An event, played


class Player:
    """The Hub's machine: runs what a webhook starts."""

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.model = hub.repositories[NAME]

    def run(self, variables: dict[str, str]) -> Ran:
        """Run the module that the registered command names, with the variables of the job."""
        self.hub.asked.clear()
        ran = self._run(variables)
        assert "hf_own" not in ran.out + ran.err
        return ran

    def _run(self, variables: dict[str, str]) -> Ran:
        ((_, hook),) = ours(self.hub).items()
        module = shlex.split(hook["job"]["command"][-1])[-1]
        kept = {"HF_HOME": str(self.folder / "home")}
        done = subprocess.run(
            [sys.executable, "-m", module],
            cwd=self.folder,
            env=environment({**self.hub.env, **kept, **variables}),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=240,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr, self.folder)

    def first(self) -> Ran:
        """Run the source job: no event."""
        (job,) = jobs(self.hub, "SCHEDULING")
        return self.run(job["environment"] | job["secrets"])

    def event(self, ref: str, old: str | None, new: str | None, **more: str) -> Ran:
        """Play the event of a branch that moved."""
        ((number, _),) = ours(self.hub).items()
        payload = hub_jobs.push(NAME, ref, old, new)
        return self.run(hub_jobs.environment(self.hub, number, payload) | more)

    def push(self, files: dict[str, bytes]) -> tuple[str, str]:
        """Make other files the head of main; returns the commits before and after."""
        old, new = self.model.names["main"], f"{len(self.model.commits) + 1:x}" * 40
        self.model.commits[new] = files
        self.model.names["main"] = new
        return old, new

    @property
    def weights_asked(self) -> bool:
        """Whether the last run asked for weights."""
        return any("model.safetensors" in a for a in self.hub.asked)

    @property
    def has_written(self) -> bool:
        """Whether the last run committed something."""
        return any("/commit/" in a for a in self.hub.asked if a.startswith("POST"))


class Inside(Player):
    """The same in this process, where torch is loaded already."""

    def __init__(
        self, hub: Hub, folder: Path, patch: pytest.MonkeyPatch, said: pytest.CaptureFixture[str]
    ) -> None:
        super().__init__(hub, folder)
        self.patch, self.said = patch, said

    def _run(self, variables: dict[str, str]) -> Ran:
        self.said.readouterr()
        with self.patch.context() as patch:
            patch.chdir(self.folder)
            for name, value in variables.items():
                patch.setenv(name, value)
            code = hub_event.main()
        return Ran(code, *self.said.readouterr(), self.folder)


@pytest.fixture
def player(
    client: None,
    hub: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Player:
    """Return the machine of a Hub where a job is registered that proposes."""
    register()
    return Inside(hub, tmp_path, monkeypatch, capsys)


def unmeasured(ran: Ran, player: Player, *words: str) -> None:
    ran.done(0)
    assert "Nothing is measured" in ran.out, ran.said
    assert [w for w in words if w not in ran.out] == [], ran.out
    assert not player.weights_asked
    assert not player.has_written


@pytest.mark.nightly
def test_a_push_is_measured_and_its_own_commit_is_not(player: Player) -> None:
    register(create_pr=False)
    machine = Player(player.hub, player.folder)
    ran = machine.event("refs/heads/main", None, COMMIT).done(0)
    assert machine.weights_asked
    assert "template_association" in ran.out
    assert "seat" not in ran.out
    made = player.model.names["main"]
    assert made != COMMIT
    assert CURRENT in player.model.head
    # The commit that the job made, then one to the card, then another model.
    own = machine.event("refs/heads/main", COMMIT, made)
    unmeasured(own, machine, "are those of the report that is published")
    old, new = player.push({**player.model.head, README: TEXT + b"More.\n"})
    unmeasured(player.event("refs/heads/main", old, new), player, new[:7])
    old, new = player.push({**player.model.head, **files_of("neutral")})
    player.event("refs/heads/main", old, new).done(0)
    assert player.weights_asked
    assert player.has_written


@pytest.mark.slow
def test_what_was_proposed_is_not_measured_again(player: Player) -> None:
    ran = player.first().done(0)
    assert "/discussions/1" in ran.out
    assert CURRENT not in player.model.head
    assert CURRENT in player.model.commits[player.model.names["refs/pr/1"]]
    pull = player.event("refs/pr/1", None, player.model.names["refs/pr/1"])
    unmeasured(pull, player, "main was not pushed to, but refs/pr/1")
    assert player.hub.asked == []
    # Measured once more, since somebody registered it again: the proposal is there already.
    again = player.first().done(0)
    assert "is proposed already" in again.out
    assert len(player.model.pulls) == 1
    old, new = player.push({**player.model.head, README: TEXT + b"More.\n"})
    card = player.event("refs/heads/main", old, new)
    unmeasured(card, player, "the report that is proposed", "/discussions/1")
    # Of a stranger's proposal anybody could have made up the content.
    player.model.authors[1] = "stranger"
    player.event("refs/heads/main", old, new).done(0)
    assert len(player.model.pulls) == 2


def test_who_pushes_meanwhile_starts_a_job_of_their_own(player: Player) -> None:
    old, new = player.push(files_of("neutral"))
    late = player.event("refs/heads/main", None, old)
    unmeasured(late, player, f"{old[:7]} is no longer the head, which is {new[:7]}")


def test_events_that_are_none_of_its_business(player: Player) -> None:
    unmeasured(player.event("refs/heads/main", COMMIT, None), player, "main was deleted")
    name = "refs/heads/\x1b[31m$(id)"
    ran = player.event(name, None, COMMIT)
    unmeasured(ran, player)
    assert "\x1b" not in ran.out
    wrong = player.event("refs/heads/main", None, COMMIT, WEBHOOK_SECRET="guessed")
    wrong.refused(2, "WEBHOOK_SECRET is not the secret")
    other = player.event("refs/heads/main", None, COMMIT, **{MODEL: "org-a/other"})
    other.refused(2, "this job is for the model 'org-a/other'")
    player.event("refs/heads/main", None, COMMIT, WEBHOOK_PAYLOAD="{").refused(2, "no JSON")
    assert not player.hub.asked


def test_who_can_write_to_the_repository_runs_no_code_with_the_token(player: Player) -> None:
    own = SETTINGS + b"trust_remote_code: true\n"
    old, new = player.push({**files_of("planted"), "pytest-bias.yaml": own})
    ran = player.event("refs/heads/main", old, new)
    ran.refused(2, "trust_remote_code", "PYTEST_BIAS_TRUST_REMOTE_CODE=1")
    assert not player.weights_asked
    wrong = SETTINGS + b"profil: quick\n"
    old, new = player.push({**files_of("planted"), "pytest-bias.yaml": wrong})
    player.event("refs/heads/main", old, new).refused(2, "profil", "'profile'")


@pytest.mark.nightly
def test_who_pushes_while_it_runs_is_not_overwritten(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_job = hub_event.run_job

    def and_meanwhile(settings: Settings, console: Console) -> hub_event.Finished:
        done = run_job(settings, console)
        player.push(files_of("neutral"))
        return done

    monkeypatch.setattr(hub_event, "run_job", and_meanwhile)
    ran = player.first().done(0)
    assert "Nothing is published: 1111111 is no longer the head" in ran.out
    assert not player.has_written
    assert player.model.pulls == []


@pytest.mark.nightly
def test_a_run_that_is_not_whole_is_not_published(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_job = hub_event.run_job

    def and_fails(settings: Settings, console: Console) -> hub_event.Finished:
        done = run_job(settings, console)
        failed = replace(done.report.suites[-1], status="error")
        return replace(done, report=replace(done.report, suites=(failed,)))

    monkeypatch.setattr(hub_event, "run_job", and_fails)
    ran = player.first().done(3)
    assert "Nothing is published: template_association[en] could not be measured" in ran.out
    assert not player.has_written


def test_a_limit_of_the_project_is_its_exit_code_and_the_report_is_out(player: Player) -> None:
    limits = b"limits:\n  template_association.association: {max_distance: 0.001}\n"
    player.push({**files_of("planted"), "pytest-bias.yaml": SETTINGS + limits})
    assert "/discussions/1" in player.first().done(1).out


@pytest.mark.nightly
def test_a_private_model_is_measured_with_the_token_of_the_job(player: Player) -> None:
    player.model.private = True
    ran = player.first().done(0)
    assert "is private: only those who may read it" in ran.out
    assert len(player.model.pulls) == 1
