"""Settings: option over environment over file over default, and what a wrong file is answered."""

import re
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.reports.limits import limits_of
from pytest_bias.settings.budget import Budget
from pytest_bias.settings.context import check_context
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import (
    Settings,
    from_json,
    languages_of,
    read_settings,
    require_model,
    to_json,
)

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
        ("BUDGET", "90s", Budget(90)),
    ],
)
def test_the_environment_holds_texts_of_every_type(project, name, text, value):
    found = settings(project, {f"PYTEST_BIAS_{name}": text})
    assert getattr(found, name.lower()) == value


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ({"PYTEST_BIAS_SEED": "ten"}, "PYTEST_BIAS_SEED: must be a whole number, not 'ten'"),
        (
            {"PYTEST_BIAS_OFFLINE": "maybe"},
            "OFFLINE: must be true or false, not 'maybe'",
        ),
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


def test_one_responsible_person_is_a_list_of_one_and_reasons_are_of_suites(tmp_path):
    path = tmp_path / FILE_NAME
    path.write_text(
        "context:\n  version: 2.10\n  responsible: {name: Ann, role: testing}\n  why: They fit.\n",
        encoding="utf-8",
    )
    ann = {"name": "Ann", "role": "testing"}
    found = settings(tmp_path).context
    assert found == {"version": "2.10", "responsible": [ann], "why": "They fit."}
    path.write_text(
        "context:\n  responsible: [{name: Ann, role: testing}]\n  why:\n    bqb: It fits.\n",
        encoding="utf-8",
    )
    made = settings(tmp_path)
    assert made.context == {"responsible": [ann], "why": {"bqb": "It fits."}}
    with pytest.raises(UnknownName, match=r"line 4: suite 'bqb' is not known. Did you mean 'bbq'?"):
        check_context(made.context, made.stated, made.catalogue)
    # A run in another process has the same settings.
    assert from_json(to_json(made)).context == made.context


def test_languages_of_the_model_serve_where_none_are_set():
    assert languages_of(Settings(languages=("fr",)), ["de"]) == ("fr",)
    assert languages_of(Settings(), ["de", "nl"]) == ("de", "nl")
    assert languages_of(Settings(), []) == ("en",)


def test_an_empty_value_is_not_set(tmp_path):
    (tmp_path / FILE_NAME).write_text("model:\nseed: 1\n", encoding="utf-8")
    assert settings(tmp_path).model is None


