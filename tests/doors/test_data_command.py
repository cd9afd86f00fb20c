"""``pytest-bias data fetch`` and ``data check``: a machine made ready, seen from the outside."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Ran, finish, start, suite
from file_server import Answer, FileServer, serving
from hub_server import Hub, Repository
from hub_server import serving as serving_hub
from pytest_bias.data.sources import cache_folder
from pytest_bias.records.report import sha256
from pytest_bias.suites.catalogue import installed

COMMIT = "5" * 40
FILES = {
    "outside/one.csv": b"a,b\n1,2\n",
    "outside/two.csv": b"c,d\n3,4\n" * 500_000,
    "outside/closed.csv": b"closed\n",
    "outside/gone.csv": b"gone\n",
    "outside/pairs.csv": (
        b",sent_more,sent_less,stereo_antistereo,bias_type\n"
        b"0,She can cook .,He can cook .,stereo,gender\n"
        b"1,He can drive .,She can drive .,stereo,gender\n"
    ),
}
PROMPTS = b'{"text": "a prompt"}\n'

PACKAGE = """
from dataclasses import replace
from functools import partial

from bias_suites.social import crows_pairs
from pytest_bias.data.sources import DataFile, HubFile, Source
from pytest_bias.suites import Configuration, Suite

CLOSED = Source("org/closed", "1", "CC-BY-NC-4.0", consent=True)


def web(path, digest):
    return DataFile(path, f"{address}/{{path}}", digest)


def configuration(name, *files, **more):
    return Configuration(name, name[:2], None, files=files, **more)


ONE, TWO, SHUT, GONE, PAIRS = (web(path, digest) for path, digest in {sums}.items())
HUB = DataFile("outside/prompts.jsonl", None, None, HubFile("org/data", "{commit}", "p.jsonl"))
OWN = DataFile("outside/own.csv", None, "{own}")


def suite(name, *configurations, tags=()):
    return Suite(name, "1", name, "intrinsic", configurations, (), {{}}, tags)


SUITES = (
    suite(
        "outside",
        configuration("en", ONE),
        configuration("en-more", ONE, TWO, only_named=True),
        configuration("it", HUB),
        configuration("fr", SHUT, consents=(CLOSED,)),
        configuration("de", OWN),
        tags=("outer",),
    ),
    suite("lost", configuration("en", ONE, GONE), configuration("it", GONE)),
    replace(
        crows_pairs.SUITE,
        name="pairs",
        configurations=(
            Configuration(
                "en",
                "en",
                partial(
                    crows_pairs.load, name="en", file=PAIRS, source=Source("org/pairs", "1", "MIT")
                ),
                files=(PAIRS,),
            ),
        ),
    ),
)
"""


@pytest.fixture
def server() -> Iterator[FileServer]:
    """Serve the files, but for one that is gone."""
    with serving() as running:
        running.files |= {p: c for p, c in FILES.items() if p != "outside/gone.csv"}
        yield running


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Serve a dataset of the Hub."""
    files = {COMMIT: {"p.jsonl": PROMPTS}}
    with serving_hub(Hub({"datasets/org/data": Repository(files, {})})) as found:
        yield found


@pytest.fixture
def env(server: FileServer, hub: Hub, tmp_path: Path) -> dict[str, str]:
    """Install a package that brings two suites, and lead downloads to the servers."""
    folder = tmp_path / "site"
    about = folder / "outside-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[pytest_bias.suites]\noutside = outside:SUITES\n")
    sums = {path: sha256(content) for path, content in FILES.items()}
    text = PACKAGE.format(address=server.address, sums=sums, commit=COMMIT, own=sha256(b"own\n"))
    (folder / "outside.py").write_text(text)
    path = os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))
    home = {"HF_HOME": str(tmp_path / "home"), "PYTHONPATH": path.rstrip(os.pathsep)}
    return {**hub.env, **home}


Data = Callable[..., Ran]


@pytest.fixture
def data(command: Command, env: dict[str, str]) -> Data:
    """Return a function that runs ``pytest-bias data`` in a process of its own."""

    def run(*words: object, **more: Any) -> Ran:
        return command("data", *words, env={**env, **more})

    return run


def lines(ran: Ran) -> list[str]:
    return [line for line in ran.out.splitlines() if line.startswith(("outside[", "lost["))]


OUTSIDE = ("--suite", "outside[en]", "--suite", "outside[en-more]", "--suite", "outside[it]")


