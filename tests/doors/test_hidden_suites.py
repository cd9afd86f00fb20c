"""The items of a hidden suite are nowhere: commands, whatever goes wrong, and the Action's steps.

Every text of the suites here has one word, which then is looked for in everything that is left.
"""

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from action_step import Step
from commands import headline, read, suite
from github_server import GitHub, serving
from hidden import (
    ITEMS,
    OTHER_SALT,
    SALT,
    SIZES,
    WORD,
    Ended,
    Machine,
    lines,
    rows,
)
from pytest_bias.records.report import sha256
from word_classifier import word_classifier

Tiny = Callable[[str], Path]
New = Callable[[str], Machine]

MORE = "more is not disclosed for a hidden suite"


# The search


def parquet() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": [f"a {WORD}"] * 99}), stream, compression="zstd")
    return stream.getvalue()


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a", content)
    return stream.getvalue()


def arrays() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, a=np.array([f"a {WORD}"]))
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        f"a {WORD.upper()}!".encode(),
        WORD.encode("utf-16"),
        gzip.compress(WORD.encode() * 9),
        zipped(gzip.compress(WORD.encode() * 9)),
        arrays(),
        parquet(),
    ],
    ids=["text", "utf-16", "gzip", "gzip in zip", "npz", "parquet"],
)
def test_the_search_looks_into_everything(machine: New, content: bytes) -> None:
    found = machine("search")
    assert found.leaks("nothing") == []
    (found.work / "file").write_bytes(content)
    (found.work / f"a-{WORD}-b").touch()
    assert found.leaks("nothing", WORD) == ["said 1", f"work/a-{WORD}-b", "work/file"]


# A run, and what is made of it


@pytest.fixture(scope="module")
def here(machine: New) -> Machine:
    """Return the machine of the runs of a real model."""
    return machine("whole")


@pytest.fixture(scope="module")
def there(machine: New) -> Machine:
    """Return the machine whose suite is open."""
    return machine("open")


@pytest.fixture(scope="module")
def ran(
    here: Machine, there: Machine, bert_tiny: Path, tiny: Tiny, tmp_path_factory: Any
) -> dict[str, Ended]:
    """Return what came of a run that shows all it may, and of what is done before and after it."""
    (here.secret / "other.txt").write_text(OTHER_SALT, encoding="utf-8")
    file, other = here.suite("kept"), here.suite("kept", file="other", more="salt: other.txt")
    seen = there.work / there.suite("kept", visibility="open")
    called = here.suite(
        "called",
        lines(rows(sizes=CALLED)),
        kind="classification",
        place="path: called.jsonl\n  columns: {text: more}",
        more="role: toxicity\ngroup: kind\nleast: 6",
    )
    # Two of the sentences for the structural checks have to get other numbers.
    classifier = word_classifier(tmp_path_factory.mktemp("words") / "model", ["librarian", "nurse"])
    data = ("--data-dir", here.secret)
    run = ("run", bert_tiny, *data, "--suite")
    shown = ("--show-items", "--with-texts", "--baseline", tiny("bert"))
    commands = {
        "preview": ("suites", file, *data),
        "out": (*run, file, *shown, "--out", "out"),
        "verify": ("verify", "out", "--suite", file),
        "card": ("render", "out", "--to", "card", "--out", "card"),
        "page": ("render", "out", "--to", "html", "--out", "page"),
        "first": (*run, file, "--shard", "1/2", "--out", "first"),
        "second": (*run, file, "--shard", "2/2", "--out", "second"),
        "joined": ("merge", "first", "second", "--suite", file, "--out", "joined"),
        "other": (*run, other, "--out", "other"),
        "called": ("run", classifier, *data, "--suite", called, "--out", "called"),
        "open": (*run, seen, "--with-texts", "--out", there.work / "out"),
    }
    ended = here.several(*commands.values())
    return dict(zip(commands, ended.parts, strict=True))


CALLED = {"plain": 16, "other": 14, "third": 12, f"{WORD} few": 4}
"""Of each group two texts have the word nurse, and of the last none."""


def kept(folder: Path) -> dict[str, Any]:
    return suite(read(folder / "report.json"), "kept")


def test_nothing_that_is_kept_or_told_has_an_item(here: Machine, ran: dict[str, Ended]) -> None:
    codes = {name: ended.code for name, ended in ran.items()}
    # Records that are not there cannot be checked.
    assert codes == dict.fromkeys(ran, 0) | {"verify": 3}, ran
    assert here.leaks(*(ended.said for ended in ran.values())) == []
    for name in ("card/card.md", "page/report.html", "joined/report.json"):
        assert (here.work / name).is_file()
    (records,) = (here.work / "out" / "records").iterdir()
    assert records.name == "structure[all].parquet"


def test_a_preview_counts(ran: dict[str, Ended]) -> None:
    said = " ".join(ran["preview"].said.split())
    assert "46 items of 23 frames, 46 of them measurable" in said
    assert "kind: plain 22 Dry run" in said