TEXT, TABLE, LIST = "must be a text, not ", "must be a table, not ", "must be a list of texts, not "
PREFERENCE = "crows_pairs.stereotype_preference"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("acept_licences: {}", "is not known. Did you mean 'accept_licences'?"),
        ("data-dir: x", "key 'data-dir' is not known. Did you mean 'data_dir'?"),
        ("7: x", "key '7' is not known. Known: model, suites"),
        ("seed: ten", "seed: must be a whole number, not 'ten'"),
        ("seed: true", "seed: must be a whole number, not 'true'"),
        ("seed: 1.5", "seed: must be a whole number, not '1.5'"),
        ("seed: 2026-13-45", "seed: must be a whole number, not '2026-13-45'"),
        ("offline: maybe", "offline: must be true or false, not 'maybe'"),
        ("suites: {a: b}", f"suites: {LIST}a table"),
        ("suites: [seat, [x]]", f"suites[2]: {TEXT}a list"),
        ("out: [5]", f"out: {TEXT}a list"),
        ("model: [a]", f"model: {TEXT}a list"),
        ("profile: huge", "profile: 'huge' is not known. Known: quick, standard, full"),
        ("profile: {a: b}", "profile: must be one of quick, standard, full, not a table"),
        ("dtype: float8", "dtype: 'float8' is not known"),
        ("chat: sometimes", "chat: 'sometimes' is not known. Known: auto, on, off"),
        ("budget: soon", "budget 'soon' is not a time above zero"),
        ("budget: 1:30", "budget '1:30' is not a time above zero"),
        ("budget: [1]", f"budget: {TEXT}a list"),
        (
            "scorers: {toxic: a}",
            "scorers.toxic: key 'toxic' is not known. Did you mean 'toxicity'?",
        ),
        ("scorers: [org/name]", "scorers 'org/name' is not of the form NAME=VALUE"),
        (f"limits: [{PREFERENCE}]", f"limits: {TABLE}a list"),
        (f"limits: {{{PREFERENCE}: 10}}", f"limits.{PREFERENCE}: {TABLE}'10'"),
        (f"limits: {{{PREFERENCE}: {{max_distance: x}}}}", "must be a number from 0 up, not 'x'"),
        (
            f"limits: {{{PREFERENCE}: {{undecided:}}}}",
            "undecided: must be one of warn, fail, not nothing",
        ),
        (
            "waive: [{limit: x, reason: y, until: soon}]",
            "waive[1].until: must be a day, not 'soon'",
        ),
        ("served: {timeout: -1}", "served.timeout: must be a number from 0.1 to 86,400, not '-1'"),
        ("labels: {hate: {hatful: x}}", "labels.hate.hatful: key 'hatful' is not known. Did you"),
        ("labels: {hate:}", f"labels.hate: {TABLE}nothing"),
        (
            "texts: {s: {a: {pth: x}}}",
            "texts.s.a.pth: key 'pth' is not known. Did you mean 'path'?",
        ),
        ("context: {languages: {a: b}}", f"context.languages: {LIST}a table"),
        ("context: {region: [x]}", f"context.region: {TEXT}a list"),
        ("context: {langs: [en]}", "is not known. Did you mean 'languages'?"),
        ("context: {provider: ''}", f"context.provider: {TEXT}''"),
        (
            "context: {responsible: Ann}",
            "context.responsible: must be a list of people, each with name and role, not 'Ann'",
        ),
        (
            "context: {responsible: {name: Ann}}",
            "context.responsible: a responsible person lacks role.",
        ),
        (
            "context: {responsible: [{name: Ann, rol: x}]}",
            "context.responsible[1].rol: key 'rol' is not known. Did you mean 'role'?",
        ),
        ("context: {responsible: []}", "must be a list of people, each with name and role, not a"),
        (
            "context: {why: [x]}",
            "context.why: must be a text, or a table of suite to text, not a list.",
        ),
        ("context: {why: {bbq: [x]}}", f"context.why.bbq: {TEXT}a list"),
        ("context: {why: {}}", f"context.why: {TABLE}a table"),
        ("accept_licences: CC-BY", f"accept_licences: {TABLE}'CC-BY'"),
        ("accept_licences: {seat: [x]}", f"accept_licences.seat: {TEXT}a list"),
        ("accept_licences: {seat:}", f"accept_licences.seat: {TEXT}nothing"),
        ("fleet: {part: 0}", "fleet.part '0' is not a time above zero"),
        ("fleet: {cpus: 0}", "fleet.cpus: must be a whole number from 1 to 999,999,999, not '0'"),
        ("energy: {pue: 0.9}", "energy.pue: must be a number from 1 up, not '0.9'"),
        ("energy: {grid_g_per_kwh: 056}", "must be a number from 0 up, not '056'"),
        ("energy: {pue:}", "energy.pue: must be a number from 1 up, not nothing"),
        ("- a\n- b", f"the settings {TABLE}a list"),
        ("just words", f"the settings {TABLE}'just words'"),
        ("a: b: c", "mapping values are not allowed here"),
        ("a: [1, 2", "expected ',' or ']'"),
        ("\ta: b", "found character '\\t' that cannot start any token"),
        ("seed: 1\nseed: 2", "seed is given twice"),
        ("seed: !!python/name:os.system 1", "python/name:os.system is not known"),
        ("? [a]\n: b", "a key must be a text"),
        ("a: &a [*a]", "nested more than 20 levels deep"),
        ("a: *b", "found undefined alias 'b'"),
        ("a: &a {<<: *a}", "key 'a' is not known"),
        ("<<: [a]", "expected a mapping for merging, but found scalar"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(tmp_path, text, message):
    path = tmp_path / FILE_NAME
    path.write_text(f"# a comment\n\ndevice: cpu\n{text}", encoding="utf-8")
    if text[0] in "-j":
        path.write_text(f"\n\n\n{text}", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        settings(tmp_path)
    assert message in caught.value.message
    assert re.match(rf"{re.escape(str(path))}, line [45]: ", caught.value.message)
    assert caught.value.exit_code == 2


NESTED = f"""\
limits:
  {PREFERENCE}:
    max_distance: 10
    max_regression:
      points: two
waive:
  - limit: {PREFERENCE}
    reason: known
    until: 2027-02-31
served:
  concurrency: 4
  retries: many
labels:
  toxicity:
    toxic: [a]
texts:
  perturbation:
    mine:
      path: a.txt
      each: word
context:
  groups:
    - gender
    - [religion]
accept_licences:
  seat: CC-BY-NC-4.0
  honest: [x]
fleet:
  part: 10m
  cpus: many
energy:
  pue: 1.2
  grid_g_per_kwh: -1
"""


@pytest.mark.parametrize(
    ("table", "line"),
    {
        "limits": 5,
        "waive": 9,
        "served": 12,
        "labels": 15,
        "texts": 20,
        "context": 24,
        "accept_licences": 27,
        "fleet": 30,
        "energy": 33,
    }.items(),
)
def test_in_every_table_the_line_of_what_is_wrong_is_told(tmp_path, table, line):
    # The other tables become comments, so that every line keeps its number.
    lines, inside = [], False
    for text in NESTED.splitlines():
        inside = text.startswith(table) if text[0] != " " else inside
        lines.append(text if inside else f"# {text}")
    (tmp_path / FILE_NAME).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UsageError, match=rf"{FILE_NAME}, line {line}: {table}[.\[]"):
        settings(tmp_path)


def test_a_limit_whose_name_is_wrong_has_a_line(project):
    path = project / FILE_NAME
    path.write_text(f"{YAML}limits:\n  crows_pair.x: {{max_distance: 1}}\n", encoding="utf-8")
    with pytest.raises(UnknownName) as caught:
        limits_of(settings(project))
    said = f"{path}, line 7: suite 'crows_pair' is not known. Did you mean 'crows_pairs'?"
    assert caught.value.message.startswith(said)


def test_aliases_and_merged_tables_mean_what_yaml_says(tmp_path):
    path = tmp_path / FILE_NAME
    text = f"limits:\n  {PREFERENCE}: &usual {{max_distance: 10, undecided: fail}}\n"
    text += f"  {PREFERENCE}[bias_type=age]: {{<<: *usual, max_distance: 20}}\n  seat.x: *usual\n"
    path.write_text(text, encoding="utf-8")
    one, other, third = settings(tmp_path).limits.values()
    assert one == third == {"max_distance": 10, "undecided": "fail"}
    assert other == {"max_distance": 20, "undecided": "fail"}


@pytest.mark.parametrize(
    "written", ["[*{0}, *{0}]", "{{x: *{0}, y: *{0}}}", "{{<<: [*{0}, *{0}], x: *{0}}}"]
)
def test_aliases_that_repeat_without_end_are_refused_at_once(tmp_path, written):
    lines = [f"a{n}: &a{n} {written.format(f'a{n - 1}')}" for n in range(1, 19)]
    (tmp_path / FILE_NAME).write_text("\n".join(["a0: &a0 {z: 1}", *lines]), encoding="utf-8")
    begun = time.monotonic()
    with pytest.raises(UsageError, match=r", line \d+: (aliases repeat too much|a0: key)"):
        settings(tmp_path)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000])
