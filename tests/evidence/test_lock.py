"""The lock file: read as it was written, refused where it is malformed; verdicts in words."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console, RenderableType

from made import HOSTILE, report, result, score
from pytest_bias.cli.evidence import OF_LOCK
from pytest_bias.cli.lock import GRAVITY, OPTIONS_OF_A_RUN, _as_locked, check_options
from pytest_bias.cli.screens import locks
from pytest_bias.errors import (
    HubNotReached,
    ModelError,
    OutputError,
    ReportError,
    UnknownName,
    UsageError,
)
from pytest_bias.evidence.lock import (
    Checked,
    FileChanges,
    Locked,
    LockedReport,
    LockedScore,
    lock,
    pinned,
)
from pytest_bias.evidence.lock_file import ABOUT, named, read_lock, write_lock
from pytest_bias.models import ModelRef
from pytest_bias.models.fingerprint import ModelFingerprint
from pytest_bias.records.identity import AdapterIdentity
from pytest_bias.records.report import Withheld
from pytest_bias.settings.settings import Settings

HEAD = ModelFingerprint(
    revision="1" * 40,
    weights_sha256="a" * 64,
    config_sha256="b" * 64,
    tokenizer_sha256="c" * 64,
    chat_template_sha256=None,
    code_sha256=None,
    files={"README.md": "git:1", "config.json": "git:2", "model.safetensors": "sha256:3"},
)
MADE = report(
    result(scores=[score(), score(by={"bias_type": "age"}, headline=False)]),
    result("seat", scores=[score("mean_absolute_effect", None, interval=None, unit="d")]),
)
MADE = replace(
    MADE,
    settings={"requested": ["@social"], "profile": "quick", "seed": 3, "chat": "off"},
    coverage={"languages": ["en"]},
)
REPORT = LockedReport.of(MADE, "published")
LOCKED = Locked("org/model", "2026-11-28", HEAD, REPORT)
ADAPTED = replace(
    HEAD,
    adapter=AdapterIdentity("org/adapter", "2" * 40, "d" * 64, "e" * 64),
    adapter_files={"adapter_config.json": "git:4"},
    base="org/base",
)


def printed(what: RenderableType, width: int = 200) -> str:
    out = StringIO()
    Console(file=out, width=width).print(what)
    return out.getvalue()


# The file


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "pytest-bias.lock"
    models = {
        "org/z": replace(LOCKED, name="org/z"),
        "org/a@v1": replace(LOCKED, name="org/a@v1", report=None),
        "org/base+org/adapter": Locked("org/base+org/adapter", "2026-11-28", ADAPTED),
    }
    write_lock(path, models)
    assert read_lock(path) == models
    text = path.read_text(encoding="utf-8")
    assert text.startswith(ABOUT)
    assert text.index("org/a@v1:") < text.index("org/base+org/adapter:") < text.index("org/z:")
    write_lock(path, dict(reversed(models.items())))
    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_files_are_kept_whatever_they_are(name: str, tmp_path: Path) -> None:
    locked = replace(LOCKED, head=replace(HEAD, files={HOSTILE[name]: "git:1"}))
    write_lock(tmp_path / "lock", {"org/model": locked})
    assert read_lock(tmp_path / "lock") == {"org/model": locked}
    moved = replace(HEAD, revision="2" * 40, files={HOSTILE[name] + "2": "git:1"})
    said = printed(locks.checked(Checked(locked, moved)))
    assert not {"\x00", "\x1b", "\x9f", "\N{RIGHT-TO-LEFT OVERRIDE}"} & set(said)


def change(path: str, value: object) -> Callable[[dict[str, Any]], object]:
    """Return a function that sets one value of a lock file's content."""

    def change(plain: dict[str, Any]) -> None:
        *keys, last = path.split(".")
        for key in keys:
            plain = plain[key]
        if value is KeyError:
            del plain[last]
        else:
            plain[last] = value

    return change


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (change("schema", "pytest-bias/lock/2"), "reads 'pytest-bias/lock/1'"),
        (change("schema", KeyError), "has the schema None"),
        (change("models", ["org/model"]), "models must be a table"),
        (change("models.org/model", None), "org/model is malformed"),
        (change("models.org/model.locked", KeyError), "org/model is malformed: KeyError"),
        (change("models.org/model.locked", 20261128), "locked is 20261128"),
        (change("models.org/model.files", KeyError), "files"),
        (change("models.org/model.files", {"config.json": 3}), "files is"),
        (change("models.org/model.weights_sha256", 12), "weights_sha256 is 12"),
        (change("models.org/model.weight_sha256", "a"), "weight_sha256"),
        (change("models.org/model.adapter", {"revision": "x"}), "malformed"),
        (change("models.org/model.report.scores", ["a"]), "malformed"),
        (change("models.org/model.report.suites", "seat"), "suites is 'seat'"),
        (change("models.org/model.report.seed", "0"), "seed is '0'"),
        (change("models.org/model.report.source", "heard"), "source is 'heard'"),
        (change("models.org/model.report", KeyError), "KeyError('report')"),
    ],
)
def test_a_malformed_file_is_refused(
    changes: Callable[[Any], object], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "lock"
    write_lock(path, {"org/model": LOCKED})
    plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    changes(plain)
    path.write_text(yaml.safe_dump(plain), encoding="utf-8")
    with pytest.raises(UsageError) as error:
        read_lock(path)
    assert words in error.value.message
    assert str(path) in error.value.message
    assert "version control" in (error.value.hint or "")


@pytest.mark.parametrize("content", [b"", b"[" * 100, b"a: {", b"\xff\xfe\x00", b"!!python/x 1"])
def test_what_is_no_lock_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(content)
    with pytest.raises(UsageError, match="lock"):
        read_lock(tmp_path / "lock")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        read_lock(tmp_path / "lock")
    with pytest.raises(OutputError, match="cannot be written"):
        write_lock(tmp_path / "no" / "lock", {})
    with pytest.raises(UsageError, match="cannot be read"):
        read_lock(tmp_path)


def test_models_by_name() -> None:
    models = {"org/b": LOCKED, "org/a": replace(LOCKED, name="org/a")}
    assert [m.name for m in named(models, None, Path("f"))] == ["org/a", "org/model"]
    assert named(models, "org/b", Path("f")) == [LOCKED]
    with pytest.raises(UnknownName, match=r"Did you mean 'org/b'\?"):
        named(models, "org/bb", Path("f"))


# What is kept of a report


def test_what_is_kept_of_a_report() -> None:
    assert REPORT.digest == MADE.digest
    assert REPORT.scores == {
        "crows_pairs[en]": LockedScore(
            "stereotype_preference", 60.48, "%", 50, 1508, (57.99, 62.92)
        ),
        "seat[en]": LockedScore("mean_absolute_effect", None, "d", 50, 1508, None),
    }
    assert (REPORT.suites, REPORT.languages, REPORT.seed) == (("@social",), ("en",), 3)
    for settings in ({}, MADE.settings | {"seed": "3"}, MADE.settings | {"requested": [1]}):
        with pytest.raises(ReportError, match="does not say how it was measured"):
            LockedReport.of(replace(MADE, settings=settings), "published")
    bare = replace(MADE, suites=(), withheld=Withheld("sha256:0", finite=True))
    kept = LockedReport.of(bare, "published")
    assert (kept.scores, kept.withheld) == ({}, True)
    said = printed(locks.locked(replace(LOCKED, report=kept), None, Path("f"), ()))
    assert "its scores are withheld" in said


# Verdicts


def moved(**more: Any) -> ModelFingerprint:
    return replace(HEAD, revision="2" * 40, **more)


@pytest.mark.parametrize(
    ("now", "verdict", "code", "words"),
    [
        (HEAD, "unchanged", 0, ["111111111111, locked 2026-11-28"]),
        (moved(), "moved", 0, ["111111111111 → 222222222222", "the same model"]),
        (moved(weights_sha256="f"), "changed", 1, ["another model: weights changed"]),
        (
            moved(weights_sha256="f", tokenizer_sha256=None, code_sha256="x"),
            "changed",
            1,
            ["another model: weights, tokenizer and remote code changed"],
        ),
        # Whatever the Hub says of its commits.
        (replace(HEAD, config_sha256="f"), "changed", 1, ["configuration changed"]),
    ],
)
def test_what_became_of_a_model(
    now: ModelFingerprint, verdict: str, code: int, words: list[str]
) -> None:
    found = Checked(LOCKED, now, REPORT)
    assert (found.verdict, found.exit_code) == (verdict, code)
    said = printed(locks.checked(found))
    assert [w for w in (f"org/model  {verdict}", *words) if w not in said] == []


def test_a_model_of_which_nothing_is_known() -> None:
    found = Checked(LOCKED, error=HubNotReached("the Hub did not answer.", "Try again."))
    assert (found.verdict, found.exit_code) == ("unknown", 3)
    said = printed(locks.checked(found))
    assert said.splitlines() == ["org/model  unknown", "  the Hub did not answer.", "  Try again."]


def test_files_that_differ() -> None:
    files = {
        "config.json": "git:2",
        "model.safetensors": "sha256:9",
        "bias/current.json": "git:5",
        "bias/0/report.json": "git:6",
        "new.txt": "git:7",
    }
    found = FileChanges.between(HEAD.files, files)
    assert found == FileChanges(
        ("model.safetensors",),
        ("bias/0/report.json", "bias/current.json", "new.txt"),
        ("README.md",),
    )
    said = printed(locks.checked(Checked(LOCKED, moved(weights_sha256="f", files=files))))
    assert said.splitlines()[2:5] == [
        "  changed: model.safetensors",
        "  added: new.txt and 2 files below bias/",
        "  removed: README.md",
    ]
    many = {f"{n:02}.txt": "git:1" for n in range(30)}
    said = printed(locks.checked(Checked(LOCKED, moved(files=HEAD.files | many))))
    assert "added: 00.txt, " in said
    assert "11.txt and 18 more" in said
    assert "12.txt" not in said


def test_an_adapter_and_its_base() -> None:
    locked = Locked("org/adapter", "2026-11-28", ADAPTED)
    adapter = AdapterIdentity("org/adapter", "3" * 40, "f" * 64, "e" * 64)
    now = replace(ADAPTED, adapter=adapter, adapter_files={"adapter_config.json": "git:5"})
    found = Checked(locked, now)
    assert found.verdict == "changed"
    said = printed(locks.checked(found))
    assert "111111111111 + 222222222222 → 111111111111 + 333333333333" in said
    assert "another model: weights of the adapter changed" in said
    assert "changed: org/adapter: adapter_config.json" in said
    assert pinned("org/adapter", now) == f"org/base@{'1' * 40}+org/adapter@{'3' * 40}"
    assert pinned("org/model@v1", HEAD) == f"org/model@{'1' * 40}"


def test_scores_beside_those_that_are_published_now() -> None:
    other = replace(
        REPORT,
        digest=f"sha256:{'7' * 64}",
        scores={"crows_pairs[en]": replace(REPORT.scores["crows_pairs[en]"], value=51.0)},
    )
    said = printed(locks.checked(Checked(LOCKED, moved(weights_sha256="f"), other)))
    assert "now: report 777777777777, published" in said
    rows = {line.split()[0]: line.split() for line in said.splitlines() if "[en]" in line}
    assert rows["crows_pairs[en]"][4:6] == ["60.5", "%"]
    assert rows["crows_pairs[en]"][10:12] == ["51.0", "%"]
    assert rows["seat[en]"][-1] == "–"


# The command


def test_the_gravest_exit_code_counts() -> None:
    assert max([0, 1, 0], key=GRAVITY.index) == 1
    assert max([1, 3, 0], key=GRAVITY.index) == 3
    assert max([3, 2, 1], key=GRAVITY.index) == 2


def test_options_of_a_run() -> None:
    assert {*OF_LOCK} - {*OPTIONS_OF_A_RUN} == {"config"}
    check_options(["config"], runs=False)
    check_options(["device", "seed"], runs=True)
    with pytest.raises(UsageError, match="--device says how to measure"):
        check_options(["config", "device"], runs=False)


def test_measured_as_the_locked_report_was() -> None:
    kept = replace(REPORT, suites=("seat",), languages=("fr",), profile="quick", seed=3, chat="off")
    locked = replace(LOCKED, report=kept)
    mine = Settings(suites=("bbq",), chat="on", device="cpu")
    found = _as_locked(mine, locked, ["device"])
    assert (found.suites, found.languages, found.profile) == (("seat",), ("fr",), "quick")
    assert (found.seed, found.chat, found.device) == (3, "off", "cpu")
    with pytest.raises(UsageError, match="--suite: the locked scores of org/model"):
        _as_locked(mine, locked, ["suites"])
    same = Settings(suites=("seat",))
    assert _as_locked(same, locked, ["suites"]).suites == ("seat",)
    # Nothing was measured: as the user says.
    assert _as_locked(mine, replace(LOCKED, report=None), ["suites"]) is mine
    # The template may have gone, which is no mistake of the user's.
    chatted = replace(locked, report=replace(kept, chat="on"))
    assert _as_locked(same, chatted, []).chat == "auto"


def test_only_models_of_the_hub_can_be_locked(tmp_path: Path) -> None:
    for text in ("demo", str(tmp_path), f"org/base+{tmp_path}"):
        with pytest.raises(UsageError, match="only models of the Hub can be locked"):
            lock(ModelRef.parse(text), "2026-11-28")
    with pytest.raises(ModelError, match="not in the cache"):
        lock(ModelRef.parse("org/name"), "2026-11-28")