def test_two_models_are_compared_and_no_item_is_named(here: Machine, ran: dict[str, Ended]) -> None:
    change = read(here.work / "out" / "decision.json")["change"]
    assert re.search(r"kept: preference .* of 46 items changed", change["sentence"])
    page = (here.work / "out" / "report.html").read_text(encoding="utf-8")
    assert "of 46 items changed" in page
    (baseline,) = (here.work / "bias-report").iterdir()
    assert headline(read(baseline / "report.json"), "kept")["n"] == ITEMS


def test_items_of_an_open_suite_are_found(there: Machine, ran: dict[str, Ended]) -> None:
    found = {Path(path).relative_to("work/out").as_posix() for path in there.leaks()}
    assert {"records/kept[en].parquet", "report.html", "report.json"} <= found


def test_a_report_says_what_is_hidden(here: Machine, ran: dict[str, Ended]) -> None:
    found = kept(here.work / "out")
    digest = sha256((here.secret / "kept.jsonl").read_bytes())
    expected = {"visibility": "hidden", "least": 20, "groups_left_out": 2, "n_items": ITEMS}
    assert {key: found["data"][key] for key in expected} == expected
    assert found["data"]["sha256"] == sha256(bytes.fromhex(SALT) + digest.encode())
    assert found["records"] is None


def test_digests_are_salted(here: Machine, there: Machine, ran: dict[str, Ended]) -> None:
    ours, others, seen = (
        kept(folder)["data"]
        for folder in (here.work / "out", here.work / "other", there.work / "out")
    )
    for key in ("sha256", "items_sha256"):
        for salt, salted in ((SALT, ours), (OTHER_SALT, others)):
            assert salted[key] == sha256(bytes.fromhex(salt) + seen[key].encode())


def test_scores_are_those_of_the_open_suite(
    here: Machine, there: Machine, ran: dict[str, Ended]
) -> None:
    found, seen = (kept(machine.work / "out")["scores"] for machine in (here, there))
    told = [s for s in seen if s["by"] in ({}, {"kind": "plain"})]
    assert found == told
    assert len(told) == 6
    assert {tuple(s["by"].values()) for s in seen} == {(), *((kind,) for kind in SIZES)}


def test_parts_are_joined_to_the_same_report(here: Machine, ran: dict[str, Ended]) -> None:
    out, first, second, joined = (
        read(here.work / name / "report.json") for name in ("out", "first", "second", "joined")
    )
    assert suite(first, "kept") == suite(out, "kept")
    assert suite(second, "kept")["status"] == "skipped"
    assert joined["digest"] == out["digest"]


def test_a_gap_is_none_to_a_group_that_is_left_out(here: Machine, ran: dict[str, Ended]) -> None:
    found = suite(read(here.work / "called" / "report.json"), "called")
    assert found["data"]["groups_left_out"] == 2
    gap = next(s for s in found["scores"] if s["headline"])
    assert (gap["value"], gap["n"]) == (pytest.approx(100 * (2 / 14 - 2 / 16)), 14 + 16)
    named = {name for s in found["scores"] for name in s["by"].values()}
    assert named == {"plain", "other"}


@pytest.mark.slow
def test_other_ways_to_measure_keep_no_item(machine: New, tiny: Tiny, bad: Path) -> None:
    found, model = machine("ways"), tiny("bert")
    file, quotes = found.suite("kept"), found.suite("quotes", lines(rows("quotes")))
    data = ("--data-dir", found.secret)
    run = ("run", model, *data, "--suite", file)
    shared = ("run", bad, "--trust-remote-code", *data, "--suite", quotes, "--devices", "cpu,cpu")
    ended = found.several(
        (*run, "--out", "out"),
        ("reproduce", "out", "--model", model, *data, "--suite", file, "--out", "again"),
        (*run, "--withhold-scores", "--out", "withheld"),
        (*run, "--profile", "quick", "--budget", "60s", "--out", "quick"),
        (*run, "--devices", "cpu,cpu", "--out", "shared"),
        (*shared, "--out", "failed"),
        ("PYTEST_BIAS_DEBUG=1", *shared, "--out", "debug"),
    )
    assert [part.code for part in ended.parts] == [0, 0, 0, 0, 0, 3, 3], ended.said
    digests = {read(found.work / name / "report.json")["digest"] for name in ("out", "shared")}
    assert len(digests) == 1
    assert ended.said.count(f"ValueError while its items were measured; {MORE}.") == 2
    assert found.leaks(ended.said) == []


# What goes wrong


