"""Where a baseline comes from: measured first, taken from where it was measured, or published."""

import gc
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import torch
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedModel

import pytest_bias
import pytest_bias.engine.session
from commands import Command, Ran, environment, finish, read, start
from hub_server import Hub, Repository, serving
from pytest_bias.reports.folder import UNFINISHED
from pytest_bias.reports.publication_layout import CURRENT, CURRENT_SCHEMA, digest12

DEMO = Path(pytest_bias.__file__).parent / "models" / "demo" / "planted"
SUITE = ("--suite", "template_association")
REGRESSION = """limits:
  template_association.association[axis=gender]: {max_regression: {points: 0.3}}
"""
SHA = "1" * 40


@pytest.fixture
def tuned(tmp_path: Path) -> Path:
    """Return a copy of the demo whose card says that it was made from the neutral one."""
    folder = Path(shutil.copytree(DEMO, tmp_path / "tuned"))
    # The card's language is that of both.
    (folder / "README.md").write_text("---\nbase_model: demo-neutral\nlanguage: en\n---\n")
    return folder


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which a run measured its baseline."""
    folder = tmp_path_factory.mktemp("once")
    words = ("run", "demo", *SUITE, "--baseline", "demo-neutral", "--out", "out")
    finish(start(*words, folder=folder), folder).done(0)
    return folder


@pytest.fixture
def kept(once: Path, tmp_path: Path) -> Path:
    """Return the folder of a baseline that was measured here before."""
    shutil.copytree(once / "bias-report", tmp_path / "bias-report")
    (found,) = tmp_path.glob("bias-report/*")
    return found


AGAIN = ("run", "demo", *SUITE, "--baseline", "demo-neutral", "--out", "out", "--fresh")


def settings(folder: Path, text: str) -> None:
    (folder / "pytest-bias.yaml").write_text(text, encoding="utf-8")


def baseline_of(ran: Ran) -> Path:
    (found,) = ran.folder.glob("bias-report/demo-neutral-*")
    return found


# A model that is measured first


@pytest.mark.slow
def test_the_base_is_measured_first_and_then_taken_from_there(
    bias: Command, tuned: Path, tmp_path: Path
) -> None:
    settings(tmp_path, REGRESSION)
    words = ("run", "tuned", *SUITE, "--baseline", "base", "--out", "out", "--fresh")
    first = bias(*words).done(1)
    lines = first.out.splitlines()
    folder = baseline_of(first)
    told = [
        "Measuring the baseline demo-neutral …",
        "Loading demo-neutral (130 k parameters) …",
        f"Baseline demo-neutral: {folder.relative_to(tmp_path)}",
        "Loading tuned (130 k parameters) …",
    ]
    assert [line for line in lines if line in told] == told
    assert "since demo-neutral" in first.said
    (outcome,) = read(tmp_path / "out" / "decision.json")["outcomes"]
    assert (outcome["rule"], outcome["verdict"]) == ("max_regression", "exceeded")
    # The baseline's own run decides nothing.
    assert read(folder / "decision.json")["status"] == "measured"
    bias("verify", folder).done(0)

    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    digest = read(tmp_path / "out" / "report.json")["digest"]
    second = bias(*words).done(1)
    assert f"Baseline demo-neutral: {folder.relative_to(tmp_path)} is reused." in second.out
    assert "Loading demo-neutral" not in second.out
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before
    assert read(tmp_path / "out" / "report.json")["digest"] == digest
    assert read(tmp_path / "out" / "decision.json")["outcomes"] == [outcome]

    # A run of that model by itself is the same report.
    itself = bias("run", "demo-neutral", *SUITE, "--fresh").done(3)
    assert itself.folder / "bias-report" / folder.name == folder
    assert len(itself.reports) == 2


@pytest.mark.nightly
def test_the_baseline_changes_no_report(bias: Command, tuned: Path, tmp_path: Path) -> None:
    words = ("run", tuned, *SUITE, "--with-texts", "--out")
    alone = bias(*words, "alone").done(0).report["digest"]
    compared = bias(*words, "compared", "--baseline", "demo-neutral").done(0)
    assert read(tmp_path / "compared" / "report.json")["digest"] == alone
    assert not (baseline_of(compared) / UNFINISHED).exists()
    costs = [read(p / "report.json")["run"]["cost"] for p in compared.reports]
    # What the baseline took is not counted twice.
    assert len({cost["tokens"] for cost in costs}) == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    "change",
    [
        "settings",
        *(
            pytest.param(change, marks=pytest.mark.slow)
            for change in ("interrupted", "error", "entries", "records", "precision")
        ),
    ],
)
def test_another_or_half_a_report_is_not_taken(
    change: str, kept: Path, bias: Command, tmp_path: Path
) -> None:
    path, words = kept / "report.json", AGAIN
    plain = read(path)
    match change:
        case "settings":
            words = (*AGAIN, "--seed", "1")
        case "precision":
            # As a GPU would have left it, by the same command.
            plain["model"]["dtype"] = "bfloat16"
        case "interrupted":
            plain["run"]["interrupted"] = True
        case "error":
            plain["suites"][1] |= {"status": "error", "scores": []}
        case "entries":
            del plain["suites"][1]
        case "records":
            (kept / "records" / "structure[all].parquet").unlink()
    write(path, plain)
    again = bias(*words).done(0)
    assert "Loading demo-neutral" in again.out
    assert len(list(tmp_path.glob("bias-report/*"))) == (2 if change == "settings" else 1)
    assert (read(path) == plain) == (change == "settings")


def write(path: Path, plain: dict[str, Any]) -> None:
    from pytest_bias.records.report import canonical_json, sha256

    covered = {k: v for k, v in plain.items() if k not in ("digest", "run")}
    digest = f"sha256:{sha256(canonical_json(covered))}"
    path.write_text(json.dumps(plain | {"digest": digest}), encoding="utf-8")


def test_what_stands_in_the_folder_of_the_baseline(kept: Path, bias: Command) -> None:
    (kept / "report.json").write_text("{")
    ran = bias(*AGAIN).refused(3, "not a report", f"Remove bias-report/{kept.name}")
    assert "Loading" not in ran.out
    (kept / "report.json").unlink()
    ran = bias(*AGAIN).refused(2, "the baseline demo-neutral", "that is not of a run", "Remove")
    assert "Loading" not in ran.out
    shutil.rmtree(kept)
    kept.write_text("")
    bias(*AGAIN).refused(2, "the baseline demo-neutral", "cannot be written")


@pytest.mark.nightly
def test_a_model_is_its_own_baseline(bias: Command) -> None:
    ran = bias("run", "demo", *SUITE, "--baseline", "demo").done(0)
    assert len(ran.reports) == 1
    assert "no item changed" in ran.said


@pytest.mark.nightly
def test_only_one_model_is_in_memory(bias: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    real, alive = pytest_bias.engine.session.load, []
    gc.collect()
    others = networks()

    def load(*words: Any, **more: Any) -> Any:
        alive.append(networks() - others)
        return real(*words, **more)

    monkeypatch.setattr("pytest_bias.engine.session.load", load)
    bias("run", "demo", *SUITE, "--baseline", "demo-neutral").done(0)
    assert alive == [set(), set()]


def networks() -> set[int]:
    """Return the networks with numbers that are in memory."""
    return {
        id(found)
        for found in gc.get_objects()
        # By its type: some objects of torch warn when they are asked for their class.
        if issubclass(type(found), PreTrainedModel)
        and next(found.parameters()).device != torch.device("meta")
    }


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_holds_one_model_at_a_time(
    bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("large", "other"):
        shutil.copytree(DEMO, tmp_path / name)
        config = AutoConfig.from_pretrained(DEMO, hidden_size=1024, num_hidden_layers=12)
        AutoModelForMaskedLM.from_config(config).save_pretrained(tmp_path / name)
    real, held = pytest_bias.engine.session.load, []

    def load(*words: Any, **more: Any) -> Any:
        held.append(torch.cuda.memory_allocated())
        return real(*words, **more)

    monkeypatch.setattr("pytest_bias.engine.session.load", load)
    bias("run", "large", *SUITE, "--baseline", "other", "--device", "cuda").done(0)
    size = (tmp_path / "other" / "model.safetensors").stat().st_size
    # Libraries keep a little for themselves.
    assert held[1] - held[0] < size / 4


def test_an_interrupted_baseline_ends_the_run(
    bias: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pytest_bias.engine.session.Session.measure

    def measure(self: Any, planned: Any, part: Any = None) -> Any:
        if planned.entry.suite.name == "template_association":
            raise KeyboardInterrupt
        return real(self, planned, part)

    words = ("run", "demo", *SUITE, "--baseline", "demo-neutral")
    with monkeypatch.context() as patched:
        patched.setattr("pytest_bias.engine.session.Session.measure", measure)
        ran = bias(*words)
    assert ran.code == 130
    assert ran.reports == []
    assert "Loading demo (" not in ran.out


def digest(folder: Path) -> str:
    return read(folder / "report.json")["digest"]


@pytest.mark.slow
def test_on_two_devices(bias: Command, once: Path) -> None:
    words = ("run", "demo", *SUITE, "--baseline", "demo-neutral")
    two = bias(*words, "--devices", "cpu,cpu").done(0)
    assert "cpu (2/2) · template_association[en]: 415 items" in two.out
    folder = baseline_of(two)
    assert [d["device"] for d in read(folder / "report.json")["run"]["cost"]["devices"]] == [
        "cpu (1/2)",
        "cpu (2/2)",
    ]
    # The same thing as in one process.
    (once,) = once.glob("bias-report/*")
    assert (folder.name, digest(folder)) == (once.name, digest(once))


@pytest.mark.slow
def test_withheld_scores_are_those_of_the_model_under_test(
    kept: Path, bias: Command, tmp_path: Path
) -> None:
    settings(tmp_path, REGRESSION)
    before = digest(kept)
    ran = bias(*AGAIN, "--withhold-scores").done(1)
    assert "is reused" in ran.out
    assert digest(kept) == before
    (outcome,) = read(tmp_path / "out" / "decision.json")["outcomes"]
    assert outcome["verdict"] == "exceeded"
    shutil.rmtree(kept)
    bias(*AGAIN, "--withhold-scores").done(1)
    assert digest(kept) == before
    words = ("run", "demo", *SUITE, "--out", "other", "--baseline", "out")
    bias(*words).refused(3, "the scores of the baseline out are withheld")


# What is refused


def test_what_cannot_be_a_baseline(
    bias: Command, tuned: Path, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    run = ("run", "tuned", *SUITE, "--baseline")
    bias(*run, tiny("gpt2")).refused(2, "gpt2 (causal) and tuned (masked)", "different kinds")
    bias(*run, "no/such").refused(3, "--baseline no/such: ", "not in the cache")
    bias(*run, "publishd").refused(3, "--baseline publishd", "Did you mean 'published'?")
    bias(*run, "published").refused(3, "tuned has no published report", "--first-run")
    bias(*run, "base", "--budget", "10m").refused(
        2, "--budget with --baseline base", "--profile quick"
    )
    bias(*run, "base", "--shard", "1/2").refused(2, "--baseline with --shard")
    (tuned / "README.md").write_text("---\nbase_model: [demo, demo-neutral]\n---\n")
    bias(*run, "base").refused(2, "2 base models: demo, demo-neutral", "--baseline demo")
    (tuned / "README.md").write_text("---\nbase_model: no/such\n---\n")
    ran = bias(*run, "base").refused(3, "--baseline base: no/such is not in the cache")
    assert "Loading" not in ran.out
    assert not (tmp_path / "bias-report").exists()


def test_a_report_of_another_kind_is_refused_suite_by_suite(
    bias: Command, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    bias("run", tiny("gpt2"), "--suite", "seat[en]", "--out", "old").done(0)
    settings(tmp_path, "limits:\n  seat.mean_absolute_effect: {max_regression: {points: 1}}\n")
    words = ("run", tiny("bert"), "--suite", "seat[en]", "--out", "new", "--baseline")
    ran = bias(*words, "old").done(3)
    assert "another kind of model (causal, now masked)" in ran.said
    (outcome,) = read(tmp_path / "new" / "decision.json")["outcomes"]
    assert outcome["verdict"] == "not_measured"
    shutil.rmtree(tmp_path / "old" / "records")
    bias(*words, "old", "--fresh").refused(3, "the baseline old has no records")


@pytest.mark.slow
def test_merge_compares_with_reports_only(bias: Command, tmp_path: Path) -> None:
    for number in (1, 2):
        bias("run", "demo", *SUITE, "--shard", f"{number}/2", "--out", f"s{number}").done(0)
    bias("run", "demo-neutral", *SUITE, "--out", "old").done(0)
    words = ("merge", "s1", "s2", "--out", "whole", "--baseline")
    bias(*words, "demo-neutral").refused(2, "there is no report", "report.json")
    assert "since demo-neutral" in bias(*words, "old").done(0).said


# Pairs of versions


@pytest.mark.slow
def test_half_precision_stays_within_two_points(
    bias: Command, bert_tiny: Path, data_dir: Path, tmp_path: Path
) -> None:
    settings(
        tmp_path, "limits:\n  crows_pairs.stereotype_preference: {max_regression: {points: 2}}\n"
    )
    words = ("run", bert_tiny, "--suite", "crows_pairs[en]", "--data-dir", data_dir)
    bias(*words, "--dtype", "float32", "--out", "before", "--first-run").done(0)
    ran = bias(*words, "--dtype", "bfloat16", "--out", "now", "--baseline", "before").done(0)
    decision = read(tmp_path / "now" / "decision.json")
    (outcome,) = decision["outcomes"]
    assert (decision["status"], outcome["verdict"]) == ("held", "held")
    assert -2 < outcome["interval"][0] < outcome["interval"][1] < 2
    assert "float32 before, bfloat16 now" in ran.said


# Published on the Hub


@pytest.fixture
def published(bias: Command, tmp_path: Path) -> Path:
    """Return the folder of a report that was published."""
    bias("run", "demo-neutral", *SUITE, "--out", "first").done(0)
    return tmp_path / "first"


@contextmanager
def models(published: Path) -> Iterator[Hub]:
    """Serve models: with a report at the head, without one, and with one without records."""
    files = {p.name: p.read_bytes() for p in DEMO.iterdir() if p.is_file()}
    written = [p for p in published.rglob("*") if p.is_file()]
    whole = read(published / "report.json")["digest"]
    evidence = f"bias/{digest12(whole)}"
    report = {f"{evidence}/{p.relative_to(published).as_posix()}": p.read_bytes() for p in written}
    report["README.md"] = b"# A model"
    unnamed = dict(report)
    report[CURRENT] = json.dumps({"schema": CURRENT_SCHEMA, "report": whole}).encode()
    bare = {name: content for name, content in report.items() if "records" not in name}
    absent = {CURRENT: report[CURRENT]}
    named = {"main": SHA, "before": "2" * 40}
    repositories = {
        "org/model": Repository({SHA: files | report, "2" * 40: files}, named),
        "org/new": Repository({SHA: files}, named),
        "org/bare": Repository({SHA: files | bare}, named),
        "org/unnamed": Repository({SHA: files | unnamed}, named),
        "org/absent": Repository({SHA: files | absent}, named),
    }
    with serving(Hub(repositories)) as hub:
        yield hub


@pytest.mark.slow
def test_published_on_the_hub(published: Path, tmp_path: Path) -> None:
    def run(name: str, *words: str) -> Ran:
        (tmp_path / name).mkdir()
        words = ("run", "org/model@before", *SUITE, "--baseline", "published", *words)
        return finish(start(*words, folder=tmp_path / name, env=env), tmp_path / name).done(0)

    with models(published) as hub:
        env = {**hub.env, "HF_HOME": str(tmp_path / "home")}
        assert "Since demo-neutral" in run("online").said
        head = hub.repositories["org/model"].commits[SHA]
        wanted = {name for name in head if name.startswith("bias/")}
        assert {"[en].parquet" in name for name in wanted} == {True, False}
        asked = [unquote(a) for a in hub.asked if a.startswith("GET /org/model/") and "/bias/" in a]
        # Once each: what is published is no part of the model under test.
        assert sorted(a.partition(f"{SHA}/")[2].split()[0] for a in asked) == sorted(wanted)
        hub.asked.clear()
        assert "Since demo-neutral" in run("offline", "--offline").said
        assert hub.asked == []


LOOK = """
import json, sys
from pytest_bias.errors import BiasError
from pytest_bias.models.reference import ModelRef
from pytest_bias.reports.publication_pointer import published