@pytest.mark.parametrize("name", [FILE_NAME, "deep.toml"])
def test_a_file_that_is_nested_very_deeply_is_refused(tmp_path, text, name):
    (tmp_path / name).write_text(f"a = {text}" if "toml" in name else text, encoding="utf-8")
    with pytest.raises(UsageError, match="not well-formed"):
        settings(tmp_path, config=tmp_path / name)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("languages: [no, en]", "languages", ("no", "en")),
        ("context: {region: NO, groups:, intended_use: ~}", "context", {"region": "NO"}),
        ("model: 2024-01-01", "model", "2024-01-01"),
        ("model: null", "model", None),
        ("model: 'null'", "model", "null"),
        ("seed: 0x10", "seed", 16),
        ("seed: '1_000'", "seed", 1000),
        ("offline: yes", "offline", True),
        ("offline: 'no'", "offline", False),
        ("suites: []", "suites", ()),
        ("limits: {}", "limits", {}),
        ("labels: {hate: {hateful: 1}}", "labels", {"hate": {"hateful": "1"}}),
        ("scorers: [hate=a/b=c]", "scorers", {"hate": "a/b=c"}),
        (
            "served: {timeout: 1e2, retries:, prefix: yes}",
            "served",
            {"timeout": 100, "prefix": "yes"},
        ),
        ("energy: {grid_g_per_kwh: 56}", "energy", {"grid_g_per_kwh": 56}),
        ("model: ''\nprofile:", "profile", "standard"),
    ],
)
def test_words_are_what_was_written_and_read_as_what_they_are_for(tmp_path, text, name, value):
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    assert getattr(settings(tmp_path), name) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.pytest-bias\n", "is not well-formed"),
        ("[tool.pytest-bias]\nsed = 1\n", ": sed: key 'sed' is not known. Did you mean 'seed'?"),
        ("[tool.pytest-bias]\nseed = 1.5\n", ": seed: must be a whole number, not '1.5'"),
        ("[tool.pytest-bias]\nseed = true\n", ": seed: must be a whole number, not 'true'"),
        ("[tool.pytest-bias.energy]\npue = nan\n", ": energy.pue: must be a number from 1 up"),
        (
            "[tool.pytest-bias.fleet]\npart = 'soon'\n",
            ": fleet.part 'soon' is not a time above zero",
        ),
        ("[tool]\npytest-bias = 5\n", f": the settings {TABLE}'5'"),
    ],
)
def test_a_wrong_pyproject_is_named_with_the_key(tmp_path, text, message):
    path = tmp_path / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        settings(tmp_path)
    assert caught.value.message.startswith(str(path))
    assert message in caught.value.message


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
    assert settings(tmp_path, budget=given).budget == Budget(seconds)


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ("500calls", Budget(calls=500)),
        ("1 call", Budget(calls=1)),
        ("5USD", Budget(money=5, currency="USD")),
        ("0.25 eur", Budget(money=0.25, currency="EUR")),
        ("10m,500calls", Budget(600, 500)),
        ("2usd, 1h , 30calls", Budget(3600, 30, 2, "USD")),
    ],
)
def test_a_budget_is_of_calls_and_money_too(tmp_path, given, budget):
    found = settings(tmp_path, budget=given)
    assert found.budget == budget
    assert from_json(to_json(found)).budget == budget


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("0calls", "is not a time above zero, a number of calls, or a sum of money"),
        ("5dollars", "is not a time"),
        ("5min", "is not a time"),
        ("0USD", "is not a time"),
        ("5$", "is not a time"),
        ("1.5calls", "is not a time"),
        ("10m,", "is not a time"),
        ("10m,5m", "has two limits of one kind"),
        ("5USD,5EUR", "has two limits of one kind"),
    ],
)
def test_what_is_no_budget_is_answered_with_examples(tmp_path, given, words):
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, budget=given)
    assert words in caught.value.message
    assert "500calls; 5USD" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cost: {input: 0.5, ouput: 1, currency: USD}", "Did you mean 'output'?"),
        ("cost: {input: 0.5}", "cost: lacks currency"),
        ("cost: {input: -1, currency: USD}", "must be a number from 0 up"),
        ("cost: {input: 1, currency: dollars}", "three letters such as USD"),
        ("cost: {currency: USD}", "has no price: input, output or call"),
        ("cost: 5", "must be a table"),
    ],
)
def test_a_wrong_cost_is_one_message(tmp_path, line, words):
    (tmp_path / FILE_NAME).write_text(line, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        settings(tmp_path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "given", ["", "0", "0s", "-5", "10 min", "1m1h", "1:30", "ten", "1h30", "inf"]
)
def test_what_is_no_time_is_answered_with_examples(tmp_path, given):
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, budget=given)
    assert f"--budget {given!r} is not a time above zero" in caught.value.message
    assert "10m, 90s, 1h30m, or 600" in caught.value.hint


