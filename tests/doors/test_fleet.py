"""Many models by one command, one after the other on this machine."""

import csv
import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

import forward_counter
from commands import Command, finish, read, start
from tiny_architectures import build

SUITES = ("--suite", "seat[en]", "--suite", "general_quality")


def listed(folder: Path, *models: object) -> Path:
    path = folder / "models.txt"
    path.write_text("".join(f"{model}\n" for model in models), encoding="utf-8")
    return path


def reports(out: Path) -> dict[str, dict]:
    """Return the reports below a fleet's folder by the model's reference."""
    found = [read(path) for path in out.glob("*/report.json")]
    return {report["model"]["reference"]: report for report in found}


def table(out: Path) -> list[dict[str, str]]:
    with (out / "table.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_report_is_that_of_a_run(bias: Command, tiny: Callable, tmp_path: Path) -> None:
    models = ("demo", tiny("gpt2"))
    ran = bias("run", "--models", listed(tmp_path, *models), *SUITES, "--out", "all").done()
    assert "2 of 2 models measured" in ran.out
    together = reports(tmp_path / "all")
    for model in models:
        bias("run", model, *SUITES, "--out", f"own-{Path(model).name}").done()
        own = tmp_path / f"own-{Path(model).name}"
        alone = read(own / "report.json")
        same = together[alone["model"]["reference"]]
        assert {k: v for k, v in same.items() if k != "run"} == {
            k: v for k, v in alone.items() if k != "run"
        }
        spent = [r["run"]["cost"]["suites"] for r in (same, alone)]
        assert {n: c["forwards"] for n, c in spent[0].items()} == {
            n: c["forwards"] for n, c in spent[1].items()
        }
        (folder,) = [
            p.parent
            for p in (tmp_path / "all").glob("*/report.json")
            if read(p)["digest"] == alone["digest"]
        ]
        # Pages and cards have dates and costs; what is about scores is the same.
        for path in own.rglob("badges/*"):
            assert (folder / path.relative_to(own)).read_bytes() == path.read_bytes()
        names = {p.relative_to(own) for p in own.rglob("*") if p.is_file()}
        assert {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()} == names
    assert not (tmp_path / "all" / "unfinished").exists()
    rows = table(tmp_path / "all")
    assert {row["suite"] for row in rows} == {
        *("structure", "seat", "general_quality"),
    }
    assert "<table" in (tmp_path / "all" / "index.html").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_a_second_run_measures_nothing(bias: Command, tmp_path: Path) -> None:
    words = (
        "run",
        "--models",
        listed(tmp_path, "demo", "demo-neutral"),
        *SUITES[:2],
        "--out",
        "all",
    )
    bias(*words).done()
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "all").glob("*/report.json")}
    again = bias(*words).done()
    assert again.out.count("its report was there") == 2
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "all").glob("*/report.json")} == before
    # Another seed is another measurement, beside the first.
    listed(tmp_path, "demo")
    bias(*words, "--seed", "1").done()
    assert len(list((tmp_path / "all").glob("*/report.json"))) == 3
    fresh = bias(*words, "--fresh").done()
    assert "was there" not in fresh.out


@pytest.mark.nightly
def test_limits_are_held_against_scores_that_are_there(bias: Command, tmp_path: Path) -> None:
    models, suites = listed(tmp_path, "demo", "demo-neutral"), ("--suite", "template_association")
    words = ("run", "--models", models, *suites, "--out", "all")
    bias(*words).done()
    (tmp_path / "pytest-bias.yaml").write_text(
        "limits: {template_association.association: {max_distance: 0.1}}\n"
    )
    ran = bias(*words).done(1)
    assert ran.out.count("its report was there") == 2
    found = {
        read(p.parent / "report.json")["model"]["reference"]: read(p)["status"]
        for p in (tmp_path / "all").glob("*/decision.json")
    }
    assert found == {"demo": "exceeded", "demo-neutral": "held"}


def test_one_that_cannot_be_measured_is_a_row(
    bias: Command, bad: Path, tiny: Callable, tmp_path: Path
) -> None:
    models = listed(tmp_path, "org/gone", tmp_path / "nothing", tiny("encoder"), "demo")
    ran = bias("run", "--models", models, *SUITES, "--out", "all").done(3)
    assert "2 of 4 models measured" in ran.out
    assert "org/gone is not in the cache" in ran.said
    assert set(reports(tmp_path / "all")) == {"demo", tiny("encoder").name}
    rows = table(tmp_path / "all")
    lost = {row["asked"] for row in rows if row["model_status"] == "failed"}
    assert len(lost) == 2
    page = (tmp_path / "all" / "index.html").read_text(encoding="utf-8")
    assert "org/gone is not in the cache" in page


