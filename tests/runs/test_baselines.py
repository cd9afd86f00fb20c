"""What `--baseline` names: a report, a model, the base of the one under test, what is published."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_bias
from made import record, report, result, score
from pytest_bias.engine.events import Notice
from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import BiasError, ModelError, ReportError, UsageError
from pytest_bias.models import Description, ModelRef, describe
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import write_report
from pytest_bias.reports.publication_layout import CURRENT, CURRENT_SCHEMA, evidence
from pytest_bias.runs import baselines
from pytest_bias.settings.settings import Settings, read_settings

DEMO = Path(pytest_bias.__file__).parent / "models" / "demo" / "planted"
HERE = report(result(scores=[score()], records=[record("a"), record("b", 2.0)]), model="before")

Model = Callable[..., Description]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Return a function that describes a copy of the demo with a card."""

    def build(card: str | None = None, name: str = "tuned") -> Description:
        folder = tmp_path / name
        shutil.copytree(DEMO, folder)
        if card is not None:
            (folder / "README.md").write_text(f"---\n{card}\n---\n# A model\n", encoding="utf-8")
        return describe(str(folder))

    return build


def written(folder: Path, made: Report = HERE) -> Path:
    write_report(made, {}, folder)
    return folder


def found(
    text: str, model: Description | None = None, said: list[str] | None = None, **more: Any
) -> Report | ModelRef | None:
    settings = Settings(baseline=text, offline=True, **more)

    def listen(event: object) -> None:
        assert isinstance(event, Notice)
        (said if said is not None else []).append(event.text)

    return baselines.find(text, model or describe("demo"), settings, listen)


def named(text: str, model: Description | None = None) -> ModelRef:
    ref = found(text, model)
    assert isinstance(ref, ModelRef)
    return ref


def read(text: str, model: Description | None = None, **more: Any) -> Report:
    there = found(text, model, **more)
    assert isinstance(there, Report)
    return there


# Which form a text is


def test_a_report_by_its_folder_or_its_file(tmp_path: Path) -> None:
    written(tmp_path / "old")
    for text in ("old", "old/report.json", str(tmp_path / "old")):
        there = read(text)
        assert there.model.reference == "before"
        assert [r.item for r in there.suites[0].records] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "name", "source", "revision"),
    [
        ("org/name", "org/name", "hub", None),
        ("org/name@v1.2", "org/name", "hub", "v1.2"),
        ("gpt2", "gpt2", "hub", None),
        ("demo-neutral", "demo-neutral", "demo", None),
        ("org/name+org/adapter", "org/name", "hub", None),
    ],
)
def test_a_model_by_its_name(text: str, name: str, source: str, revision: str | None) -> None:
    ref = named(text)
    assert (ref.name, ref.source, ref.revision) == (name, source, revision)
    assert ref.argument == text


def test_a_model_by_its_folder(model: Model, tmp_path: Path) -> None:
    model(name="old")
    for text in ("old", "./old", str(tmp_path / "old")):
        assert named(text).path == tmp_path / "old"
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}")
    assert named("adapter").path == tmp_path / "adapter"
    (tmp_path / "old.gguf").write_bytes(b"")
    assert named("old.gguf").source == "gguf"


@pytest.mark.parametrize("text", ["base", "published", "demo", "org/name"])
def test_what_is_there_comes_before_words_and_names(
    text: str, model: Model, tmp_path: Path
) -> None:
    model(name=text)
    assert named(text).path == tmp_path / text
    # Of a folder that holds both, the report counts.
    written(tmp_path / text)
    assert read(text).model.reference == "before"


def test_any_other_folder_is_no_word(model: Model, tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    assert named("base", model("base_model: org/base")).name == "org/base"
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match=r"neither a report .* nor a model"):
        found("other")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("../nowhere/report.json", ["no such folder or file", "--baseline ../nowhere"]),
        ("https://huggingface.co/org/name", ["is an address", "org/name"]),
        ("org/name@", ["is not a model"]),
        ("a\0b", ["is not a model"]),
        ("x" * 5000, ["is no baseline"]),
        ("./old-reprt", ["Did you mean 'old-report'?"]),
        ("./publish/ed/x", ["no such folder or file"]),
    ],
)
def test_what_is_none_of_the_forms(text: str, words: Sequence[str], tmp_path: Path) -> None:
    written(tmp_path / "old-report")
    with pytest.raises(BiasError) as error:
        found(text)
    assert [w for w in words if w not in str(error.value)] == []


