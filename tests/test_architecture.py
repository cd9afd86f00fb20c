"""Which way imports run, what an import costs, and what is not in the repository."""

import ast
import csv
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import pytest_bias
import warm

ROOT = Path(__file__).parent.parent
SOURCES = {"pytest_bias": "plugin", "bias_suites": "bias_tests", "bias_templates": "templates"}

# fmt: off
ROOMS = (
    "http", "records", "models", "data", "scoring", "suites", "settings", "engine", "reports",
    "emit", "runs", "training", "evidence", "hub", "fleet", "ci", "cli", "pytest_plugin",
)
# fmt: on
"""Folders of `pytest_bias`, in the order of the flow: each imports from those before it only."""

GROUND = ("environment", "errors", "exit_codes", "forms", "untrusted")
"""Modules that every room may import, and that import no room."""

DOORS = ("__main__", "action", "hub_event")
"""What ``python -m`` starts; nothing imports them."""

FACES = ("errors", "records", "models", "data", "scoring", "suites")
"""What a suite imports from, by the names that are exported there."""

HEAVY = {
    "torch": {"models", "engine", "fleet", "training"},
    "ray": {"fleet"},
    "fsspec": {"fleet"},
    "datasets": {"data"},
    "transformers": {"models", "training"},
    "huggingface_hub": {"http", "models", "data", "hub"},
    "peft": {"models"},
    "requests": {"http"},
    "urllib3": {"http"},
    "mlflow": {"training"},
    "wandb": {"training"},
    "tensorboard": {"training"},
    "sigstore": {"evidence"},
    "cryptography": {"evidence"},
    "rich": {
        "emit",
        "runs",
        "training",
        "evidence",
        "hub",
        "fleet",
        "ci",
        "cli",
        "pytest_plugin",
        "hub_event",
    },
    "typer": {"settings", "cli"},
    "pytest": {"pytest_plugin"},
}
"""Who may import a library of weight: the engine knows neither pytest nor the terminal."""

MOST_ENTRIES = 28
MOST_LINES = 420


def modules() -> list[tuple[str, Path]]:
    """Return every module with its path."""
    found = []
    for package, source in SOURCES.items():
        for path in sorted((ROOT / source / package).rglob("*.py")):
            parts = path.relative_to(ROOT / source).with_suffix("").parts
            found.append((".".join(p for p in parts if p != "__init__"), path))
    return found


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return everything in the syntax tree of a file."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return every module that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def unit(module: str) -> str:
    """Return the module or package right below `pytest_bias`; ``models`` of ``….models.tokens``."""
    return ([*module.split("."), ""])[1]


def own(path: Path) -> set[str]:
    """Return the units of `pytest_bias` that a file imports."""
    found = {unit(m) for m in imports(path) if m.split(".")[0] == "pytest_bias"}
    return found - {""}


MODULES = modules()
INNER = [(m, p) for m, p in MODULES if m.startswith("pytest_bias.")]


def test_every_module_has_its_room() -> None:
    assert {unit(m) for m, _ in INNER} == {*GROUND, *ROOMS, *DOORS}
    top = [p for p in (ROOT / "plugin" / "pytest_bias").iterdir() if p.name != "__pycache__"]
    assert len(top) <= MOST_ENTRIES


def test_imports_run_one_way() -> None:
    order = [*GROUND, *ROOMS, *DOORS]
    wrong = {}
    for module, path in INNER:
        name = unit(module)
        before = {*GROUND} if name in GROUND else {*order[: order.index(name)]} - {*DOORS}
        if above := own(path) - before - {name}:
            wrong[module] = above
    assert wrong == {}


def test_suites_import_from_faces() -> None:
    for module, path in MODULES:
        if module.startswith("bias_suites") and module != "bias_suites.test_suites":
            from_ours = [m for m in imports(path) if m.startswith("pytest_bias.")]
            for name in from_ours:
                room, _, exported = name.removeprefix("pytest_bias.").partition(".")
                assert room in FACES, (module, name)
                assert exported in import_module(f"pytest_bias.{room}").__dict__, (module, name)
            assert {m.split(".")[0] for m in imports(path)} & {*HEAVY} == set(), module
        if module.startswith("bias_templates"):
            assert own(path) == set(), module


