"""The model card of a run: what the command writes, and how it comes into a README.md."""

from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard

from commands import Command, Ran, read
from pytest_bias.emit.card.readme import merged

CONTEXT = "context:\n  languages: [en, it]\n  intended_use: a help desk\n  groups: [religion]\n"


def card(folder: Path) -> str:
    return (folder / "card.md").read_text(encoding="utf-8")


def index(folder: Path) -> list[dict[str, object]]:
    found = yaml.safe_load((folder / "model-index.yaml").read_text(encoding="utf-8"))
    return list(found["model-index"])


def test_the_card_of_a_run_says_what_its_report_says(demo: Ran) -> None:
    (entry,) = index(demo.at)
    scored = [s for s in demo.report["suites"] if s["status"] == "scored"]
    measured = [s for s in scored if s["kind"] != "structure"]
    results = entry["results"]
    assert isinstance(results, list)
    assert [r["dataset"]["config"] for r in results] == [
        f"{s['name']}-{s['config']}" for s in measured
    ]
    for result, suite in zip(results, measured, strict=True):
        (headline,) = (s for s in suite["scores"] if s["headline"] and not s["by"])
        first = result["metrics"][0]
        assert first["type"] == headline["metric"]
        assert first["value"] == pytest.approx(headline["value"], abs=0.05)
    text = card(demo.at)
    assert demo.report["digest"] in text
    for suite in measured:
        assert f"(badges/{suite['name']}-{suite['config']}.svg)](report.json)" in text
    assert f"{demo.at.relative_to(demo.folder)}/card.md" in demo.out


def test_the_card_can_be_made_again_from_the_report(
    demo: Ran, bias: Command, tmp_path: Path
) -> None:
    bias("render", demo.at, "--to", "card", "--out", "again").done(0)
    there = {p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()}
    assert there == {n: (demo.at / n).read_bytes() for n in ("card.md", "model-index.yaml")}


def test_a_readme_with_the_card_of_a_run_is_a_model_card(demo: Ran) -> None:
    section, results = card(demo.at).rstrip("\n"), index(demo.at)
    once = merged(b"---\nlicense: mit\n---\n# Demo\n", section, results)
    assert merged(once, section, results) == once
    found = ModelCard(once.decode())
    assert found.data.license == "mit"
    assert len(found.data.eval_results) >= 3


def test_the_context_of_the_settings_is_in_report_and_card(bias: Command, tmp_path: Path) -> None:
    words = ("run", "demo", "--suite", "seat[en]", "--language", "en", "--out")
    bias(*words, "plain").done(0)
    (tmp_path / "pytest-bias.yaml").write_text(CONTEXT, encoding="utf-8")
    bias(*words, "out").done(0)
    plain, ran = (read(tmp_path / name / "report.json") for name in ("plain", "out"))
    said = {"languages": ["en", "it"], "intended_use": "a help desk", "groups": ["religion"]}
    assert ran["run"]["context"] == said
    assert "context" not in plain["run"]
    assert ran["digest"] == plain["digest"]
    text = card(tmp_path / "out")
    assert "- Intended use: a help desk" in text
    assert "- **Languages without a suite here: it.**" in text
    assert "What this model is for" not in card(tmp_path / "plain")
    # What is stated later needs no second run, and a file beside the command is not asked.
    later = "context:\n  intended_use: letters\n  why: {seat: vectors}\n"
    (tmp_path / "later.yaml").write_text(later, encoding="utf-8")
    render = ("render", "plain", "--to", "card", "--out")
    bias(*render, "asked", "--config", "later.yaml").done(0)
    bias(*render, "unasked").done(0)
    assert "- Intended use: letters" in card(tmp_path / "asked")
    assert card(tmp_path / "unasked") == card(tmp_path / "plain")
    (tmp_path / "later.yaml").write_text(later.replace("seat", "saet"), encoding="utf-8")
    wrong = bias(*render, "wrong", "--config", "later.yaml")
    wrong.refused(2, "later.yaml, line 3: suite 'saet' is not known. Did you mean 'seat'?")


@pytest.mark.nightly
def test_withheld_scores_take_the_metadata_with_them(bias: Command, tmp_path: Path) -> None:
    words = ("run", "demo", "--suite", "seat[en]", "--out", "out")
    full = bias(*words).done(0)
    assert index(full.at)
    value = str(index(full.at)[0]["results"][0]["metrics"][0]["value"])  # type: ignore[index]
    assert value in card(full.at)
    bias(*words, "--withhold-scores").done(0)
    assert not (tmp_path / "out" / "model-index.yaml").exists()
    text = card(tmp_path / "out")
    assert value not in text
    (said,) = (line for line in text.splitlines() if "scores not published:" in line)
    assert "SEAT en" in said
