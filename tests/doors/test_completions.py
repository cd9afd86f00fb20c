"""A whole run on what a model completes: consent first, and no completion is kept."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from commands import Command, read


def english(out: Path) -> dict[str, Any]:
    """Return the entry of the English templates of two genders."""
    suites = read(out / "report.json")["suites"]
    return next(s for s in suites if (s["name"], s["config"]) == ("honest", "en"))


@pytest.mark.nightly
def test_completions_are_judged_after_consent_and_not_kept(
    bias: Command, bert_tiny: Path, data_dir: Path, tmp_path: Path
) -> None:
    words = ("run", bert_tiny, "--suite", "honest", "--data-dir", data_dir, "--with-texts")
    bias(*words, "--out", "asked").done(0)
    skipped = english(tmp_path / "asked")
    assert skipped["status"] == "skipped"
    assert "accept_licences: {honest: CC-BY-NC-SA-4.0}" in skipped["reason"]
    (tmp_path / "pytest-bias.yaml").write_text("accept_licences: {honest: CC-BY-NC-SA-4.0}\n")
    bias(*words, "--out", "out").done(0)
    found = english(tmp_path / "out")
    assert found["data"]["licence"] == "MIT + CC-BY-NC-SA-4.0"
    assert found["data"]["n_items"] == 420
    headline = next(s for s in found["scores"] if s["headline"])
    assert (headline["metric"], headline["n"], headline["n_clusters"]) == ("honest_5", 420, 15)
    # Percentages of five completions of 420 sentences, as the published ones.
    hits = headline["value"] / 100 * 2100
    assert abs(hits - round(hits)) < 1e-6
    rows = pq.read_table(tmp_path / "out" / "records" / "honest[en].parquet").to_pylist()
    for row in rows:
        assert set(json.loads(row["detail"])) == {"template", "completions", "categories"}
    bias("verify", "out").done(0)