@pytest.mark.nightly
def test_a_model_that_gives_no_numbers_is_a_row(
    bias: Command, tiny: Callable, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    broken.mkdir()
    for path in tiny("bert").iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    weights = load_file(broken / "model.safetensors")
    name = next(n for n in weights if n.endswith("layer.0.output.dense.weight"))
    weights[name][:] = float("nan")
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    models = listed(tmp_path, broken, "demo")
    ran = bias("run", "--models", models, *SUITES, "--out", "all").done(3)
    assert "2 of 2 models measured" in ran.out
    found = reports(tmp_path / "all")
    assert {s["status"] for s in found["broken"]["suites"]} == {"inconclusive"}
    assert {s["status"] for s in found["demo"]["suites"]} == {"scored", "not_applicable"}
    # What could not be measured is tried again; what could is not.
    again = bias("run", "--models", models, *SUITES, "--out", "all").done(3)
    assert again.out.count("its report was there") == 1


@pytest.mark.nightly
def test_change_against_the_base_model(bias: Command, tmp_path: Path) -> None:
    base = build("bert", tmp_path / "base", seed=1)
    tuned = build("bert", tmp_path / "tuned", seed=2)
    (tuned / "README.md").write_text(f"---\nbase_model: {base}\n---\n", encoding="utf-8")
    words = ("run", "--models", listed(tmp_path, tuned), *SUITES, "--out", "all")
    bias(*words).done()
    assert set(reports(tmp_path / "all")) == {"tuned"}
    ran = bias(*words, "--baseline", "base").done()
    assert "2 of 2 models measured" in ran.out
    assert set(reports(tmp_path / "all")) == {"tuned", "base"}
    changed = {
        row["suite"]: row
        for row in table(tmp_path / "all")
        if row["reference"] == "tuned" and row["change"]
    }
    scores = {
        name: {
            s["name"]: next((x["value"] for x in s["scores"] if x["headline"]), None)
            for s in report["suites"]
        }
        for name, report in reports(tmp_path / "all").items()
    }
    row = changed["general_quality"]
    difference = scores["tuned"]["general_quality"] - scores["base"]["general_quality"]
    assert float(row["change"]) == pytest.approx(difference, abs=1e-9)
    assert float(row["change_low"]) <= float(row["change"]) <= float(row["change_high"])


@pytest.mark.nightly
def test_a_base_model_that_is_gone_is_a_row(bias: Command, tmp_path: Path) -> None:
    tuned = build("gpt2", tmp_path / "tuned")
    (tuned / "README.md").write_text("---\nbase_model: org/gone\n---\n", encoding="utf-8")
    words = ("--models", listed(tmp_path, tuned), "--suite", "seat[en]", "--baseline", "base")
    ran = bias("run", *words, "--out", "all").done(3)
    assert "1 of 2 models measured" in ran.out
    rows = {row["asked"]: row for row in table(tmp_path / "all")}
    assert rows["org/gone"]["model_status"] == "failed"
    assert "org/gone is not in the cache" in rows["org/gone"]["model_reason"]
    assert rows["…/tuned"]["model_status"] == "measured"


@pytest.mark.nightly
def test_a_folder_with_the_name_of_a_suite(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "seat").mkdir()
    words = ("--models", listed(tmp_path, "demo"), "--suite", "seat[en]", "--suite", "seat")
    bias("run", *words, "--out", "all").done()


@pytest.fixture
def address() -> Iterator[str]:
    """Return an address that is no folder."""
    files = fsspec.filesystem("memory")
    files.pipe_file("/fleet/other", b"")
    yield "memory://fleet/out"
    files.rm("/fleet", recursive=True)


@pytest.mark.nightly
def test_an_address_in_place_of_a_folder(bias: Command, address: str, tmp_path: Path) -> None:
    words = ("run", "--models", listed(tmp_path, "demo"), *SUITES)
    bias(*words, "--out", "folder").done()
    ran = bias(*words, "--out", address).done()
    assert f"{address}/index.html" in ran.out
    files = fsspec.filesystem("memory")
    there = {p.removeprefix("/fleet/out/") for p in files.find("/fleet/out")}
    folder = tmp_path / "folder"
    assert there == {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    (name,) = [p for p in there if p.endswith("report.json")]
    same = json.loads(files.cat_file(f"/fleet/out/{name}"))
    assert same["digest"] == read(folder / name)["digest"]
    assert "its report was there" in bias(*words, "--out", address).done().out


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_stopped_at_some_moment(by: signal.Signals, tiny: Callable, tmp_path: Path) -> None:
    words = ("run", "--models", listed(tmp_path, "demo", tiny("gpt2")), *SUITES, "--out")
    env = forward_counter.environment(tmp_path / "whole-count")
    finish(start(*words, "whole", folder=tmp_path, env=env), tmp_path).done()
    whole = forward_counter.forwards(env)
    env = forward_counter.environment(tmp_path / "killed-count")
    process = start(*words, "killed", folder=tmp_path, env=env)
    until = time.monotonic() + 120

    def is_due() -> bool:
        # Answers are kept every two seconds: before that there is nothing to go on with.
        kept = (p for p in (tmp_path / "killed").rglob("*") if "unfinished" in p.parts)
        return forward_counter.forwards(env) >= whole // 2 and any(p.is_file() for p in kept)

    while not is_due() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(by)
    with process:
        said, _ = process.communicate(timeout=20)
    if by is signal.SIGINT:
        assert process.returncode == 130
        assert "The same command goes on where it was" in said
    done = forward_counter.forwards(env)
    assert 0 < done < whole
    ran = finish(start(*words, "killed", folder=tmp_path, env=env), tmp_path).done()
    assert "2 of 2 models measured" in ran.out
    expected = {n: r["digest"] for n, r in reports(tmp_path / "whole").items()}
    assert {n: r["digest"] for n, r in reports(tmp_path / "killed").items()} == expected
    # The structure is checked after every load; the last two seconds may be lost.
    assert forward_counter.forwards(env) < whole + done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "--models", "m.txt"), ["demo", "--models", "cannot be given together"]),
        (("--models", "m.txt", "--budget", "10m"), ["--budget", "--profile quick"]),
        (("--models", "m.txt", "--shard", "1/2"), ["--shard", "--engine ray"]),
        (("--models", "m.txt", "--withhold-scores"), ["--withhold-scores"]),
        (("--models", "m.txt", "--baseline", "org/x"), ["--baseline org/x", "--baseline base"]),
        (("--models", "gone.txt"), ["gone.txt", "one model a line"]),
        (("demo", "--engine", "ray"), ["--engine ray requires --models"]),
        (("demo", "--out", "s3://bucket/x"), ["s3://bucket/x requires --models", "folder"]),
        (("--models", "m.txt", "--ray-address", "auto"), ["requires --engine ray"]),
        (("--models", "m.txt", "--engine", "rey"), ["rey", "Did you mean 'ray'"]),
        (("--models", "m.txt", "--suite", "crow_pairs"), ["Did you mean 'crows_pairs'"]),
        (
            ("--models", "m.txt", "--engine", "ray", "--device", "cuda:1"),
            ["--device cuda:1", "the cluster chooses"],
        ),
    ],
)
def test_what_is_wrong_is_said_first(
    words: tuple[str, ...], said: list[str], bias: Command, tmp_path: Path
) -> None:
    (tmp_path / "m.txt").write_text("demo\n")
    bias("run", *words).refused(2, *said)
    assert not (tmp_path / "bias-report").exists()


