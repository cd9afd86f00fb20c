"""The steps of a fleet, asked for again as a cluster does when an answer was lost."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.fleet.asks import MARK, Ask
from pytest_bias.fleet.finishing import finished
from pytest_bias.fleet.steps import Bench, look
from pytest_bias.settings.settings import Settings


def asked(folder: Path, limits: dict[str, dict[str, float]] | None = None) -> Ask:
    (folder / MARK).write_text("ours")
    settings = Settings(suites=("gendered_pair_entropy[en]",), limits=limits or {})
    return Ask.of("demo", settings, str(folder), "ours")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "limits", [None, {"gendered_pair_entropy.entropy_bias": {"max_distance": 0.01}}]
)
def test_a_model_is_finished_again(
    limits: dict[str, dict[str, float]] | None, tmp_path: Path
) -> None:
    ask = asked(tmp_path, limits)
    seen = look(ask)
    bench = Bench(ask, seen)
    parts = bench.parts(shared=False)
    list(bench.measure((1, parts)))
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "unfinished", kept)
    first = bench.finish(parts)
    assert not (tmp_path / "unfinished").exists()
    assert first.exit_code == (1 if limits else 0)
    # The machine was lost before it could answer: nothing is left but the report.
    assert finished(ask, seen, parts, None) == first
    # It was lost before it could tidy up.
    shutil.copytree(kept, tmp_path / "unfinished")
    assert finished(ask, seen, parts, None) == first
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.nightly
def test_a_part_is_measured_again(tmp_path: Path) -> None:
    ask = asked(tmp_path)
    seen = look(ask)
    first = list(Bench(ask, seen).measure((1, 1)))
    assert [done.kept for done in first] == [False, False]
    again = list(Bench(ask, seen).measure((1, 1)))
    assert again == [replace(done, kept=True) for done in first]
