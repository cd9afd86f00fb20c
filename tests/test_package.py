"""The built package: what is in it, and that it works where nothing else of ours is."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ("pytest_bias", "_editable_impl_pytest_bias", "bias_suites", "bias_templates")


def run(*command: str | Path, folder: Path, code: int = 0) -> str:
    """Run a command and return what it printed."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST_"))}
    env |= {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def build(source: Path, out: Path, *words: str) -> None:
    run(
        sys.executable, "-m", "build", "--no-isolation", *words, "--outdir", out, source, folder=out
    )


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an sdist, and with the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out)
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Return the wheel that was built from the sdist."""
    (found,) = built.glob("*.whl")
    return found


def test_wheel_has_all_that_is_needed(wheel: Path) -> None:
    there = names(wheel)
    for source, package in (
        ("plugin", "pytest_bias"),
        ("bias_tests", "bias_suites"),
        ("templates", "bias_templates"),
    ):
        files = {
            p.relative_to(ROOT / source).as_posix()
            for p in (ROOT / source / package).rglob("*")
            if p.is_file() and "__pycache__" not in p.parts
        }
        assert files - there == set()
    for name in (
        "pytest_bias/models/demo/planted/model.safetensors",
        "pytest_bias/models/demo/neutral/model.safetensors",
        "bias_templates/badge.svg",
        "bias_templates/pages/comment.md.j2",
        "bias_templates/pages/summary.md.j2",
        "bias_templates/pages/card.md.j2",
        "bias_templates/pages/report.html.j2",
        "bias_templates/pages/report.css",
        "bias_templates/sentences/en/gendered_pairs.yaml",
        "bias_suites/scope/crows_pairs.yaml",
        *(f"{package}/py.typed" for package in ("pytest_bias", "bias_suites", "bias_templates")),
    ):
        assert name in there
    tops = {n.split("/")[0] for n in there}
    assert {t for t in tops if not t.endswith(".dist-info")} == {
        "pytest_bias",
        "bias_suites",
        "bias_templates",
    }


def test_wheel_has_its_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        about = {n.rpartition("/")[2]: n for n in archive.namelist() if ".dist-info/" in n}
        points = archive.read(about["entry_points.txt"]).decode()
        metadata = archive.read(about["METADATA"]).decode()
    assert "LICENSE" in about
    for line in (
        "bias = pytest_bias.pytest_plugin",
        "bias_suites = bias_suites:SUITES",
        "pytest-bias = pytest_bias.cli:main",
    ):
        assert line in points
    assert "Name: pytest-bias" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert "Classifier: Framework :: Pytest" in metadata


def test_wheel_of_the_tree_is_that_of_the_sdist(wheel: Path, tmp_path: Path) -> None:
    build(ROOT, tmp_path, "--wheel")
    (other,) = tmp_path.glob("*.whl")
    assert names(other) == names(wheel)


def test_sdist_has_the_tests_and_no_data(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        there = {n.partition("/")[2] for n in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/conftest.py"} <= there
    weights = {n for n in there if n.endswith((".safetensors", ".gguf"))}
    assert {n.rpartition("/")[0] for n in weights} == {
        "plugin/pytest_bias/models/demo/neutral",
        "plugin/pytest_bias/models/demo/planted",
    }
    assert {n for n in there if n.startswith(("models/", "shared/", ".git/"))} == set()
    assert sdist.stat().st_size < 5_000_000


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the wheel, and its dependencies lent from here."""
    folder = tmp_path_factory.mktemp("fresh")
    lent = folder / "lent"
    lent.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(OURS) and entry.suffix != ".pth":
            (lent / entry.name).symlink_to(entry)
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(run(python, "-c", code, folder=folder).strip())
    (own / "lent.pth").write_text(f"{lent}\n", encoding="utf-8")
    install = ("install", "--no-deps", "--no-index", "--quiet", wheel)
    run(sys.executable, "-m", "pip", "--python", python, *install, folder=folder)
    return python


@pytest.mark.door
def test_installed_wheel_works(fresh: Path, tmp_path: Path) -> None:
    code = "import pytest_bias, bias_suites, bias_templates as t; print(pytest_bias.__file__)\n"
    code += "print(bias_suites.__file__); print(t.__file__)"
    places = run(fresh, "-c", code, folder=tmp_path).split()
    assert len(places) == 3
    for place in places:
        assert Path(place).is_relative_to(fresh.parent.parent)

    words = ("--bias-model", "demo", "-p", "no:cacheprovider", "-rs")
    said = run(fresh, "-m", "pytest", "--pyargs", "bias_suites", *words, folder=tmp_path)
    assert re.search(r" 4 passed, \d+ skipped", said)
    command = fresh.with_name("pytest-bias")
    said = run(command, "run", "demo", "--out", "out", folder=tmp_path)
    assert "Structure: 6 of 6 checks passed" in said
    assert "pytest-bias 0." in run(command, "--version", folder=tmp_path)
    (session,) = tmp_path.glob("bias-report/*/badges")
    assert {p.name for p in session.iterdir()} == {
        p.name for p in (tmp_path / "out/badges").iterdir()
    }
    run(command, "verify", "out", folder=tmp_path)
    run(command, "suites", "crows_pairs", folder=tmp_path)