@pytest.mark.parametrize(("line", "seconds"), [("budget: 600", 600), ("budget: 1h30m", 5400)])
def test_a_budget_in_a_file(tmp_path, line, seconds):
    (tmp_path / FILE_NAME).write_text(line, encoding="utf-8")
    assert settings(tmp_path).budget == Budget(seconds)


# How a model is asked


def test_a_system_text_is_given_or_read_from_a_file(tmp_path):
    path = tmp_path / "system.txt"
    path.write_text("Be brief.\nBe kind.\n", encoding="utf-8")
    for given in ("Be brief.\nBe kind.", str(path)):
        assert read_settings({"system": given}, folder=tmp_path).system == "Be brief.\nBe kind."
    (tmp_path / FILE_NAME).write_text("system: system.txt\nanswers: text\n", encoding="utf-8")
    settings = read_settings({}, folder=tmp_path)
    assert (settings.system, settings.answers) == ("Be brief.\nBe kind.", "text")
    assert read_settings({}, environment={"PYTEST_BIAS_SYSTEM": "Be fair."}).system == "Be fair."


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"system": "prompts/none.txt"}, "--system 'prompts/none.txt': there is no such file"),
        ({"system": "none.md"}, "--system 'none.md': there is no such file"),
        ({"system": "  "}, "--system: the text is empty"),
        ({"answers": "leters"}, "Did you mean 'letters'"),
        ({"answer_tokens": 0}, "--answer-tokens 0: an answer has at least one token"),
        ({"answer_samples": 0}, "--answer-samples 0: at least 1"),
        (
            {"answer_samples": 5, "answers": "letters"},
            "--answer-samples 5 and --answers letters: the probabilities of letters are not",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path, given, why):
    with pytest.raises(UsageError, match=re.escape(why)):
        read_settings(given, folder=tmp_path, environment={})
