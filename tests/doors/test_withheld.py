"""Runs whose scores are not published: nothing of them is in any file or on any stream."""

import hashlib
import json
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

# Sessions in this process drop what they import; these are to stay the same.
import pytest_bias.engine.session
import pytest_bias.pytest_plugin.session
import pytest_bias.runs.finishing
from commands import Command, Ran, finish, read, start, statuses
from pytest_bias.emit.wording import interval, value
from pytest_bias.reports.folder import read_report

# With few draws numbers are short, and stand in texts by chance.
pytestmark = pytest.mark.all_draws

LIMIT = "limits: {template_association.association: {max_distance: 0.1}}\n"
SUITES = ("--suite", "template_association", "--suite", "seat[en]")
SALT = "withheld-salt.txt"

TIMES = re.compile(r"in \d+\.\d s|Took .*?\.|[\d.]+s\b|in [\d.]+s")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Return the run with scores, whose limit is exceeded."""
    folder = tmp_path_factory.mktemp("full")
    (folder / "pytest-bias.yaml").write_text(LIMIT)
    return finish(start("run", "demo", *SUITES, "--out", "out", folder=folder), folder).done(1)


@pytest.fixture
def limited(tmp_path: Path) -> Path:
    """Return the present folder, with the limit that is exceeded."""
    (tmp_path / "pytest-bias.yaml").write_text(LIMIT)
    return tmp_path


def secrets(full: Path) -> Iterator[str]:
    """Yield all that must not appear: every number of the run, group, item and digest."""
    report = read_report(full)
    yield report.digest.removeprefix("sha256:")
    for suite in report.suites:
        if suite.records_sha256:
            yield suite.records_sha256
        for record in suite.records:
            yield record.item
            yield record.cluster
            yield from record.by.values()
            yield from map(repr, (record.value, *record.detail.values()))
        for score in suite.scores:
            yield from score.by.values()
            yield value(score)
            yield interval(score)
            yield from map(repr, (score.value, score.p_value, *(score.interval or ())))


@cache
def hidden(full: Path) -> re.Pattern[str]:
    """Return what finds secrets: all that can be told from other text, as whole words.

    Words that stand in the report without its scores (keys, names of suites) are no secrets.
    """
    plain = read(full / "report.json")
    for suite in plain["suites"]:
        suite["scores"], suite["records"] = [], None
    public = set(re.findall(r"\w+", json.dumps({**plain, "digest": "", "run": {}})))
    found = {s for s in secrets(full) if len(s) > 3} - public - {"None", "True", "False"}
    found = {s for s in found if not re.fullmatch(r"-?\d+\.0", s)}
    assert len(found) > 1000
    return re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, sorted(found)))})(?!\w)")


def assert_hidden(text: str, full: Path, where: object) -> None:
    """Assert that no number, group or item of the run with scores is in a text."""
    found = hidden(full).search(text)
    assert not found, (where, found)


def texts(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file below a folder as text, without the time that the run took."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        text = path.read_bytes().decode(errors="replace")
        if path.suffix == ".html":
            # Words of style sheets, such as white, are also names of groups.
            text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
        if path.name == "report.json":
            plain = json.loads(text)
            del plain["run"]["cost"], plain["run"]["environment"]
            text = json.dumps(plain, ensure_ascii=False)
        yield path, TIMES.sub("", text)


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


FILES = {
    *("report.json", "report.html", "decision.json", "summary.md", "card.md", SALT),
    *("badges/social-bias-evaluated.svg", "badges/social-bias-evaluated.json"),
}


def sealed(folder: Path, full: Ran) -> str:
    """Return the digest that the salt of a folder and the full report give, computed by hand."""
    salt = bytes.fromhex((folder / SALT).read_text().strip())
    assert len(salt) == 32
    digest = full.report["digest"].encode("ascii")
    return f"sha256:{hashlib.sha256(salt + digest).hexdigest()}"


def assert_withheld(folder: Path, full: Ran, *streams: str) -> None:
    """Assert that a run left what a withheld run leaves, and nothing of its scores."""
    assert files(folder) == FILES
    report = read(folder / "report.json")
    expected = {
        name: status if status != "scored" else "withheld"
        for name, status in statuses(full.report).items()
    }
    assert statuses(report) == expected
    assert "withheld" in expected.values()
    assert report["withheld"] == {"digest": sealed(folder, full), "finite": True}
    assert [(s["scores"], s["records"]) for s in report["suites"]] == [([], None)] * len(expected)
    assert report["run"]["key"] == full.report["run"]["key"]
    decision = read(folder / "decision.json")
    assert (decision["status"], decision["exit_code"]) == ("exceeded", 1)
    (outcome,) = decision["outcomes"]
    assert (outcome["verdict"], outcome["fails"], outcome["value"]) == ("exceeded", True, None)
    assert decision["report"] == report["digest"]
    badge = read(folder / "badges" / "social-bias-evaluated.json")
    assert badge["message"] == "2 of 3 suites · scores not published"
    salt = (folder / SALT).read_text().strip()
    for where, text in [*texts(folder), *(("stream", TIMES.sub("", s)) for s in streams)]:
        assert_hidden(text, full.at, where)
        assert salt not in text or where == folder / SALT


@pytest.mark.nightly
def test_the_search_finds_what_a_run_with_scores_shows(full: Ran) -> None:
    """Otherwise that it finds nothing would say nothing."""
    found = {path.relative_to(full.at).as_posix(): text for path, text in texts(full.at)}
    names = ("report.json", "report.html", "decision.json", "summary.md", "badges/seat-en.svg")
    names += ("card.md", "model-index.yaml")
    for text in (*(found[name] for name in names), TIMES.sub("", full.out)):
        assert hidden(full.at).search(text)


def test_no_score_is_anywhere(full: Ran, bias: Command, limited: Path) -> None:
    ran = bias("run", "demo", *SUITES, "--withhold-scores", "--out", "out").done(1)
    assert_withheld(limited / "out", full, ran.out, ran.err)
    assert stat.S_IMODE((limited / "out" / SALT).stat().st_mode) == 0o600
    assert "EXCEEDED" in ran.said
    assert "A limit of this project is exceeded." in ran.said
    assert "SEAT en: measured in" in ran.said
    assert f"out/{SALT}: keep it private" in ran.said


@pytest.mark.slow
def test_the_same_run_again_has_the_same_digest(full: Ran, bias: Command, limited: Path) -> None:
    words = ("run", "demo", *SUITES, "--withhold-scores", "--out")
    bias(*words, "out").done(1)
    first = read(limited / "out" / "report.json")
    bias(*words, "out", "--fresh").done(1)
    assert read(limited / "out" / "report.json")["digest"] == first["digest"]
    bias(*words, "other").done(1)
    assert read(limited / "other" / "report.json")["withheld"] != first["withheld"]
    # A salt that is given away for one report does not open another.
    salt = (limited / "out" / SALT).read_text()
    other = ("--suite", "structure", "--out", "out", "--fresh", "--withhold-scores")
    bias("run", "demo", *other).done(3)
    assert (limited / "out" / SALT).read_text() != salt


@pytest.mark.nightly
def test_scores_of_the_same_run_disappear_and_do_not_come_back(
    full: Ran, bias: Command, limited: Path
) -> None:
    shutil.copytree(full.at, limited / "out")
    words = ("run", "demo", *SUITES, "--out", "out")
    bias(*words, "--withhold-scores").done(1)
    assert_withheld(limited / "out", full)
    refused = bias(*words).refused(2, "out holds a report whose scores are withheld", "--out keeps")
    assert "Loading" not in refused.out
    assert_withheld(limited / "out", full)
    bias(*words, "--fresh").done(1)
    assert files(limited / "out") == files(full.at) | {SALT}
    bias("verify", "out").done(0)


@pytest.mark.slow
def test_fresh_takes_records_away_also_where_the_report_is_broken(
    full: Ran, bias: Command, limited: Path
) -> None:
    shutil.copytree(full.at, limited / "out")
    (limited / "out" / "report.json").write_text("{")
    bias("run", "demo", *SUITES, "--out", "out", "--withhold-scores", "--fresh").done(1)
    assert_withheld(limited / "out", full)


@pytest.mark.slow
def test_several_processes(full: Ran, bias: Command, limited: Path) -> None:
    words = ("run", "demo", *SUITES, "--withhold-scores", "--devices", "cpu,cpu", "--out", "out")
    ran = bias(*words).done(1)
    assert_withheld(limited / "out", full, ran.out, ran.err)


@pytest.mark.slow
def test_what_is_kept_for_going_on(
    bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("run", "demo", *SUITES, "--withhold-scores", "--out", "out")
    unfinished = tmp_path / "out" / "unfinished" / "page"
    take = pytest_bias.suites.measures.measure_items

    def interrupted(measure, model, items):  # type: ignore[no-untyped-def]
        if unfinished.exists():
            raise KeyboardInterrupt
        unfinished.mkdir(parents=True)
        return take(measure, model, items)

    with monkeypatch.context() as patched:
        patched.setattr("pytest_bias.engine.session.measure_items", interrupted)
        assert bias(*words).code == 130
    report = read(tmp_path / "out" / "report.json")
    assert set(statuses(report).values()) == {"withheld", "inconclusive"}
    assert unfinished.exists()
    salt = (tmp_path / "out" / SALT).read_text()
    bias(*words).done(0)
    assert not unfinished.parent.exists()
    assert (tmp_path / "out" / SALT).read_text() == salt


@pytest.mark.slow
def test_a_change_is_decided_on_and_not_shown(full: Ran, bias: Command, tmp_path: Path) -> None:
    limit = "limits: {template_association.association: {max_regression: {points: 1}}}"
    (tmp_path / "pytest-bias.yaml").write_text(limit)
    words = ("run", "demo", *SUITES, "--baseline", full.at, "--withhold-scores", "--out", "out")
    ran = bias(*words).done(0)
    assert read(tmp_path / "out" / "decision.json")["status"] == "held"
    for text in (ran.said, *(text for _, text in texts(tmp_path / "out"))):
        assert "Since" not in text
        assert_hidden(TIMES.sub("", text), full.at, "change")
    # A report without scores is no baseline.
    other = bias("run", "demo", *SUITES, "--baseline", "out", "--out", "other").done(3)
    assert "the scores of the baseline out are withheld" in other.said


# Under pytest

PYTEST = ("--pyargs", "bias_suites", "--bias-model", "demo", "--bias-withhold-scores")
PYTEST = (*PYTEST, "--bias-out", "out", *(w.replace("--", "--bias-") for w in SUITES))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "workers",
    [
        pytest.param(("-p", "no:xdist"), id="one process"),
        pytest.param(("-n", "2"), id="workers", marks=pytest.mark.slow),
        pytest.param(
            ("-n", "2", "--bias-devices", "cpu,cpu"),
            id="workers with devices",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_pytest_shows_no_score(
    workers: tuple[str, ...], full: Ran, pytester: pytest.Pytester
) -> None:
    (pytester.path / "pytest-bias.yaml").write_text(LIMIT)
    words = ("-p", "no:cacheprovider", "-W", "always", "-vv", "-l", "--junitxml", "junit.xml")
    ran = pytester.runpytest_subprocess(*words, *PYTEST, *workers)
    assert ran.ret == 1
    text = ran.stdout.str() + ran.stderr.str()
    junit = (pytester.path / "junit.xml").read_text()
    shown = re.sub(r'time="[\d.]+"|timestamp="[^"]+"', "", junit)
    assert_withheld(pytester.path / "out", full, text, shown)
    assert "<property " not in junit
    assert "EXCEEDED" in text
    if "--bias-devices" not in workers:
        said = "template_association.association is EXCEEDED: scores not published"
        assert said in " ".join(text.split())
        assert said in junit


BY_HAND = """
def test_no_such_group(bias_run):
    bias_run.assert_alike("seat", {"test": "bundled-weat6"}, {"test": "none"}, within=0.0)

