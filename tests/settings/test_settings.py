"""Settings: option over environment over file over default, and what a wrong file is answered."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import Settings, languages_of, read_settings, require_model

YAML = """\
model: org/from-file
seed: 5
profile: quick
suites: [seat, crows_pairs]
offline: true
"""


def settings(folder: Path, environment: dict[str, str] | None = None, **given: Any) -> Settings:
    return read_settings(given, environment=environment or {}, folder=folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a settings file."""
    (tmp_path / FILE_NAME).write_text(YAML, encoding="utf-8")
    return tmp_path


def test_defaults_are_those_of_the_command(tmp_path):
    found = settings(tmp_path)
    assert found == Settings()
    assert (found.profile, found.seed, found.device, found.dtype) == ("standard", 0, "auto", "auto")
    assert found.limits == found.accept_licences == {}
    careful = ("offline", "trust_remote_code", "allow_pickle", "with_texts", "show_items")
    assert not any(getattr(found, name) for name in careful)


def test_every_option_has_a_setting():
    assert {o.name for o in OPTIONS} < {f.name for f in fields(Settings)}
    assert len({o.flag for o in OPTIONS}) == len(OPTIONS)


def test_option_over_environment_over_file_over_default(project):
    environment = {
        "PYTEST_BIAS_MODEL": "org/from-environment",
        "PYTEST_BIAS_SEED": "6",
        "PYTEST_BIAS_PROFILE": "full",
    }
    assert settings(project).model == "org/from-file"
    assert settings(project, environment).model == "org/from-environment"
    assert settings(project, environment, model="typed").model == "typed"
    found = settings(project, environment, seed=7)
    assert (found.seed, found.profile, found.suites) == (7, "full", ("seat", "crows_pairs"))
    assert found.dtype == "auto"
    assert found.config == project / FILE_NAME


def test_zero_is_a_seed_like_any_other(project):
    assert settings(project).seed == 5
    assert settings(project, seed=0).seed == 0
    assert settings(project, {"PYTEST_BIAS_SEED": "0"}).seed == 0


@pytest.mark.parametrize("given", [None, (), []], ids=str)
def test_an_option_that_was_not_given_leaves_the_file_alone(project, given):
    found = settings(project, suites=given, seed=None, offline=False)
    assert (found.suites, found.seed, found.offline) == (("seat", "crows_pairs"), 5, True)


def test_an_empty_variable_is_not_set(project):
    assert settings(project, {"PYTEST_BIAS_SEED": "", "PYTEST_BIAS_MODEL": ""}).seed == 5


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("SUITES", "seat, crows_pairs[en] @templates", ("seat", "crows_pairs[en]", "@templates")),
        ("LANGUAGES", "en,fr", ("en", "fr")),
        ("OFFLINE", "1", True),
        ("OFFLINE", "YES", True),
        ("OFFLINE", "false", False),
        ("OUT", "some/where", Path("some/where")),
        ("DATA_DIR", "/data", Path("/data")),
        ("DEVICE", "cuda:0", "cuda:0"),
        ("BUDGET", "90s", 90),
    ],
)
def test_the_environment_holds_texts_of_every_type(project, name, text, value):
    found = settings(project, {f"PYTEST_BIAS_{name}": text})
    assert getattr(found, name.lower()) == value


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ({"PYTEST_BIAS_SEED": "ten"}, "PYTEST_BIAS_SEED=ten: must be a whole number"),
        ({"PYTEST_BIAS_OFFLINE": "maybe"}, "PYTEST_BIAS_OFFLINE=maybe: must be one of 1, true"),
        (
            {"PYTEST_BIAS_PROFILE": "ful"},
            "PYTEST_BIAS_PROFILE 'ful' is not known. Did you mean 'full'?",
        ),
        ({"PYTEST_BIAS_CONFIG": "/no/file"}, "--config /no/file: there is no such file"),
    ],
    ids=str,
)
def test_a_wrong_variable_is_named(tmp_path, variable, message):
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, variable)
    assert message in caught.value.message


