"""What `init` makes of names, limits, triggers and a folder."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_bias.ci.init.choices import (
    Choices,
    check_branch,
    check_model,
    check_publish,
    read_limit_words,
)
from pytest_bias.ci.init.found import is_ignored, languages, look
from pytest_bias.ci.init.rendering import scalar, settings, workflow
from pytest_bias.ci.init.triggers import GITLAB, NAMES, TRIGGERS, trigger
from pytest_bias.errors import UsageError
from pytest_bias.reports.limits import read_limits
from pytest_bias.settings.settings import read_settings
from pytest_bias.suites import find
from workflow_interface import problems

NAMES_OF_FOLDERS = (
    *("model", "it's", 'say "so"', "a: b", "a #b", "#b", "- a", "a, b", "[a]", "{a}", "on", "12"),
    *(
        "1e3",
        "null",
        "~x",
        "a\nb",
        "a\n\nb",
        "a\tb",
        "modèle",
        "モデル",
        "back\\slash",
        "%d",
        "*a",
        "&a",
    ),
    *(
        "!a",
        "@a",
        "`a`",
        "a'b\"c",
        "$(touch pwned)",
        "<< model >>",
        "$ {{ x }}",
        "{% x %}",
        "=",
        "?",
    ),
)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def hub_model(folder: Path, name: str = "model", card: str | None = None) -> Path:
    """Write what a folder with a model looks like from outside."""
    made = folder / name
    made.mkdir(parents=True)
    (made / "config.json").write_text("{}")
    (made / "model.safetensors").write_bytes(b"")
    if card is not None:
        (made / "README.md").write_text(card, encoding="utf-8")
    return made


# Texts


@pytest.mark.parametrize("text", NAMES_OF_FOLDERS)
def test_scalar_says_the_text_alone_in_a_mapping_and_in_a_list(text: str) -> None:
    written = scalar(text)
    assert "\n" not in written
    assert yaml.safe_load(f"a: {written} # more\nb: [{written}, c]") == {
        "a": text,
        "b": [text, "c"],
    }


@pytest.mark.parametrize("text", ["org/name", "./model", "org/name@v1.2", "gpu-t4", "a+b"])
def test_usual_names_stay_plain(text: str) -> None:
    assert scalar(text) == text


@pytest.mark.parametrize("name", NAMES_OF_FOLDERS)
def test_folder_of_any_name_is_the_same_in_both_files(tmp_path: Path, name: str) -> None:
    hub_model(tmp_path, name)
    model = check_model(f"./{name}", trigger("push"), tmp_path)
    assert model == f"./{name}"
    choices = Choices(trigger("push"), model=model)
    (step,) = [
        s
        for s in yaml.safe_load(workflow(choices))["jobs"]["bias"]["steps"]
        if "model" in s["with"]
    ]
    assert step["with"]["model"] == model
    assert problems(workflow(choices)) == []
    (tmp_path / "pytest-bias.yaml").write_text(settings(choices), encoding="utf-8")
    assert read_settings({}, environment={}, folder=tmp_path).model == model


@pytest.mark.parametrize("name", NAMES_OF_FOLDERS)
def test_folder_of_any_name_is_one_word_of_the_job_on_gitlab(name: str) -> None:
    choices = Choices(GITLAB, model=f"./{name}", publish="org/name")
    (line,) = yaml.safe_load(workflow(choices))["bias"]["script"]
    assert shlex.split(line)[3:] == [
        f"--model=./{name}",
        "--baseline=last-run",
        "--publish=org/name",
    ]


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("git@gitlab.com:group/sub/name.git", "https://gitlab.com/group/sub/name"),
        (
            "https://user:secret@gitlab.example.org/group/name",
            "https://gitlab.example.org/group/name",
        ),
        (
            "ssh://git@gitlab.example.org:2222/group/name.git",
            "https://gitlab.example.org/group/name",
        ),
        ("git@github.com:group/gitlab.com.git", None),
        ("https://notgitlab.com/group/name", None),
    ],
)
def test_a_project_of_gitlab_is_known_by_its_remote(
    tmp_path: Path, remote: str, expected: str | None
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", remote)
    found = look(tmp_path)
    assert (found.gitlab, found.is_gitlab) == (expected, expected is not None)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("./a${{ secrets.HF_TOKEN }}", "GitHub begins an expression"),
        ("org/${{x}}", "GitHub begins an expression"),
        ("", "is empty"),
        (" ./model", "white space"),
        ("./model\n", "white space"),
        ("./a\0b", "null"),
        ("../other", "lies outside"),
        ("/", "lies outside"),
        ("a name", "is not a model"),
        ("https://huggingface.co/org/name", "is an address"),
        ("file.txt", "not a .gguf file"),
    ],
)
def test_names_that_cannot_stand_in_a_workflow(tmp_path: Path, model: str, told: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file.txt").write_text("")
    with pytest.raises(UsageError, match=told):
        check_model(model, trigger("push"), tmp_path / "work")


def test_folder_that_a_step_will_make_is_a_model(tmp_path: Path) -> None:
    assert check_model("./out/../out/model/", trigger("push"), tmp_path) == "./out/model"
    assert check_model(".", trigger("push"), tmp_path) == "."


def test_folder_with_the_form_of_a_hub_name_is_written_as_a_path(tmp_path: Path) -> None:
    hub_model(tmp_path, "org/name")
    assert check_model("org/name", trigger("push"), tmp_path) == "./org/name"


@pytest.mark.parametrize(
    ("name", "model", "told"),
    [
        ("hub-schedule", "./model", "is about models of the Hub"),
        ("hub-schedule", "demo", "follows a model of the Hub"),
        ("gpu", "./model", "is about models of the Hub"),
        ("model-repository", "org/name", "weights of this repository"),
        ("lock", "./model", "is about models of the Hub"),
        ("reproduce", "demo", "is about models of the Hub"),
    ],
)
def test_a_trigger_says_which_models_it_takes(
    tmp_path: Path, name: str, model: str, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        check_model(model, trigger(name), tmp_path)


def test_unknown_trigger_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'hub-schedule'\?"):
        trigger("hub-schedul")


@pytest.mark.parametrize(
    "text", ["name", "org/name@v1", "demo", "./a", "org/na me", "a/b/c", "${{x}}"]
)
def test_publishing_goes_to_a_repository(text: str) -> None:
    with pytest.raises(UsageError):
        check_publish(text)
    assert check_publish("org/name") == "org/name"


@pytest.mark.parametrize("text", ["a b", "a*", "!a", "-a", "a..b", "a'b", "${{ x }}", ""])
def test_branches_mean_nothing_to_patterns(text: str) -> None:
    with pytest.raises(UsageError):
        check_branch("--branch", text)
    assert check_branch("--branch", "release/1.x") == "release/1.x"


# Limits


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        (["none"], {}),
        (["crows_pairs=10"], {"crows_pairs.stereotype_preference": {"max_distance": 10}}),
        (
            ["max-distance:seat=0.5", "max-regression:seat=0.1"],
            {"seat.mean_absolute_effect": {"max_distance": 0.5, "max_regression": {"points": 0.1}}},
        ),
        (
            ["max-regression:crows_pairs[fr].aul_preference=2, seat=1"],
            {
                "crows_pairs[fr].aul_preference": {"max_regression": {"points": 2}},
                "seat.mean_absolute_effect": {"max_distance": 1},
            },
        ),
    ],
)
def test_limits_are_those_of_the_settings_file(
    tmp_path: Path, words: list[str], limits: dict[str, Any]
) -> None:
    found = read_limit_words(words)
    assert found == limits
    text = settings(Choices(trigger("push"), model="demo", limits=found))
    (tmp_path / "pytest-bias.yaml").write_text(text, encoding="utf-8")
    read = read_settings({}, environment={}, folder=tmp_path).limits
    assert read == limits
    assert len(read_limits(read)) == len(limits)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("crow_pairs=10", "Did you mean 'crows_pairs'"),
        ("crows_pairs.preference=10", "metric 'preference' is not known"),
        ("max-distanc:crows_pairs=10", "Did you mean 'max-distance'"),
        ("crows_pairs", "is no limit"),
        ("crows_pairs=ten", "'ten' is no number"),
        ("crows_pairs=-1", "must be a number from 0 up, not '-1'"),
        ("crows_pairs=inf", "must be a number from 0 up, not 'inf'"),
        ("none crows_pairs=1", "combined with limits"),
        ("*=1", "is not known"),
    ],
)
def test_wrong_limits_are_named(word: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        read_limit_words([word])
    assert told in str(error.value)


# Files


@pytest.mark.parametrize("name", NAMES)
def test_every_workflow_with_every_option_fits_the_action(name: str) -> None:
    chosen = trigger(name)
    more: dict[str, Any] = {"publish": "org/name", "badges_branch": "badges"}
    text = workflow(
        Choices(
            chosen,
            model="org/name",
            branch="release/1.x",
            runner='["self-hosted", "gpu"]',
            shards=4,
            **{k: v for k, v in more.items() if k in chosen.options},
        )
    )
    assert problems(text) == []
    plain = yaml.safe_load(text)
    uses = [u for job in plain["jobs"].values() for u in (job, *job.get("steps", ()))]
    given = [u["with"] for u in uses if "pytest-bias" in u.get("uses", "")]
    # The folder whose badge `init` shows; another job would have one of its own.
    for option, expected in {**more, "badges_branch": "badges:bias"}.items():
        where = [w[option.replace("_", "-")] for w in given if option.replace("_", "-") in w]
        assert (expected in where) == (option in chosen.options)
    push = plain[True].get("push", {})
    assert push.get("branches", ["release/1.x"]) == ["release/1.x"]
    (on,) = {t.file for t in TRIGGERS if t.name == name}
    assert on


def test_settings_that_are_comments_are_right_too(tmp_path: Path) -> None:
    lines = settings(Choices(trigger("push"), model="demo")).splitlines()
    known = ("context:", "limits:", "profile:", "suites:", "baseline:", "accept_licences:")
    opened = [
        line.removeprefix("# ") if line.removeprefix("# ").startswith(known) else line
        for line in lines
    ]
    assert len([a for a, b in zip(lines, opened, strict=True) if a != b]) == len(known)
    (tmp_path / "pytest-bias.yaml").write_text("\n".join(opened), encoding="utf-8")
    read = read_settings({}, environment={}, folder=tmp_path)
    assert (read.profile, read.baseline, read.languages) == ("quick", "published", ("en",))
    assert len(read_limits(read.limits)) == 1
    for name in (*read.suites, *read.accept_licences):
        assert find(name).name == name
    for licence in read.accept_licences.values():
        assert licence in find("honest").scope["licence"]


def test_settings_hold_what_was_chosen_only(tmp_path: Path) -> None:
    text = settings(
        Choices(trigger("push"), model="./model", languages=("fr", "multilingual", "de"))
    )
    assert yaml.safe_load(text) == {"model": "./model", "context": {"languages": ["fr", "de"]}}


# What is there


def test_empty_folder_tells_nothing(tmp_path: Path) -> None:
    found = look(tmp_path)
    assert (found.settings, found.model, found.weights, found.hub) == (None, None, None, None)
    assert (found.branch, found.is_git) == ("main", False)


def test_nearest_model_of_the_folder_is_found(tmp_path: Path) -> None:
    for name in (".cache/hidden", "a/b/c/too-deep", "bias-report/x"):
        hub_model(tmp_path, name)
    (tmp_path / "no-weights").mkdir()
    (tmp_path / "no-weights" / "config.json").write_text("{}")
    assert look(tmp_path).weights is None
    hub_model(tmp_path, "runs/last")
    assert look(tmp_path).weights == "./runs/last"
    (tmp_path / "tiny.gguf").write_bytes(b"")
    assert look(tmp_path).weights == "./tiny.gguf"
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert look(tmp_path).weights == "."


def test_settings_that_are_there_name_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_BIAS_MODEL", "other/model")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest-bias]\nmodel = "org/name"\n')
    found = look(tmp_path)
    assert (found.model, found.settings) == ("org/name", tmp_path / "pyproject.toml")


@pytest.mark.parametrize(
    "address",
    [
        "https://huggingface.co/org/name",
        "https://user:secret@huggingface.co/org/name.git",
        "git@hf.co:org/name",
    ],
)
def test_git_tells_the_hub_and_the_branch(tmp_path: Path, address: str) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    git(tmp_path, "remote", "add", "other", "https://github.com/a/b")
    git(tmp_path, "remote", "add", "origin", address)
    found = look(tmp_path)
    assert (found.hub, found.branch, found.is_git) == ("org/name", "trunk", True)
    git(tmp_path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/master")
    assert look(tmp_path).branch == "master"


def test_data_sets_of_the_hub_are_no_models(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "https://huggingface.co/datasets/org/name")
    assert look(tmp_path).hub is None


def test_default_branch_comes_before_the_one_that_is_worked_on(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    git(tmp_path, *who, "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path, "switch", "-q", "-c", "feature")
    assert look(tmp_path).branch == "main"


def test_folder_of_a_repository_holds_no_workflows(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    with pytest.raises(UsageError, match="at its root only"):
        look(tmp_path / "sub")


def test_weights_that_git_ignores_are_known(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("model/\n")
    hub_model(tmp_path)
    assert is_ignored(tmp_path, "./model")
    assert not is_ignored(tmp_path, "./other")


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        (None, ()),
        ("no head", ()),
        ("---\nlanguage: fr\n---\n", ("fr",)),
        ("---\nlanguage:\n- en\n- no\n---\n", ("en", "False")),
        ("---\nlanguage: [en, de]\n---\n", ("en", "de")),
        ("---\n: {\n---\n", ()),
    ],
)
def test_languages_are_those_of_the_card(
    tmp_path: Path, card: str | None, expected: tuple[str, ...]
) -> None:
    hub_model(tmp_path, card=card)
    assert languages(tmp_path, "./model") == expected
    assert languages(tmp_path, "org/name") == ()