def test_a_misspelt_word_is_answered_with_the_word() -> None:
    error = baselines.about("publishd", ModelError("publishd is not in the cache.", "a hint"))
    assert str(error).endswith("Did you mean 'published'?\n  a hint")
    assert error.message.startswith("--baseline publishd: ")
    assert error.exit_code == 3


def test_a_path_in_a_settings_file_begins_there(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    written(tmp_path / "ci" / "old")
    written(tmp_path / "base")
    for given, expected in {
        "old": str(tmp_path / "ci" / "old"),
        "org/name": "org/name",
        "base": "base",
        "published": "published",
        "x" * 5000: "x" * 5000,
    }.items():
        (tmp_path / "ci" / FILE_NAME).write_text(f"baseline: {given}\n")
        file = tmp_path / "ci" / FILE_NAME
        assert read_settings({"config": file}, environment={}).baseline == expected
    typed = read_settings({"config": file, "baseline": "old"}, environment={})
    assert typed.baseline == "old"
    assert not read_settings({"config": file, "baseline": ""}, environment={}).baseline
    (tmp_path / "ci" / FILE_NAME).write_text("baseline: [3]\n")
    with pytest.raises(UsageError, match="line 1: baseline: must be a text, not a list"):
        read_settings({"config": file}, environment={})


# base


@pytest.mark.parametrize(
    ("card", "name"),
    [
        ("base_model: org/base", "org/base"),
        ("base_model: [org/base]\nbase_model_relation: quantized", "org/base"),
        ("base_model: org/base@v1\nbase_model_relation: finetune", "org/base"),
        ("base_model: demo-neutral", "demo-neutral"),
    ],
)
def test_the_base_is_what_the_card_names(card: str, name: str, model: Model) -> None:
    assert named("base", model(card)).name == name


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (None, ["names no base model", "base_model: org/name", "--baseline org/name"]),
        ("language: en", ["names no base model"]),
        ("base_model:", ["names no base model"]),
        ("base_model: {a: b}", ["names no base model"]),
        ("base_model: [org/a, org/b]", ["2 base models: org/a, org/b", "--baseline org/a"]),
        ("base_model: '../gone'", ["base (../gone)", "no such folder"]),
    ],
)
def test_a_card_that_names_no_single_base(
    card: str | None, words: Sequence[str], model: Model
) -> None:
    with pytest.raises(BiasError) as error:
        found("base", model(card))
    assert [w for w in words if w not in str(error.value)] == []


def test_the_base_of_an_adapter_is_what_it_is_put_on(model: Model) -> None:
    tuned = model("base_model: org/other")
    snapshot = tuned.snapshot
    with_adapter = replace(snapshot.ref, adapter=ModelRef.parse("org/adapter"))
    pair = replace(tuned, snapshot=replace(snapshot, ref=with_adapter))
    assert named("base", pair) == snapshot.ref
    assert named("base", pair).argument == str(snapshot.ref.path)


# published


def test_published_beside_a_local_model(model: Model, tmp_path: Path) -> None:
    tuned = model()
    with pytest.raises(ReportError) as error:
        found("published", tuned)
    for words in ("tuned has no published report", "bias/current.json", "--first-run"):
        assert words in str(error.value)
    said: list[str] = []
    assert found("published", tuned, said, first_run=True) is None
    assert "nothing to compare with yet" in said[0]
    publish(tmp_path / "tuned")
    assert read("published", tuned).model.reference == "before"
    # A first run that finds one compares.
    assert read("published", tuned, first_run=True).model.reference == "before"


