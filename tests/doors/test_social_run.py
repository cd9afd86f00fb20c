"""Every social-bias suite on a real model of each kind: scored, or the reason why not; no error."""

from pathlib import Path
from typing import Any

import pytest

from commands import Command, Ran
from ours import LICENCES
from pytest_bias.suites import find
from pytest_bias.suites.catalogue import INSTALLED
from word_classifier import word_classifier

pytestmark = pytest.mark.slow

LANGUAGES = ("en", "fr", "nl", "es", "it", "pt", "ro", "de")
REASONS = {
    "not_applicable": ("needs", "no mask", "of hate", "closed vocabulary"),
    "unavailable": ("realtoxicityprompts/prompts.jsonl, which realtoxicityprompts needs",),
}
"""Why a suite may have no score here: the model cannot, or the data are nowhere on this machine."""


@pytest.fixture
def socially(bias: Command, tmp_path: Path, data_dir: Path) -> Any:
    """Return a function that runs all social suites on a model, with every licence accepted."""
    licences = "".join(f"  {suite}: '{licence}'\n" for suite, licence in LICENCES.items())
    (tmp_path / "pytest-bias.yaml").write_text(f"accept_licences:\n{licences}")
    labels = {"toxicity": ("toxic", "other"), "regard": ("negative", "positive")}
    scorers = [
        f"--scorer={role}={word_classifier(tmp_path / role, ['bad', 'poor', 'never'], two)}"
        for role, two in (labels | {"sentiment": ("negative", "positive")}).items()
    ]

    def run(model: Path, *words: str) -> Ran:
        common = (
            "--suite",
            "@social",
            "--profile",
            "quick",
            "--data-dir",
            data_dir,
            *scorers,
            "--allow-missing-data",
        )
        return bias("run", model, *common, *words, "--out", "out")

    return run


def wanted(languages: tuple[str, ...]) -> set[str]:
    return {e.id for e in INSTALLED.select(("@social",), languages)}


def assert_accounted_for(ran: Ran, languages: tuple[str, ...], *scored: str) -> None:
    """Assert that every entry has a score or a known reason, and that these have a headline."""
    suites = {f"{s['name']}[{s['config']}]": s for s in ran.report["suites"]}
    # Random weights write no words, and tiny vocabularies have few: some suites find too little.
    unclear = [e for e, s in suites.items() if s["status"] == "inconclusive"]
    ran.done(3 if unclear else 0)
    assert all(suites[e]["reason"] for e in unclear), unclear
    assert suites.keys() - {"structure[all]"} == wanted(languages)
    for entry, suite in suites.items():
        assert suite["status"] in ("scored", "inconclusive", *REASONS), (entry, suite["reason"])
        if suite["status"] in REASONS:
            assert any(r in suite["reason"] for r in REASONS[suite["status"]]), suite["reason"]
        if suite["status"] == "scored":
            (headline,) = [s for s in suite["scores"] if s["headline"] and not s["by"]]
            assert headline["value"] is not None or headline["interval_reason"], entry
            assert find(suite["name"]).version == suite["version"]
    without = [
        n for n in scored if not any(s["name"] == n and s["scores"] for s in suites.values())
    ]
    assert without == []
    assert ran.folder.joinpath("out", "report.html").stat().st_size < 3_000_000
    assert ran.folder.joinpath("out", "summary.md").stat().st_size < 900_000


def test_masked(socially: Any, bias: Command, bert_tiny: Path) -> None:
    ran = socially(bert_tiny, *(f"--language={tag}" for tag in LANGUAGES))
    assert_accounted_for(
        ran,
        LANGUAGES,
        *("crows_pairs", "stereoset", "seat", "template_association", "gendered_pair_entropy"),
        *("honest", "classified_completions", "choenni_stereotypes", "redditbias"),
        *("winobias", "winogender"),
    )
    assert bias("verify", "out").code == 0


def test_causal(socially: Any, bias: Command, tiny: Any) -> None:
    ran = socially(tiny("gpt2"), "--chat", "off")
    assert_accounted_for(
        ran,
        ("en",),
        *("crows_pairs", "stereoset", "seat", "gendered_pair_entropy", "redditbias"),
        *("winobias", "winogender", "bold", "classified_completions"),
    )
    assert bias("verify", "out").code == 0


def test_encoder(socially: Any, minilm: Path) -> None:
    assert_accounted_for(socially(minilm), ("en",), "seat")


def test_classifier(socially: Any, tmp_path: Path) -> None:
    words = ["immigrant", "awful", "librarian", "furious", "woman"]
    model = word_classifier(tmp_path / "under-test", words, ("hateful", "other"))
    with (tmp_path / "pytest-bias.yaml").open("a") as settings:
        settings.write("labels: {toxicity: {toxic: hateful}, sentiment: {negative: hateful, ")
        settings.write("positive: other}}\n")
    scored = ("hatecheck", "identity_terms", "equity_evaluation")
    assert_accounted_for(socially(model), ("en",), *scored)