def test_paths_in_a_file_are_relative_to_the_file(tmp_path, monkeypatch):
    path = tmp_path / "sub" / "my.yaml"
    path.parent.mkdir()
    path.write_text("data_dir: ../data\nout: out\n", encoding="utf-8")
    found = settings(tmp_path, config=path)
    assert found.data_dir.resolve() == (tmp_path / "data").resolve()
    assert found.out == tmp_path / "sub" / "out"
    # What is typed is relative to where it is typed.
    assert settings(tmp_path, config=path, out=Path("typed")).out == Path("typed")
    path.write_text("data_dir: /absolute\nout: ~/below\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = settings(tmp_path, config=path)
    assert (found.data_dir, found.out) == (Path("/absolute"), tmp_path / "below")


def test_pyproject_serves_as_well_but_comes_second(tmp_path):
    toml = '[tool.pytest-bias]\nmodel = "org/toml"\nsuites = ["seat"]\nseed = 3\n'
    toml += '[tool.pytest-bias.limits."seat.mean_absolute_effect"]\nmax_distance = 0.5\n'
    (tmp_path / "pyproject.toml").write_text(toml, encoding="utf-8")
    found = settings(tmp_path)
    assert (found.model, found.suites, found.seed) == ("org/toml", ("seat",), 3)
    assert found.limits == {"seat.mean_absolute_effect": {"max_distance": 0.5}}
    (tmp_path / FILE_NAME).write_text("seed: 4\n", encoding="utf-8")
    assert (settings(tmp_path).model, settings(tmp_path).seed) == (None, 4)


def test_a_pyproject_of_another_tool_is_passed_over(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n", encoding="utf-8")
    assert settings(tmp_path).config is None


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "bom"])
def test_a_file_from_windows_is_read(tmp_path, end, mark):
    text = mark + YAML.replace("\n", end)
    (tmp_path / FILE_NAME).write_bytes(text.encode())
    assert settings(tmp_path).model == "org/from-file"
    toml = tmp_path / "my.toml"
    toml.write_bytes(f"{mark}[tool.pytest-bias]{end}seed = 8{end}".encode())
    assert settings(tmp_path, config=toml).seed == 8


def test_languages_come_from_the_context_unless_they_are_set(tmp_path):
    path = tmp_path / FILE_NAME
    path.write_text("context: {languages: [nl, fr], region: EU}\n", encoding="utf-8")
    found = settings(tmp_path)
    assert found.languages == ("nl", "fr")
    assert found.context == {"languages": ["nl", "fr"], "region": "EU"}
    assert settings(tmp_path, languages=["en"]).languages == ("en",)
    path.write_text("context: {languages: [nl]}\nlanguages: de\n", encoding="utf-8")
    assert settings(tmp_path).languages == ("de",)


def test_languages_of_the_model_serve_where_none_are_set():
    assert languages_of(Settings(languages=("fr",)), ["de"]) == ("fr",)
    assert languages_of(Settings(), ["de", "nl"]) == ("de", "nl")
    assert languages_of(Settings(), []) == ("en",)