def test_alike(bias_run):
    groups = {"axis": "gender"}, {"axis": "age"}
    bias_run.assert_alike("template_association", *groups, within=0.01)
"""


@pytest.mark.slow
def test_a_failing_comparison_of_groups_shows_no_score(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BY_HAND)
    words = ("-p", "no:cacheprovider", "-l", "--bias-model", "demo")
    open_run = pytester.runpytest_subprocess(*words, "--bias-out", "open")
    shut = pytester.runpytest_subprocess(*words, "--bias-out", "out", "--bias-withhold-scores")
    open_run.assert_outcomes(failed=2)
    shut.assert_outcomes(failed=2)
    shown, left = open_run.stdout.str(), shut.stdout.str()
    for leak in (r"difference -?\d", r"Estimate\(", r"SuiteResult\(", r"value=-?\d"):
        assert re.search(leak, shown)
        assert not re.search(leak, left)
    assert "difference against a limit of ±0.01: exceeded" in left


# What can be done with what is left


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory, full: Ran) -> Path:
    """Return the folder of a withheld run."""
    folder = tmp_path_factory.mktemp("left")
    words = ("run", "demo", *SUITES, "--withhold-scores", "--out", "out")
    finish(start(*words, folder=folder), folder).done(0)
    return folder / "out"


@pytest.fixture
def copy(left: Path, tmp_path: Path) -> Path:
    """Return a copy of it."""
    return Path(shutil.copytree(left, tmp_path / "out"))


@pytest.mark.slow
def test_verify_says_what_cannot_be_checked(bias: Command, copy: Path) -> None:
    ran = bias("verify", "out").done(3)
    assert re.search(r"withheld scores +unknown +need the full report", ran.out)
    assert re.search(r"report +holds", ran.out)
    assert re.search(r"badges +holds +2 files", ran.out)
    assert "fails" not in ran.out


@pytest.mark.nightly
def test_salt_and_full_report_show_what_was_measured(
    full: Ran, bias: Command, copy: Path, tmp_path: Path
) -> None:
    for whole in (full.at, full.at / "report.json"):
        ran = bias("verify", "out", "--full", whole).done(0)
        assert re.search(r"withheld scores +holds +they are those of the report sha256:", ran.out)
    bias("run", "demo-neutral", *SUITES, "--out", "neutral").done(0)
    ran = bias("verify", "out", "--full", "neutral").done(1)
    assert "give another withheld report" in ran.out
    (copy / SALT).write_text("ab" * 32)
    bias("verify", "out", "--full", full.at).done(1)
    (copy / SALT).write_text("no salt")
    assert "holds no salt" in bias("verify", "out", "--full", full.at).done(1).out
    (copy / SALT).unlink()
    ran = bias("verify", "out", "--full", full.at).done(3)
    assert f"there is no {SALT} beside the report" in ran.out
    bias("verify", full.at, "--full", full.at).refused(2, "withholds no scores")


def _records(folder: Path, full: Path) -> None:
    (folder / "records").mkdir()
    shutil.copy(full / "records" / "seat[en].parquet", folder / "records")


def _badge(folder: Path, full: Path) -> None:
    shutil.copy(full / "badges" / "seat-en.svg", folder / "badges")


def _finite(folder: Path, full: Path) -> None:
    text = (folder / "report.json").read_text().replace('"finite": true', '"finite": false')
    (folder / "report.json").write_text(text)


@pytest.mark.parametrize(
    ("tamper", "what"),
    [(_records, "they are there"), (_badge, "seat-en.svg"), (_finite, "its digest is")],
)
def test_verify_finds_what_does_not_belong(
    tamper: Callable[[Path, Path], None], what: str, full: Ran, bias: Command, copy: Path
) -> None:
    tamper(copy, full.at)
    assert what in bias("verify", "out").done(1).out


def test_render_and_compare(full: Ran, bias: Command, copy: Path, tmp_path: Path) -> None:
    for what in ("badges", "summary"):
        bias("render", "out", "--to", what, "--out", "again").done(0)
    assert files(tmp_path / "again") == {n for n in FILES if "badges" in n or "summary" in n}
    for name in ("svg", "json"):
        badge = Path("badges") / f"social-bias-evaluated.{name}"
        assert (tmp_path / "again" / badge).read_bytes() == (copy / badge).read_bytes()
    assert "it is withheld now" in bias("compare", "out", full.at).done(3).out
    assert "in the baseline it is withheld" in bias("compare", full.at, "out").done(3).out


@pytest.mark.slow
def test_merge_withholds_what_shards_hold(full: Ran, bias: Command, limited: Path) -> None:
    for number in (1, 2):
        bias("run", "demo", *SUITES, "--shard", f"{number}/2", "--out", f"s{number}").done(0)
    ran = bias("merge", "s1", "s2", "--out", "out", "--withhold-scores").done(1)
    key = full.report["run"]["key"]
    report = read(limited / "out" / "report.json")
    # The run of the whole, with its key and its digest: scores do not depend on who may read them.
    assert report["run"]["key"] == key
    assert report["withheld"]["digest"] == sealed(limited / "out", full)
    assert files(limited / "out") == FILES
    for where, text in (*texts(limited / "out"), ("out", TIMES.sub("", ran.out))):
        assert_hidden(text, full.at, where)
    bias("merge", "s1", "out").refused(3, "are withheld: nothing can be joined")
    bias("merge", "s2", "s1", "--out", "out").refused(2, "whose scores are withheld")


# Mistakes


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("--show-items",), "--withhold-scores and --show-items cannot be given together."),
        (("--with-texts",), "--withhold-scores and --with-texts cannot be given together."),
        (("--shard", "1/2"), "--withhold-scores and --shard 1/2 cannot be given together."),
    ],
    ids=" ".join,
)
def test_what_shows_items_is_refused(bias: Command, words: tuple[str, ...], answer: str) -> None:
    ran = bias("run", "demo", "--withhold-scores", *words)
    ran.refused(2, answer)
    assert ran.reports == []


def test_a_broken_salt_is_found_before_the_model_runs(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / SALT).write_text("pepper")
    ran = bias("run", "demo", *SUITES, "--withhold-scores", "--out", "out")
    ran.refused(2, f"out/{SALT} holds no salt")
    assert "Loading" not in ran.out