if sys.argv[1] == "first":
    from huggingface_hub import snapshot_download
    snapshot_download("org/new", allow_patterns=["config.json"])
found = {}
for text in sys.argv[2:]:
    try:
        there = published(ModelRef.parse(text), offline=sys.argv[1] == "offline")
        if there:
            files = sorted(p.relative_to(there.root).as_posix() for p in there.root.rglob("*.*"))
            report = there.read()
            assert there.digest == report.digest and there.folder.parent == there.root / "bias"
            found[text] = [files, there.revision, there.notice]
        else:
            found[text] = there
    except BiasError as error:
        found[text] = str(error)
assert "torch" not in sys.modules
print(json.dumps(found))
"""


@pytest.mark.nightly
@pytest.mark.cold
def test_whether_something_is_published(published: Path, tmp_path: Path) -> None:
    def look(how: str, *names: str, **env: str) -> dict[str, Any]:
        ran = subprocess.run(
            [sys.executable, "-c", LOOK, how, *names],
            env=environment({**hub.env, "HF_HOME": str(tmp_path / "home"), **env}),
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(ran.stdout)

    names = ("org/model", "org/new", "org/bare", "org/gone", "org/unnamed", "org/absent")
    with models(published) as hub:
        found = look("first", *names)
        at_head = hub.repositories["org/model"].commits[SHA]
        files = sorted(n for n in at_head if n.startswith("bias/") or n == "README.md")
        assert found["org/model"] == [files, SHA, None]
        assert found["org/new"] is None
        assert found["org/bare"] == [[n for n in files if "/records/" not in n], SHA, None]
        assert "there is no model 'org/gone'" in found["org/gone"]
        assert "1 published report (bias/" in found["org/unnamed"]
        assert "no bias/current.json" in found["org/unnamed"]
        assert "and there is no bias/" in found["org/absent"]
        hub.asked.clear()
        offline = look("offline", *names)
        assert hub.asked == []
        assert offline["org/model"] == found["org/model"]
        # That nothing is published cannot be known: no reason to compare with nothing.
        for name, what in {
            "org/new": "the published report of org/new",
            "org/gone": "org/gone",
        }.items():
            assert f"{what} is not in the cache, and this run is offline" in offline[name]
            assert f"hf download {name}" in offline[name]
        lost = look("online", "org/model", "org/new", HF_ENDPOINT="http://127.0.0.1:9")
        assert lost["org/model"][0] == files
        assert "The Hub could not be asked about org/model" in lost["org/model"][2]
        assert "not in the cache" in lost["org/new"]