def test_fetch_makes_an_offline_machine_ready(
    data: Data, server: FileServer, hub: Hub, tmp_path: Path
) -> None:
    before = data("check", *OUTSIDE)
    assert before.code == 3
    assert lines(before) == [
        "outside[en]: missing: outside/one.csv",
        "outside[en-more]: missing: outside/one.csv, outside/two.csv",
        "outside[it]: missing: outside/prompts.jsonl",
    ]
    assert "pytest-bias data fetch downloads what is missing." in before.out
    assert server.asked == []
    fetched = data("fetch", *OUTSIDE).done()
    assert lines(fetched) == [
        "outside[en]: fetched: outside/one.csv",
        "outside[en-more]: in the cache: outside/one.csv; fetched: outside/two.csv",
        "outside[it]: fetched: outside/prompts.jsonl",
    ]
    assert "Fetching outside/two.csv (4.0 MB) …" in fetched.out
    server.asked.clear()
    hub.asked.clear()
    again = data("fetch", *OUTSIDE, "--offline").done()
    after = data("check", *OUTSIDE).done()
    assert lines(again) == lines(after)
    assert {line.split(": ")[1] for line in lines(after)} == {"in the cache"}
    assert (server.asked, hub.asked) == ([], [])


def test_everything_by_default_with_what_only_the_user_can_do_said(data: Data) -> None:
    ran = data("fetch", "--suite", "@outer").done()
    assert lines(ran) == [
        "outside[en]: fetched: outside/one.csv",
        "outside[en-more]: in the cache: outside/one.csv; fetched: outside/two.csv",
        "outside[it]: fetched: outside/prompts.jsonl",
        "outside[fr]: licence not accepted; missing: outside/closed.csv",
        "outside[de]: never fetched, your own copy only: outside/own.csv",
    ]
    assert "org/closed is under CC-BY-NC-4.0, which you have not accepted." in ran.out
    assert "In pytest-bias.yaml: accept_licences: {outside: CC-BY-NC-4.0}" in ran.out
    # Whoever names them wants them.
    named = data("fetch", "--suite", "outside", "--language", "fr")
    assert (named.code, len(lines(named))) == (3, 1)
    own = data("check", "--suite", "outside[de]")
    assert (own.code, len(lines(own))) == (3, 1)


def test_the_settings_say_which_suites_and_which_licences(data: Data, tmp_path: Path) -> None:
    (tmp_path / "pytest-bias.yaml").write_text(
        "suites: [outside]\n"
        "context: {languages: [fr, en-GB]}\n"
        "accept_licences: {outside: CC-BY-NC-4.0}\n"
    )
    assert lines(data("fetch").done()) == [
        "outside[en]: fetched: outside/one.csv",
        "outside[en-more]: in the cache: outside/one.csv; fetched: outside/two.csv",
        "outside[fr]: fetched: outside/closed.csv",
    ]
    assert lines(data("check", "--language", "fr").done()) == [
        "outside[fr]: in the cache: outside/closed.csv"
    ]


def test_a_folder_to_carry(data: Data, server: FileServer, tmp_path: Path) -> None:
    carried = tmp_path / "carried"
    (carried / "outside").mkdir(parents=True)
    (carried / "outside" / "one.csv").write_bytes(b"mine\n")
    words = (*OUTSIDE, "--data-dir", carried)
    assert lines(data("fetch", *words).done()) == [
        "outside[en]: your own copy, not the pinned bytes: outside/one.csv",
        "outside[en-more]: your own copy, not the pinned bytes: outside/one.csv; "
        "fetched: outside/two.csv",
        "outside[it]: fetched: outside/prompts.jsonl",
    ]
    found = {p.name: p.read_bytes() for p in (carried / "outside").iterdir()}
    two = FILES["outside/two.csv"]
    assert found == {"one.csv": b"mine\n", "two.csv": two, "prompts.jsonl": PROMPTS}
    # Another machine: no cache, no network.
    server.asked.clear()
    empty = {"PYTEST_BIAS_CACHE": str(tmp_path / "empty"), "HF_HUB_OFFLINE": "1"}
    data("check", *words, **empty, HF_HOME=str(tmp_path / "nobody")).done()
    assert server.asked == []


def test_what_cannot_be_fetched_is_named_and_the_rest_comes(data: Data) -> None:
    ran = data("fetch", "--suite", "lost")
    assert ran.code == 3
    assert lines(ran) == [
        "lost[en]: fetched: outside/one.csv; not fetched: outside/gone.csv",
        "lost[it]: not fetched: outside/gone.csv",
    ]
    assert "outside/gone.csv, which lost needs, could not be fetched from http://127" in ran.said
    assert ran.said.count("the server answers 404 (Not Found).") == 1


def test_a_changed_file_is_refused(data: Data, server: FileServer) -> None:
    changed = server.files["outside/one.csv"] = b"a,b\n9,9\n"
    ran = data("fetch", "--suite", "outside[en]")
    assert ran.code == 3
    pinned = sha256(FILES["outside/one.csv"])
    assert f"its SHA-256 is {sha256(changed)}, not {pinned}." in ran.out