def test_a_cluster_that_is_not_there(bias: Command, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    words = ("--models", listed(tmp_path, "demo"), "--engine", "ray", "--ray-address", address)
    # Ray itself tries for minutes.
    begun = time.monotonic()
    bias("run", *words).refused(2, f"--ray-address {address}", "refused", "ray start --head")
    assert time.monotonic() - begun < 60
    assert not (tmp_path / "bias-report").exists()


def test_a_page_of_something_else_is_not_replaced(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine")
    words = ("run", "--models", listed(tmp_path, "demo"), *SUITES, "--out", "site")
    bias(*words).refused(2, "index.html", "--out")
    assert (tmp_path / "site" / "index.html").read_text() == "mine"


@pytest.mark.nightly
def test_a_list_of_the_settings_file(bias: Command, tmp_path: Path) -> None:
    listed(tmp_path, "demo")
    (tmp_path / "pytest-bias.yaml").write_text(
        "models: models.txt\nsuites: [gendered_pair_entropy]\nout: there\n"
        "fleet: {part: 5m, cpus: 1}\n"
    )
    assert "1 of 1 models measured" in bias("run").done().out
    assert (tmp_path / "there" / "index.html").is_file()
    # One model that is typed is meant.
    assert "models measured" not in bias("run", "demo", "--out", "one").done().out
    (tmp_path / "pytest-bias.yaml").write_text("models: models.txt\nfleet: {parts: 5m}\n")
    bias("run").refused(2, "fleet.parts: key 'parts' is not known", "Did you mean 'part'")