def test_an_empty_value_is_not_set(tmp_path):
    (tmp_path / FILE_NAME).write_text("model:\nseed: 1\n", encoding="utf-8")
    assert settings(tmp_path).model is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "acept_licences: {}",
            "setting 'acept_licences' is not known. Did you mean 'accept_licences'?",
        ),
        ("data-dir: x", "setting 'data-dir' is not known. Did you mean 'data_dir'?"),
        ("7: x", "setting '7' is not known. Known: model, suites"),
        ("seed: ten", "seed is 'ten'; it must be a whole number"),
        ("seed: true", "seed is True; it must be a whole number"),
        ("seed: 1.5", "seed is 1.5; it must be a whole number"),
        ("offline: 'no'", "offline is 'no'; it must be true or false"),
        ("suites: 5", "suites is 5; it must be a list of texts"),
        ("suites: [seat, 5]", "suites is ['seat', 5]; it must be a list of texts"),
        ("limits: [a]", "limits is ['a']; it must be a table"),
        ("accept_licences: CC-BY", "accept_licences is 'CC-BY'; it must be a table"),
        ("out: 5", "out is 5; it must be a path"),
        ("model: [a]", "model is ['a']; it must be a text"),
        ("context: {languages: 5}", "context.languages is 5"),
        ("context: {groups: [5]}", "context.groups is [5]; it must be a list of texts"),
        ("context: {region: 2026.5}", "context.region is 2026.5; it must be a text"),
        ("context: {langs: [en]}", "context 'langs' is not known. Did you mean 'languages'?"),
        ("profile: huge", "profile 'huge' is not known. Known: quick, standard, full"),
        ("dtype: float8", "dtype 'float8' is not known"),
        ("- a\n- b", "must hold a table of settings, not list"),
        ("just words", "must hold a table of settings, not str"),
        ("a: [1, 2", "is not well-formed"),
        ("a: b: c", "is not well-formed"),
        ("seed: 2026-13-45", "seed is '2026-13-45'; it must be a whole number"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, text, message):
    path = tmp_path / FILE_NAME
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        settings(tmp_path)
    assert message in caught.value.message
    assert caught.value.exit_code == 2
    if not isinstance(caught.value, UnknownName) or "setting" in message:
        assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.pytest-bias\n", "is not well-formed"),
        ("[tool.pytest-bias]\nsed = 1\n", "Did you mean 'seed'?"),
        ("[tool]\npytest-bias = 5\n", "must hold a table of settings, not int"),
    ],
)
def test_a_wrong_pyproject_is_named(tmp_path, text, message):
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        settings(tmp_path)
    assert message in caught.value.message
    assert "pyproject.toml" in caught.value.message


def test_a_file_in_another_encoding_is_named(tmp_path):
    (tmp_path / FILE_NAME).write_bytes("model: é\n".encode("utf-16"))
    with pytest.raises(UsageError, match=r"cannot be read: .*utf-8"):
        settings(tmp_path)


def test_a_chosen_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"--config .*my\.yaml: there is no such file"):
        settings(tmp_path, config=tmp_path / "my.yaml")


def test_a_chosen_file_replaces_that_of_the_folder(project):
    (project / "other.yaml").write_text("seed: 9\n", encoding="utf-8")
    found = settings(project, config=project / "other.yaml")
    assert (found.seed, found.model) == (9, None)


def test_without_a_model_the_user_is_told_how_to_name_one():
    assert require_model(Settings(model="demo")) == "demo"
    with pytest.raises(UsageError, match="no model was named") as caught:
        require_model(Settings())
    assert "pytest-bias run org/name" in caught.value.hint
    assert FILE_NAME in caught.value.hint


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("10m", 600),
        ("90s", 90),
        ("1h30m", 5400),
        ("600", 600),
        ("1.5h", 5400),
        ("1h 2m 3s", 3723),
        ("2M", 120),
        (0.5, 0.5),
    ],
)
def test_a_budget_is_a_time(tmp_path, given, seconds):
    assert settings(tmp_path, budget=given).budget == seconds


@pytest.mark.parametrize(
    "given", ["", "0", "0s", "-5", "10 min", "1m1h", "1:30", "ten", "1h30", "inf"]
)
def test_what_is_no_time_is_answered_with_examples(tmp_path, given):
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, budget=given)
    assert caught.value.message == f"--budget {given!r} is no time above zero."
    assert "10m; also 90s, 1h30m, or 600" in caught.value.hint


@pytest.mark.parametrize(("line", "seconds"), [("budget: 600", 600), ("budget: 1h30m", 5400)])
def test_a_budget_in_a_file(tmp_path, line, seconds):
    (tmp_path / FILE_NAME).write_text(line, encoding="utf-8")
    assert settings(tmp_path).budget == seconds


@pytest.mark.parametrize("line", ["budget: true", "budget: [1]", "budget: soon"])
def test_a_wrong_budget_in_a_file_is_named_with_the_file(tmp_path, line):
    (tmp_path / FILE_NAME).write_text(line, encoding="utf-8")
    with pytest.raises(UsageError, match=f"{FILE_NAME}: budget"):
        settings(tmp_path)
