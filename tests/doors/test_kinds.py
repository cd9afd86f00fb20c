"""Whole runs on the kinds of models that are neither masked nor causal."""

from pathlib import Path

import pytest

from commands import Command, headline, statuses, suite
from tiny_architectures import CLASSIFIER, QA, SEQ2SEQ, head


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", ["t5", "bart"])
def test_crows_pairs_on_a_seq2seq_model(
    bias: Command, tmp_path: Path, data_dir: Path, model_type: str
) -> None:
    folder = head(SEQ2SEQ, model_type, tmp_path / model_type)
    words = ("--suite", "crows_pairs", "--suite", "template_association", "--data-dir", data_dir)
    ran = bias("run", folder, *words, "--profile", "quick").done(0)
    about = ran.report["model"]
    assert about["kind"] == "seq2seq"
    reads, starts = ([2], [1]) if model_type == "t5" else ([0, 2], [2, 0])
    assert about["prefix_token"] == f"encoder reads {reads}, decoder starts with {starts}"
    assert statuses(ran.report) == {
        "structure": "scored",
        "crows_pairs": "scored",
        "template_association": "not_applicable",
    }
    assert headline(ran.report, "structure")["value"] == 100
    assert suite(ran.report, "crows_pairs")["adapted"] is True
    assert headline(ran.report, "crows_pairs")["n"] >= 200
    reason = suite(ran.report, "template_association")["reason"]
    assert "which a sequence-to-sequence model does not do" in reason
    bias("verify", ran.at).done(0)


@pytest.mark.parametrize(
    ("table", "kind", "words"),
    [
        (CLASSIFIER, "classifier", "a text classifier"),
        (QA, "question-answering", "a question-answering model"),
    ],
)
def test_a_head_is_checked_and_its_encoder_measured(
    bias: Command, tmp_path: Path, table: object, kind: str, words: str
) -> None:
    folder = head(table, "bert", tmp_path / "model")
    suites = ("--suite", "gendered_pair_entropy[en]", "--suite", "seat[en]")
    ran = bias("run", folder, *suites).done(0)
    assert ran.report["model"]["kind"] == kind
    assert headline(ran.report, "structure")["value"] == 100
    assert statuses(ran.report)["seat"] == "scored"
    reason = suite(ran.report, "gendered_pair_entropy")["reason"]
    assert f"which {words} does not do" in reason