@pytest.fixture(scope="module")
def wrong(machine: New, bad: Path) -> tuple[Machine, Ended]:
    """Return what came of suites that go wrong, each in its own way: interrupted, and killed."""
    found, whole = machine("wrong"), lines(rows())
    lacking = [{WORD if k == "less" else k: v for k, v in row.items()} for row in rows()]
    contents: dict[str, str | bytes] = {
        "few": lines(rows(n=12)),
        "broken": whole + f'{{"name": "{WORD}\n',
        "latin": f"{whole}{WORD}\xe9".encode("latin-1"),
        "lacking": lines(lacking),
        **{ending: lines(rows(ending)) for ending in ENDINGS},
    }
    files = {name: found.suite(name, content) for name, content in contents.items()}
    run = ("run", bad, "--trust-remote-code", "--data-dir", found.secret)
    together = [word for name in files if name in TOLD for word in ("--suite", files[name])]
    return found, found.several(
        (*run, *together, "--out", "out"),
        *(("PYTEST_BIAS_DEBUG=1", *run, "--suite", files[name]) for name in ("quotes", "broken")),
        (*run, "--suite", files["exits"]),
        (*run, "--suite", files["dies"]),
    )


ENDINGS = ("quotes", "fills", "chains", "stops", "exits", "dies")
TOLD = {
    "few": "12 items were scored; of fewer than 20 no score is told",
    **dict.fromkeys(
        ("broken", "latin", "lacking"), f"DataError while its items were read; {MORE}."
    ),
    "quotes": f"MeasurementError: ValueError while its items were measured; {MORE}.",
    "fills": f"MeasurementError: MeasurementError while its items were measured; {MORE}.",
    "chains": f"MeasurementError: RuntimeError while its items were measured; {MORE}.",
    "stops": "interrupted before it was measured",
}


@pytest.mark.nightly
def test_nothing_that_goes_wrong_leaves_an_item(wrong: tuple[Machine, Ended]) -> None:
    found, ended = wrong
    assert found.leaks(ended.said) == []
    assert len(found.secrets) > 9 * ITEMS


def test_a_reason_is_the_name_of_an_error(wrong: tuple[Machine, Ended]) -> None:
    report = read(wrong[0].work / "out" / "report.json")
    told = {s["name"]: s["reason"] for s in report["suites"] if s["name"] != "structure"}
    assert told == TOLD


def test_few_items_have_no_score(wrong: tuple[Machine, Ended]) -> None:
    found = suite(read(wrong[0].work / "out" / "report.json"), "few")
    assert (found["status"], found["scores"]) == ("inconclusive", [])


def test_an_interrupt_ends_a_run(wrong: tuple[Machine, Ended]) -> None:
    interrupted, *_ = wrong[1].parts
    assert interrupted.code == 130, interrupted.said
    assert read(wrong[0].work / "out" / "report.json")["run"]["interrupted"]


def test_to_debug_is_to_hear_no_more(wrong: tuple[Machine, Ended]) -> None:
    _, quotes, broken, exits = wrong[1].parts
    assert (quotes.code, broken.code, exits.code) == (3, 3, 1), wrong[1].said
    assert f"error: ValueError while its items were measured; {MORE}.\n" in quotes.said
    assert f"DataError while its items were read; {MORE}." in broken.said
    assert exits.said.endswith("exits[en]: 46 items …\n")


@pytest.mark.cold
def test_a_run_that_is_killed_has_kept_no_answer(wrong: tuple[Machine, Ended]) -> None:
    found, ended = wrong
    assert ended.code == -9, ended.said
    assert ended.said.endswith("dies[en]: 46 items …\n")
    assert list(found.folder.rglob("*.npz")) == []


# The Action


def test_steps_of_the_action_tell_no_item(
    here: Machine, ran: dict[str, Ended], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "event.json").write_text('{"pull_request": {"number": 7}}', encoding="utf-8")
    with serving(GitHub(repository="org/name")) as github:
        github.push("main", {"README.md": b"# A repository\n"})
        files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_EVENT_PATH": "event.json"}
        about = {name: str(tmp_path / file) for name, file in files.items()}
        step = Step(tmp_path, {**github.env, **about, "GITHUB_TOKEN": "job-token"})
        out = str(here.work / "out")
        measured = step("measure", BIAS_PREPARE_COMMAND="[]", BIAS_PREPARE_OUT=out)
        given = {"BIAS_PREPARE_OUT": out, "BIAS_MEASURE_REPORT": measured["report"]}
        step("publish", **given, INPUT_BADGES_BRANCH="badges", GITHUB_EVENT_NAME="push")
        step("tell", **given, GITHUB_EVENT_NAME="pull_request")
        step("decide", BIAS_MEASURE_EXIT_CODE=measured["exit-code"])
        pushed = github.files("badges")
    assert "kept[en]" in measured["scores"]
    assert "bias/report.json" in pushed
    (comment,) = github.comments
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "kept" in comment.body
    assert "kept" in summary
    told = (repr(measured), comment.body, summary, *capfd.readouterr(), *pushed.values())
    assert here.leaks(*told) == []
