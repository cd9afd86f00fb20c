"""From a run to a badge that others can check: whole commands against a Hub on this machine."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytest_bias
from commands import Ran, finish, read, start
from hub_server import Failure, Hub, Repository, serving
from pytest_bias.data import downloads
from pytest_bias.http.patience import Patience
from pytest_bias.records.command_result import CommandResult
from pytest_bias.reports.publication_layout import (
    BADGES,
    CURRENT,
    README,
    REPRODUCTION,
    SIGNATURE,
    digest12,
)

DEMOS = Path(pytest_bias.__file__).parent / "models" / "demo"
NAME = "org-a/model"
TEXT = b"---\nlicense: mit\n# kept\nlanguage: en\n---\r\n# A model\n\nIt is small.\n"
SUITE = ("--suite", "template_association")


def files_of(demo: str) -> dict[str, bytes]:
    found = {p.name: p.read_bytes() for p in (DEMOS / demo).iterdir() if p.is_file()}
    return found | {README: TEXT}


class Publisher:
    """Somebody with a token, a Hub, and a folder to work in."""

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.env = {**hub.env, "HF_HOME": str(folder / "home"), "HF_TOKEN": "hf_own"}

    def __call__(self, *words: object, **env: str) -> Ran:
        process = start(*words, folder=self.folder, env={**self.env, **env})
        return finish(process, self.folder)

    @property
    def repository(self) -> Repository:
        """The model's repository."""
        return self.hub.repositories[NAME]

    @property
    def head(self) -> dict[str, bytes]:
        """Its files now."""
        return dict(self.repository.head)

    def push(self, files: dict[str, bytes]) -> None:
        """Make other files the head of the main branch."""
        sha = f"{len(self.repository.commits) + 1:x}" * 40
        self.repository.commits[sha[:40]] = files
        self.repository.names["main"] = sha[:40]

    def json(self, path: str) -> dict[str, Any]:
        """Return the content of a JSON file at the head."""
        return json.loads(self.head[path])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what a run of the model on a Hub left."""
    folder = tmp_path_factory.mktemp("measured")
    with serving(hub()) as there:
        made = Publisher(there, folder)
        made("run", NAME, *SUITE, "--out", "out", "--with-texts").done()
    return folder / "out"


def hub() -> Hub:
    commit = "1" * 40
    repository = Repository({commit: files_of("planted")}, {"main": commit})
    return Hub({NAME: repository}, tokens={"hf_own": "write", "hf_other": "propose"})


@pytest.fixture
def publisher(tmp_path: Path, measured: Path) -> Iterator[Publisher]:
    """Return a publisher with a report of the model that the Hub has."""
    shutil.copytree(measured, tmp_path / "out")
    with serving(hub()) as there:
        yield Publisher(there, tmp_path)


@pytest.fixture
def published(publisher: Publisher) -> Publisher:
    """Return a publisher who has published."""
    publisher("publish", "out", "--repo", NAME).done()
    return publisher


def test_a_report_is_published_in_one_commit_and_verified_by_anybody(
    publisher: Publisher,
) -> None:
    file = publisher.folder / "result.json"
    ran = publisher("publish", "out", "--repo", NAME, PYTEST_BIAS_RESULT=str(file)).done()
    result = CommandResult.read(file)
    assert f"Published: {result.published}" in ran.out
    assert f"/{NAME}/commit/" in str(result.published)
    assert len(publisher.repository.commits) == 2
    report = read(publisher.folder / "out" / "report.json")
    folder = f"bias/{digest12(report['digest'])}"
    assert publisher.json(CURRENT)["report"] == report["digest"]
    assert publisher.json(f"{folder}/report.json") == report
    assert f"{folder}/records/template_association[en].parquet" in publisher.head
    assert f"{BADGES}/social-bias-evaluated.svg" in publisher.head
    assert not [p for p in publisher.head if p.endswith(("decision.json", ".html", "summary.md"))]
    card = publisher.head[README]
    front, _, text = card.partition(b"\n---\r\n")
    assert front.startswith(b"---\nlicense: mit\n# kept\nlanguage: en\nmodel-index:\n")
    assert text.startswith(b"# A model\n\nIt is small.\n\n<!-- pytest-bias:begin -->")
    address = f"{publisher.hub.address}/{NAME}"
    assert f"({address}/resolve/main/{BADGES}/social-bias-evaluated.svg)".encode() in card
    assert f"({address}/blob/main/{folder}/report.json)".encode() in card

    checked = publisher("verify", NAME, HF_TOKEN="")
    # Whole, and signed by nobody.
    assert checked.code == 3, checked.said
    assert "fails" not in checked.out
    assert "Unverified: nobody signed the report" in checked.said

    again = publisher("publish", "out", "--repo", NAME).done()
    assert "nothing to do" in again.out
    assert len(publisher.repository.commits) == 2


def test_a_dry_run_shows_the_difference_and_writes_nothing(publisher: Publisher) -> None:
    ran = publisher("publish", "out", "--repo", NAME, "--dry-run", "--eval-results").done()
    assert "changed README.md" in ran.out
    why = (
        "No result for template_association[en]: its data are not those of one dataset of the Hub."
    )
    assert why in ran.out
    assert "+<!-- pytest-bias:begin -->" in ran.out
    assert "nothing was written" in ran.out
    assert list(publisher.repository.commits) == ["1" * 40]


def test_a_pull_request_leaves_the_main_branch_alone(publisher: Publisher) -> None:
    file = publisher.folder / "result.json"
    words = ("publish", "out", "--repo", NAME, "--create-pr")
    for said in ("Published", "This report is proposed already"):
        ran = publisher(*words, PYTEST_BIAS_RESULT=str(file)).done()
        result = CommandResult.read(file)
        assert f"{said}: {result.proposed}" in ran.out
        assert str(result.proposed).endswith(f"/{NAME}/discussions/1")
        assert result.published is None
    assert publisher.head == files_of("planted")
    assert CURRENT in publisher.repository.commits[publisher.repository.names["refs/pr/1"]]


@pytest.mark.nightly
@pytest.mark.parametrize(("private", "gated"), [(True, False), (False, "auto")])
def test_who_will_not_see_the_badges_is_told(
    publisher: Publisher, private: bool, gated: str | bool
) -> None:
    publisher.repository.private, publisher.repository.gated = private, gated
    ran = publisher("publish", "out", "--repo", NAME).done()
    assert f"is {'private' if private else 'gated'}: only those who may read it" in ran.said


@pytest.mark.slow
def test_a_model_that_moved_is_stale_and_says_so(published: Publisher) -> None:
    files = published.head
    published.push({**files, README: files[README] + b"\nMore words.\n"})
    assert "stale" not in published("verify", NAME).out
    published.push({**published.head, **files_of("neutral"), README: files[README]})
    ran = published("verify", NAME)
    assert ran.code == 1
    assert "stale: weights changed since it was measured" in ran.said
    published("publish", "out", "--repo", NAME).done()
    badge = published.json(f"{BADGES}/template_association-en.json")
    assert badge["message"].endswith("· for older weights 1111111")
    assert badge["color"] == "#666"


def test_a_report_of_another_model_is_not_published(publisher: Publisher) -> None:
    publisher.push({**files_of("neutral")})
    ran = publisher("publish", "out", "--repo", NAME)
    ran.refused(3, "not of the model that org-a/model holds", "weights changed")
    assert publisher.head == files_of("neutral")


def test_who_moves_the_repository_meanwhile_is_not_overwritten(publisher: Publisher) -> None:
    publisher.hub.failures["commit"] = [Failure(412, message="A commit has happened since.")]
    ran = publisher("publish", "out", "--repo", NAME)
    ran.refused(3, "nothing was published")
    assert publisher.head == files_of("planted")


def test_without_a_token_nothing_is_sent(publisher: Publisher) -> None:
    ran = publisher("publish", "out", "--repo", NAME, HF_TOKEN="")
    ran.refused(3, "HF_TOKEN")
    assert not [a for a in publisher.hub.asked if a.startswith("POST")]


@pytest.mark.slow
def test_others_run_it_again_and_publish_what_they_found(published: Publisher) -> None:
    ran = published("reproduce", NAME, "--by", "org-b", "--out", "again", HF_TOKEN="").done()
    assert "1 of 1 suites agree; 830 of 830 outcomes are the same." in ran.out
    found = read(published.folder / "again" / REPRODUCTION)
    first, second = (read(published.folder / f / "report.json") for f in ("out", "again"))
    assert (found["of"], found["report"]) == (first["digest"], second["digest"])
    assert found["by"]["owner"] == "org-b"
    assert found["published_at"].startswith(f"{NAME}@")
    assert {d["what"] for d in found["digests"]} >= {"weights", "configuration", "tokenizer"}
    published("publish", "again", "--repo", NAME, HF_TOKEN="hf_other").refused(3, "nothing")
    published("publish", "again", "--repo", NAME).done()
    badge = published.json(f"{BADGES}/results-re-run.json")
    assert (badge["label"], badge["message"]) == (
        "Results re-run",
        "by org-b · identity unverified",
    )
    folder = f"bias/{digest12(first['digest'])}/reproductions/"
    names = {p.rpartition("/")[2] for p in published.head if p.startswith(folder)}
    assert {REPRODUCTION, "report.json", "template_association[en].parquet"} <= names
    checked = published("verify", NAME)
    assert checked.code == 3
    assert "1 of 1 suites agree; re-run by org-b, as it says" in checked.said


@pytest.mark.slow
def test_a_model_that_moved_is_not_run_in_place_of_the_one_that_was_measured(
    published: Publisher,
) -> None:
    """The revision that was measured is run, whatever the head holds by now."""
    published.push({**published.head, **files_of("neutral")})
    ran = published("reproduce", NAME, "--out", "again").done()
    assert "1 of 1 suites agree" in ran.out
    other = published("reproduce", NAME, "--model", NAME, "--out", "other")
    other.refused(3, "not the model that was measured: another weights")


@pytest.mark.slow
def test_an_address_is_verified_as_the_model_it_is_of(published: Publisher) -> None:
    digest = published.json(CURRENT)["report"]
    report = f"{published.hub.address}/{NAME}/blob/main/bias/{digest12(digest)}/report.json"
    right = published("verify", f"{report}#{digest}")
    assert right.code == 3
    assert "fails" not in right.out
    wrong = published("verify", f"{report}#sha256:{'0' * 64}")
    assert wrong.code == 1
    assert "link" in wrong.out
    raw = report.replace("/blob/", "/resolve/").replace("127.0.0.1", "localhost")
    alone = published("verify", raw)
    # By itself a report does not show why its model lacks an open vocabulary.
    assert (alone.code, "fails" in alone.out) == (3, False)
    assert "1 of 9 checks could not be made here" in alone.said


@pytest.mark.nightly
def test_what_anybody_can_propose_is_not_what_counts(published: Publisher) -> None:
    """The commit of a pull request can be named like any other of the repository."""
    before = published.repository.names["main"]
    published.push({**published.head, README: published.head[README] + b"\nMore.\n"})
    ran = published("verify", f"{NAME}@{before}")
    assert ran.code == 3
    assert f"{before[:7]} is not the head of {NAME}" in ran.said
    assert "is not the head" not in published("verify", NAME).said


@pytest.mark.slow
def test_a_forged_badge_on_the_hub_is_found(published: Publisher) -> None:
    path = f"{BADGES}/template_association-en.svg"
    forged = published.head[path].replace(b"0.19", b"0.01")
    assert forged != published.head[path]
    published.push({**published.head, path: forged})
    ran = published("verify", NAME)
    assert ran.code == 1
    assert "not what the report gives: template_association-en.svg" in ran.said


@pytest.mark.slow
def test_withheld_scores_are_published_as_such(publisher: Publisher) -> None:
    publisher("run", NAME, *SUITE, "--withhold-scores", "--out", "shut").done()
    publisher("publish", "shut", "--repo", NAME).done()
    everything = b"".join(v for p, v in publisher.head.items() if p.startswith("bias/"))
    salt = (publisher.folder / "shut" / "withheld-salt.txt").read_bytes().strip()
    assert salt not in everything
    assert not [p for p in publisher.head if p.endswith(".parquet")]
    badge = publisher.json(f"{BADGES}/social-bias-evaluated.json")
    assert badge["message"] == "1 of 3 suites · scores not published"
    assert b"scores not published" in publisher.head[README]
    publisher("reproduce", NAME).refused(3, "withheld")


@pytest.mark.nightly
def test_a_folder_is_published_in_place(publisher: Publisher) -> None:
    model = publisher.folder / "model"
    shutil.copytree(DEMOS / "planted", model)
    done = publisher("publish", "out", "--repo", "model").done()
    assert "Others see them once it is uploaded." in done.said
    assert (model / CURRENT).is_file()
    card = (model / README).read_text(encoding="utf-8")
    assert "(bias/badges/social-bias-evaluated.svg)" in card
    ran = publisher("verify", "model")
    # A folder of one's own needs no signature; that there is none is said all the same.
    assert (ran.code, "fails" in ran.out, "nobody signed" in ran.said) == (0, False, True)
    bundle = model / "bias" / digest12(read(model / CURRENT)["report"])
    (bundle / f"report.json{SIGNATURE}").write_text("{}", encoding="utf-8")
    assert publisher("verify", "model", "--offline").code == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("publish", "nowhere", "--repo", NAME), 2, "report.json"),
        (("publish", "out", "--repo", "demo"), 2, "folder or to org/name"),
        (("publish", "out", "--repo", f"{NAME}@main"), 2, "at the head"),
        (
            ("publish", "out", "--repo", "home", "--eval-results"),
            2,
            "--eval-results and --repo home",
        ),
        (("publish", "out", "--repo", "org-a/other"), 3, "org-a/other"),
        (("verify", "org-a/other"), 3, "org-a/other"),
        (("verify", NAME), 3, "publishes no report"),
        (("verify", "home"), 3, "holds no report"),
        pytest.param(
            *(("verify", "https://localhost:1/report.json"), 3, "cannot be fetched"),
            marks=pytest.mark.slow,
        ),
        (("verify", ""), 3, "'' holds no report"),
        (("verify", "out", "--trusted-root", "no.json"), 2, "--trusted-root no.json"),
        (("reproduce", "out/nothing"), 3, "out/nothing"),
    ],
)
def test_mistakes(
    publisher: Publisher,
    words: tuple[str, ...],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(downloads, "PATIENCE", Patience(backoff_s=0))
    (publisher.folder / "home").mkdir(exist_ok=True)
    publisher(*words).refused(code, said)