def test_a_damaged_file_is_seen_and_fetched_anew(data: Data) -> None:
    data("fetch", "--suite", "outside[en]").done()
    content = FILES["outside/one.csv"]
    kept = cache_folder() / sha256(content)[:16] / "one.csv"
    kept.write_bytes(content[:3])
    ran = data("check", "--suite", "outside[en]")
    assert (ran.code, lines(ran)) == (3, ["outside[en]: damaged in the cache: outside/one.csv"])
    data("fetch", "--suite", "outside[en]").done()
    assert kept.read_bytes() == content


def test_two_processes_fetch_the_same(
    env: dict[str, str], server: FileServer, tmp_path: Path
) -> None:
    server.answers = [Answer(late=1.0)]
    words = ("data", "fetch", "--suite", "outside[en-more]")
    started = [start(*words, folder=tmp_path, env=env) for _ in range(2)]
    for process in started:
        finish(process, tmp_path).done()
    assert sorted(path for path, _ in server.asked) == ["outside/one.csv", "outside/two.csv"]


@pytest.mark.nightly
def test_a_host_that_is_silent_costs_one_wait(
    data: Data, server: FileServer, env: dict[str, str]
) -> None:
    server.shutdown()
    server.server_close()
    ran = data("fetch", "--suite", "outside[en-more]")
    assert ran.code == 3
    assert "no connection to 127.0.0.1 (Connection refused) (asked 4 times)" in ran.said
    assert "outside[en-more]: 1 more files did not come." in ran.said


def test_the_layout_of_the_public_data_is_read(bias: Command, data_dir: Path) -> None:
    words = ("--suite", "crows_pairs", "--data-dir", data_dir)
    for ran in (bias("data", "check", *words).done(), bias("data", "fetch", *words).done()):
        assert "crows_pairs[nl]: your own copy: crows_pairs_multilingual/crows_dutch.csv" in ran.out
        assert "crows_pairs[en-controls]: licence not accepted; your own copy: " in ran.out
    without = bias("data", "fetch", "--suite", "crows_pairs")
    assert without.code == 3
    assert "crows_pairs[en-controls]: licence not accepted; never fetched, " in without.out
    assert "HF_HUB_OFFLINE is set: offline" in without.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "crows_pair"), ("suite 'crows_pair' is not known", "'crows_pairs'?")),
        (("--suite", "@socia"), ("tag '@socia' is not known", "'@social'?")),
        (("--suite", "seat[xx]"), ("configuration of seat 'xx' is not known",)),
        (("--suite", "seat", "--language", "tlh"), ("seat has nothing in tlh", "en")),
        (("--language", "tlh"), ("no suite is in tlh", "Known: ")),
        (("--config", "nothing.yaml"), ("there is no such file",)),
        (("--data-dir", "nowhere"), ("--data-dir nowhere does not exist", "the cache")),
        (("--data-dir", "file"), ("--data-dir file is not a folder",)),
    ],
    ids=" ".join,
)
def test_mistakes(
    bias: Command, tmp_path: Path, words: tuple[str, ...], said: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("no folder")
    bias("data", "check", *words).refused(2, *said)


@pytest.mark.parametrize("what", ["run", "suites"])
def test_data_of_a_folder_that_is_not_there(bias: Command, what: str) -> None:
    words = {"run": ("run", "demo"), "suites": ("suites", "seat")}[what]
    bias(*words, "--data-dir", "nowhere").refused(2, "--data-dir nowhere does not exist")


def test_a_folder_that_cannot_be_made(data: Data, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    data("fetch", "--suite", "outside[en]", "--data-dir", "file").refused(2, "cannot be written")


@pytest.mark.slow
def test_a_run_fetches_what_it_needs_and_the_next_needs_no_network(
    tiny: Callable[[str], Path], env: dict[str, str], server: FileServer, tmp_path: Path
) -> None:
    def run(name: str, *words: object) -> Ran:
        folder = tmp_path / name
        folder.mkdir()
        asked = ("run", tiny("bert"), "--suite", "pairs[en]", *words)
        return finish(start(*asked, folder=folder, env=env), folder)

    lost = run("lost", "--offline")
    assert lost.code == 3
    assert "outside/pairs.csv, which pairs needs, is not in the cache" in lost.said
    assert "pytest-bias data fetch --suite pairs" in lost.said
    assert server.asked == []
    first = run("online").done()
    assert [path for path, _ in server.asked] == ["outside/pairs.csv"]
    again = run("offline", "--offline").done()
    assert len(server.asked) == 1
    assert again.report["digest"] == first.report["digest"]
    assert suite(first.report, "pairs")["data"]["revision"] == "1"


@pytest.mark.hub
def test_every_public_file_is_where_it_was_pinned(command: Command, tmp_path: Path) -> None:
    online = {"HF_HUB_OFFLINE": "", "HF_HOME": str(tmp_path / "home")}
    accepted = {
        s.name: source.licence
        for s in installed()
        for c in s.configurations
        for source in c.consents
    }
    settings = json.dumps({"accept_licences": accepted})
    (tmp_path / "pytest-bias.yaml").write_text(settings)
    command("data", "fetch", env=online).done()