def publish(folder: Path, made: Report = HERE, pointer: object = None) -> None:
    """Lay a report below a model's folder, with a pointer to it or to something else."""
    written(folder / evidence(made), made)
    whole = {"schema": CURRENT_SCHEMA, "report": made.digest}
    text = pointer if isinstance(pointer, str) else json.dumps(pointer or whole)
    (folder / CURRENT).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "has the schema None"),
        ({"report": HERE.digest}, "has the schema None"),
        ({"schema": "pytest-bias/current/2"}, "reads 'pytest-bias/current/1'"),
        ({"schema": CURRENT_SCHEMA}, "names no report: None"),
        ({"schema": CURRENT_SCHEMA, "report": "sha256:../../.."}, "names no report"),
        ({"schema": CURRENT_SCHEMA, "report": f"sha256:{'0' * 64}"}, "there is no bias/000000000"),
        # The folder is there, the report in it is another one.
        (
            {"schema": CURRENT_SCHEMA, "report": HERE.digest[:-1] + "01"[HERE.digest[-1] == "0"]},
            f"is {HERE.digest}",
        ),
    ],
)
def test_a_pointer_that_leads_nowhere(
    pointer: object, words: str, model: Model, tmp_path: Path
) -> None:
    tuned = model()
    publish(tmp_path / "tuned", pointer=pointer)
    for more in ({}, {"first_run": True}):
        with pytest.raises(ReportError) as error:
            found("published", tuned, **more)
        assert words in str(error.value)


def test_a_pointer_that_is_missing(model: Model, tmp_path: Path) -> None:
    tuned = model()
    publish(tmp_path / "tuned")
    (tmp_path / "tuned" / CURRENT).unlink()
    with pytest.raises(ReportError, match=r"1 published report .* no bias/current\.json"):
        found("published", tuned)


# Reports that cannot serve


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not a report"),
        ('{"schema": "pytest-bias/re', "not a report"),
        ('{"version": "2.1.0", "runs": []}', "schema None"),
        ('{"schema": "pytest-bias/report/2"}', "reads 'pytest-bias/report/1'"),
        ('{"schema": "pytest-bias/report/1"}', "not a whole report"),
        ("[1, 2]", "schema None"),
        ("\udcff", "no report at"),
    ],
)
def test_a_file_that_is_no_report(content: str, words: str, tmp_path: Path) -> None:
    written(tmp_path / "old")
    path = tmp_path / "old" / "report.json"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    for text in ("old", "old/report.json"):
        with pytest.raises(ReportError, match=words) as error:
            found(text)
        assert f"the baseline {text}" in error.value.message


def test_a_report_without_its_records(tmp_path: Path) -> None:
    written(tmp_path / "old")
    shutil.rmtree(tmp_path / "old" / "records")
    with pytest.raises(ReportError, match=r"has no records.*item by item"):
        found("old")


def test_a_report_that_lacks_one_suite_is_told_suite_by_suite(tmp_path: Path) -> None:
    other = result("seat", scores=[score()], records=[record("x")])
    written(tmp_path / "old", report(*HERE.suites, other))
    (tmp_path / "old" / other.records_path).unlink()
    assert [bool(s.records) for s in read("old").suites] == [True, False]


def test_a_report_that_was_edited(tmp_path: Path) -> None:
    written(tmp_path / "old")
    path = tmp_path / "old" / "report.json"
    plain = json.loads(path.read_text())
    plain["settings"]["seed"] = 1
    path.write_text(json.dumps(plain))
    with pytest.raises(ReportError, match="changed after it was written"):
        found("old")


def test_records_of_another_run(tmp_path: Path) -> None:
    written(tmp_path / "old")
    path = tmp_path / "old" / HERE.suites[0].records_path
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(ReportError, match="does not hold the records"):
        found("old")


def test_where_only_a_report_will_do(tmp_path: Path) -> None:
    written(tmp_path / "old")
    assert baselines.saved("old").model.reference == "before"
    for text in ("base", "published", "demo", "org/name", "olt"):
        with pytest.raises(UsageError, match="there is no report"):
            baselines.saved(text)
    with pytest.raises(UsageError, match="Did you mean 'old'"):
        baselines.saved("olt")


# The command that measures a baseline


def test_the_command_has_what_differs_from_the_defaults() -> None:
    assert baselines.command(Settings(model="demo"), stated=False) == "pytest-bias run demo"
    settings = Settings(
        model="/a b/model",
        suites=("seat[en]", "crows_pairs"),
        profile="quick",
        seed=3,
        offline=True,
        config=Path.cwd() / FILE_NAME,
        data_dir=Path("data"),
    )
    assert baselines.command(settings, stated=True) == (
        "pytest-bias run '/a b/model' --suite 'seat[en]' --suite crows_pairs --profile quick "
        "--data-dir data --seed 3 --offline --baseline ''"
    )
    elsewhere = replace(settings, config=Path("ci/other.yaml"))
    assert "--config ci/other.yaml" in baselines.command(elsewhere, stated=False)
