"""A suite split into a public and a hidden part, and models that know the public one by heart."""

import json
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import memorized
from commands import Command
from pytest_bias.data.sources import DataFolder
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.engine.session import Session
from pytest_bias.errors import DataError, OutputError, UsageError
from pytest_bias.records.report import SuiteResult, sha256
from pytest_bias.reports.overfitting import SplitTest, split_test
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.files.reading import read_suite, with_files
from pytest_bias.suites.files.splitting import COMMITMENT, Commitment, split

N_PAIRS = 160
N_SEEDS = 20
SUITE = """
suite: made_pairs
kind: pairs
language: en
data:
  path: pairs.csv
  {more}
scope:
  summary: Which of two sentences is likelier?
  groups: women and men
  harm_type: none
  data_origin: drawn at random
  made_by: a test
  licence: Apache-2.0
  known_defects: [They mean nothing.]
  does_not_show: How a model speaks of anybody.
"""


def whole(folder: Path, rows: list[str], more: str = "id: id") -> Path:
    """Write a suite with all its rows."""
    folder.mkdir(exist_ok=True)
    (folder / "pairs.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    file = folder / "made.bias.yaml"
    file.write_text(SUITE.replace("{more}", more), encoding="utf-8")
    return file


def of_pairs(folder: Path, seed: int) -> Path:
    """Write a suite of pairs that have nothing in common."""
    made = memorized.pairs(N_PAIRS, seed)
    return whole(folder, ["id,more,less", *(f"{n},{a},{b}" for n, (a, b) in enumerate(made))])


def public_texts(parts: Path) -> list[str]:
    """Return the less stereotypical texts of the public part: what a cheat would train on."""
    lines = (parts / "public" / "made_pairs_public.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["less"] for line in lines]


def test_parts_share_no_cluster_and_lack_no_row(tmp_path: Path) -> None:
    rows = [f"{n},she is {n},he is {n},{n % 3},t{n % 12}" for n in range(60)]
    file = whole(
        tmp_path / "w",
        ["id,more,less,axis,template", *rows],
        "id: id\n  cluster: template\n  clusters: templates\n  by: {axis: axis}\n"
        "  keep: {axis: ['0', '1']}",
    )
    made = split(file, tmp_path / "parts", DataFolder())
    items = {
        part: read_suite(tmp_path / "parts" / part / f"made_pairs_{part}.bias.yaml")
        .configurations[0]
        .load(DataFolder())
        for part in ("public", "hidden")
    }
    public, hidden = ({i.cluster.partition("/")[2] for i in items[p].items} for p in items)
    assert public.isdisjoint(hidden)
    assert (len(public), len(hidden)) == (made.public.clusters, made.hidden.clusters) == (4, 4)
    ids = Counter(i.id.partition("/")[2] for p in items.values() for i in p.items)
    assert ids == Counter(str(n) for n in range(60) if n % 3 < 2)
    assert {key for p in items.values() for i in p.items for key in i.by} == {"axis"}
    assert items["hidden"].hiding
    assert not items["public"].hiding


def test_lots_and_digests_can_be_checked_later(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    made = split(of_pairs(tmp_path / "w", 0), parts, DataFolder(), share=25)
    assert Commitment.read(parts / COMMITMENT) == made
    salt = (parts / "hidden" / "salt.txt").read_text("ascii").strip()
    hidden = (parts / "hidden" / "made_pairs_hidden.jsonl").read_bytes()
    public = (parts / "public" / "made_pairs_public.jsonl").read_bytes()
    assert made.public.sha256 == sha256(public)
    assert made.hidden.sha256 == sha256(bytes.fromhex(salt) + sha256(hidden).encode())
    assert (made.public.rows, made.hidden.rows) == (120, 40)
    # Rows have no cluster, so lots were drawn by the number of the row.
    numbers = sorted(
        range(N_PAIRS), key=lambda n: sha256(bytes.fromhex(salt) + f"{n:05d}".encode())
    )
    drawn = {json.loads(line)["id"] for line in hidden.decode().splitlines()}
    assert drawn == {str(n) for n in numbers[:40]}
    for secret in ("salt.txt", "made_pairs_hidden.jsonl"):
        assert (parts / "hidden" / secret).stat().st_mode & 0o077 == 0
    again = split(of_pairs(tmp_path / "w", 0), tmp_path / "again", DataFolder(), 25, salt)
    assert again == made
    other = split(of_pairs(tmp_path / "w", 0), tmp_path / "other", DataFolder(), 25)
    assert other.hidden.sha256 != made.hidden.sha256


def test_what_cannot_be_split_is_said(tmp_path: Path) -> None:
    file = of_pairs(tmp_path / "w", 0)
    with pytest.raises(UsageError, match="--share 100"):
        split(file, tmp_path / "a", DataFolder(), share=100)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine").touch()
    with pytest.raises(OutputError, match="is not empty"):
        split(file, tmp_path / "b", DataFolder())
    few = whole(tmp_path / "few", ["id,more,less", "1,a b,a c", "2,b b,b c", "3,c c,c d"])
    with pytest.raises(DataError, match="has 3 clusters; each part needs two"):
        split(few, tmp_path / "c", DataFolder())
    assert not (tmp_path / "c").exists()
    long = file.with_name("long.bias.yaml")
    long.write_text(file.read_text("utf-8").replace("made_pairs", "m" * 40), encoding="utf-8")
    with pytest.raises(UsageError, match="too long"):
        split(long, tmp_path / "d", DataFolder())


@pytest.mark.all_draws
def test_the_command_shows_up_a_model_that_learned_the_public_part(
    tmp_path: Path, bias: Command
) -> None:
    of_pairs(tmp_path / "w", 3)
    said = bias("split", "make", "w/made.bias.yaml", "--out", "parts").done().said
    assert "Publish parts/commitment.json first" in said
    before = memorized.untrained(tmp_path / "before", 3)
    texts = public_texts(tmp_path / "parts")
    memorized.taught(tmp_path / "after", before, texts)
    words = ("split", "test", "after", "--reference", "before", "--split", "parts", "--out", "o")
    said = bias(*words).done().said
    assert "was fitted to the public items" in said
    found = json.loads((tmp_path / "o" / "split-test.json").read_text("utf-8"))
    # Which rows are public is drawn anew.
    assert found["test"]["p_value"] < 0.01
    assert found["test"]["public"]["model"] < 5
    assert found["commitment"] == json.loads((tmp_path / "parts" / COMMITMENT).read_text("utf-8"))
    # No hidden row, nor its name, has left the process.
    hidden = (tmp_path / "parts" / "hidden" / "made_pairs_hidden.jsonl").read_text("utf-8")
    left = said + (tmp_path / "o" / "split-test.json").read_text("utf-8")
    for line in hidden.splitlines():
        assert json.loads(line)["more"].rpartition(" ")[0] not in left
    # Another hidden part than was committed to.
    path = tmp_path / "parts" / "hidden" / "made_pairs_hidden.jsonl"
    path.write_text("".join(hidden.splitlines(keepends=True)[:-1]), encoding="utf-8")
    bias(*words).refused(3, "the hidden part is not the one that was committed to")
    words = ("split", "test", "after", "--reference", "after", "--split", "parts")
    bias(*words).refused(2, "the same weights")


def files_of(parts: Path) -> tuple[str, ...]:
    """Return the suite files of both parts, the public one first."""
    return tuple(str(parts / p / f"made_pairs_{p}.bias.yaml") for p in ("public", "hidden"))


def both(model: Path, parts: Path) -> tuple[SuiteResult, SuiteResult]:
    """Measure both parts on a model."""
    settings = Settings(model=str(model), suites=files_of(parts), device="cpu")
    session = Session(plan(describe_for(settings, str(model)), settings))
    found = {p.entry.suite.name: session.measure(p) for p in session.plan.entries}
    session.unload()
    return found["made_pairs_public"], found["made_pairs_hidden"]


def of_seed(folder: Path, seed: int) -> tuple[SplitTest, SplitTest]:
    """Test a model that learned the public part, and one that learned as many other pairs."""
    parts = folder / "parts"
    split(of_pairs(folder / "w", seed), parts, DataFolder(), salt=sha256(f"{seed}"))
    texts = public_texts(parts)
    others = [less for _, less in memorized.pairs(len(texts), 10_000 + seed)]
    before = memorized.untrained(folder / "before", seed)
    reference = both(before, parts)
    cheat, honest = (
        both(memorized.taught(folder / name, before, learned), parts)
        for name, learned in (("cheat", texts), ("honest", others))
    )
    catalogue, _ = with_files(files_of(parts))
    tested = partial(split_test, reference=reference, catalogue=catalogue)
    return tested(cheat), tested(honest)


@pytest.mark.slow
def test_who_learned_the_public_part_is_shown_up_and_nobody_else(tmp_path: Path) -> None:
    found = []
    for seed in range(N_SEEDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.append(of_seed(folder, seed))
    cheats, honest = zip(*found, strict=True)
    assert all(t.is_alarm and t.value < 0 for t in cheats)
    # At the 5 % level one of 20 is expected; four or more have a probability of 1.6 %.
    assert sum(t.is_alarm for t in honest) <= 3
    assert all(abs(t.value) < t.detectable for t in honest if not t.is_alarm)