@pytest.mark.parametrize("room", FACES[1:])
def test_what_a_face_exports_is_there_and_sorted(room: str) -> None:
    face = import_module(f"pytest_bias.{room}")
    assert [n for n in face.__all__ if not hasattr(face, n)] == []
    assert len(set(face.__all__)) == len(face.__all__)


def test_no_import_cycle() -> None:
    graph = {m: {n for n in imports(p) if n.split(".")[0] in SOURCES} for m, p in INNER}
    names = set(graph)

    def next_of(module: str) -> set[str]:
        # "from a.b import c" names the module a.b.c or the module a.b.
        found = {n if n in names else n.rpartition(".")[0] for n in graph[module]}
        return {n for n in found if n in names and n != module}

    done: set[str] = set()

    def walk(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for other in sorted(next_of(module)):
                walk(other, (*path, module))
            done.add(module)

    for module in sorted(names - {"pytest_bias.models"}):
        walk(module, ())


def test_libraries_stay_where_they_belong() -> None:
    for module, path in INNER:
        for library in HEAVY.keys() & {m.split(".")[0] for m in imports(path)}:
            assert unit(module) in HEAVY[library], (library, module)


# What an import costs


def imported_by(code: str, *words: str | Path) -> set[str]:
    """Run Python code in a process of its own and return the top-level modules it imported."""
    last = "import atexit, sys; atexit.register(lambda: print('|', *sys.modules, file=sys.stderr))"
    command = [warm.REAL, "-c", f"{last}\n{code}", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {m.split(".")[0] for m in done.stderr.rpartition("|")[2].split()}


def test_import_is_light() -> None:
    found = imported_by(
        "import pytest_bias, pytest_bias.settings.options, pytest_bias.pytest_plugin"
    )
    heavy = {"torch", "transformers", "numpy", "scipy", "pyarrow", "yaml", "rich", "typer"}
    assert found & {*heavy, "huggingface_hub", "requests", "jinja2", "datasets"} == set()


def test_files_are_rendered_without_the_terminal() -> None:
    modules = ("badges", "card.section", "comment", "page", "summary")
    found = imported_by("".join(f"import pytest_bias.emit.{name}\n" for name in modules))
    assert "rich" not in found


def test_importing_the_suites_loads_no_torch() -> None:
    assert imported_by("import bias_suites") & {"torch", "transformers"} == set()


def test_what_an_event_asks_for_is_known_without_torch() -> None:
    found = imported_by("import pytest_bias.hub.job, pytest_bias.hub_event")
    assert found & {"torch", "transformers", "huggingface_hub"} == set()


def test_talking_to_github_loads_no_torch() -> None:
    code = "import pytest_bias.emit.comment, pytest_bias.ci.github.branches as b"
    code += "; import pytest_bias.ci.github.comments"
    assert imported_by(code) & {"torch", "transformers", "requests"} == set()


COMMANDS = """
import sys
from pytest_bias.cli import main

for words in {commands!r}:
    sys.argv = ["pytest-bias", *words.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, words
    heavy = {{"torch", "transformers", "huggingface_hub", "datasets"}} & sys.modules.keys()
    assert not heavy, (words, heavy)
"""


@pytest.mark.all_draws
def test_commands_without_a_model_load_no_torch(tmp_path: Path) -> None:
    report = tmp_path / "report"
    words = ("-m", "pytest_bias", "run", "demo", "--suite", "seat[en]", "--out", report)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    commands = (
        *("suites", "suites seat", f"verify {report}"),
        f"render {report} --to badges --out {tmp_path}",
        f"render {report} --to html --out {tmp_path}",
        *("data check --suite structure", "data fetch --offline --suite structure"),
        *(f"compare {report} {report}", f"compare {report} {report} {report}"),
    )
    imported_by(COMMANDS.format(commands=commands))


# What is exported


def test_exported_names_are_there() -> None:
    for name in pytest_bias.__all__:
        assert getattr(pytest_bias, name) is not None
    homes = pytest_bias._HOMES
    assert sorted([*homes, "__version__"]) == list(pytest_bias.__all__)
    for name, home in homes.items():
        assert getattr(pytest_bias, name) is getattr(import_module(f"pytest_bias.{home}"), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pytest_bias.nothing


def test_type_checkers_see_the_same_names() -> None:
    path = ROOT / "plugin" / "pytest_bias" / "__init__.py"
    seen = {m.rpartition(".")[2] for m in imports(path) if m.startswith("pytest_bias.")}
    assert seen == {*pytest_bias.__all__} - {"__version__"}


# Habits


def test_modules_are_short_and_silent() -> None:
    for module, path in MODULES:
        assert len(path.read_text(encoding="utf-8").splitlines()) < MOST_LINES, module
        calls = (n for n in nodes(path) if isinstance(n, ast.Call))
        printing = (n for n in calls if isinstance(n.func, ast.Name) and n.func.id == "print")
        assert [n.lineno for n in printing] == [], module


def test_no_test_file_imports_another() -> None:
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"(?m)^\s*(?:from|import) (?:\w+\.)*test_\w+", text) == [], path


def test_no_snapshot_outlives_its_test() -> None:
    # Syrupy knows that only where no test of the file is deselected.
    for path in (ROOT / "tests").rglob("*.ambr"):
        tests = path.parent.with_name(f"{path.stem}.py").read_text(encoding="utf-8")
        names = re.findall(r"(?m)^# name: (\w+)", path.read_text(encoding="utf-8"))
        assert [n for n in names if f"def {n}(" not in tests] == [], path


# What is in the repository


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Return the files that are in the repository or about to be."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git repository")
    return [p for name in done.stdout.split("\0") if name and (p := ROOT / name).is_file()]


OURS = {
    "bias_tests/bias_suites/social/bbq_sample.jsonl",
    *(f"tests/data/choices/answers{n}.jsonl" for n in ("", "_2", "_3", "_4", "_5", "_6")),
    *(f"tests/data/answer_logs/eee/from_{n}_samples.jsonl" for n in ("inspect", "lm_eval")),
    *(
        f"tests/data/answer_logs/lm_eval/{n}_2026-12-01T00-00-00.000000.jsonl"
        for n in (
            "gpt2/bbq/samples_bbq",
            "gpt2/bbq_generate/samples_bbq_generate",
            "gpt2/crows_pairs_english/samples_crows_pairs_english",
            "gpt2_begin/crows_pairs_english/samples_crows_pairs_english",
        )
    ),
}
"""Data that may be passed on: a sample under CC-BY-4.0, logs about it, and what we wrote."""


def test_no_large_or_binary_files(files: list[Path]) -> None:
    demo = ROOT / "plugin" / "pytest_bias" / "models" / "demo"
    for path in files:
        assert path.stat().st_size < 1_000_000, path
        if demo not in path.parents:
            wrong = {".safetensors", ".bin", ".pt", ".gguf", ".pkl", ".parquet", ".csv", ".jsonl"}
            assert path.suffix not in wrong or path.relative_to(ROOT).as_posix() in OURS, path


def test_no_sentence_of_the_public_data_is_in_the_repository(
    files: list[Path], data_dir: Path
) -> None:
    path = data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
    with path.open(encoding="utf-8", newline="") as file:
        sentences = [row[c] for row in csv.DictReader(file) for c in ("sent_more", "sent_less")]
    ours = "\n".join(p.read_text(encoding="utf-8", errors="ignore") for p in files)
    # Whether the beginning is there is quicker to find out.
    beginnings = {ours[m.start() : m.start() + 20] for m in re.finditer(r"(?<!\w)\S", ours)}
    assert sum(s[:20] in beginnings and len(s) > 30 and s in ours for s in sentences) == 0


TEXT_FILES = {"open", "fdopen", "read_text", "write_text", "TemporaryFile", "NamedTemporaryFile"}
TEXT_MODES = {"r", "w", "a", "x", "w+", "r+"}


@pytest.mark.parametrize(("name", "path"), modules())
def test_files_of_text_have_a_stated_encoding(name: str, path: Path) -> None:
    without = []
    for node in nodes(path):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = {k.arg: k.value for k in node.keywords}
        values = [*node.args, *(v for k, v in given.items() if k == "mode")]
        modes = {v.value for v in values if isinstance(v, ast.Constant)} & TEXT_MODES
        is_text = called in ("read_text", "write_text") or (called in TEXT_FILES and modes)
        is_process = called in ("run", "Popen", "check_output") and "text" in given
        if (is_text or is_process) and "encoding" not in given:
            without.append(f"line {node.lineno}: {ast.unparse(node)[:80]}")
    assert without == []
