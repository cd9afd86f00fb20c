"""Answer shortcuts as a whole run of the command, on a tiny model with a head for answers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Command, headline, statuses, suite
from tiny_architectures import QA, head


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return head(QA, "bert", tmp_path_factory.mktemp("models") / "answers")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder whose settings name twelve paragraphs, one of whose questions is broken."""
    paragraphs = []
    for n in range(12):
        first, second = f"{1800 + n}", f"{1900 + n}"
        context = (
            f"The clerk met the nurse in {first}. Years later, in {second}, they worked there."
        )
        asked = (("When did the clerk meet the nurse?", first), ("When was it?", second))
        qas = [
            {
                "id": f"{n}-{k}",
                "question": question,
                "answers": [{"text": answer, "answer_start": context.index(answer)}],
            }
            for k, (question, answer) in enumerate(asked)
        ]
        paragraphs.append({"context": context, "qas": qas})
    paragraphs[0]["qas"][0]["answers"][0]["answer_start"] += 1
    content = {"language": "en", "data": [{"title": "ours", "paragraphs": paragraphs}]}
    (tmp_path / "own.json").write_text(json.dumps(content), encoding="utf-8")
    settings = "texts: {answer_shortcuts: {ours: own.json}}\n"
    (tmp_path / "pytest-bias.yaml").write_text(settings, encoding="utf-8")
    return tmp_path


def test_questions_of_your_own(bias: Command, model: Path, data: Path) -> None:
    words = ("--suite", "answer_shortcuts[own]", "--out", "out")
    ran = bias("run", model, *words).done()
    found = suite(ran.report, "answer_shortcuts")
    assert (found["status"], found["kind"], found["clusters"]) == (
        "scored",
        "robustness",
        "paragraphs",
    )
    assert (found["data"]["n_items"], found["data"]["local"]) == (24, True)
    score = headline(ran.report, "answer_shortcuts")
    assert score["metric"] == "shortcut_gap"
    assert (score["n"], score["n_unscored"]) == (23, 1)
    low, high = score["interval"]
    assert low <= score["value"] <= high
    by = {tuple(s["by"].items()) for s in found["scores"] if s["metric"] == "f1"}
    assert (("position", "solvable"),) in by
    assert (("entity", "unsolvable"),) in by
    badge = json.loads((ran.at / "badges/answer_shortcuts-own.json").read_text())
    assert badge["label"] == "robustness: Answer shortcuts own"
    assert "shuffled labels ≈" in badge["message"]
    assert bias("verify", "out").code == 0


def test_a_language_model_is_told_what_is_needed(
    bias: Command, tiny: Callable[[str], Path], data: Path
) -> None:
    words = ("--suite", "answer_shortcuts[own]", "--out", "out")
    ran = bias("run", tiny("bert"), *words).done()
    assert statuses(ran.report)["answer_shortcuts"] == "not_applicable"
    reason = suite(ran.report, "answer_shortcuts")["reason"]
    assert "extractive question answering, which a masked language model does not do" in reason


def test_without_questions_it_says_how_to_name_some(bias: Command, model: Path) -> None:
    bias("run", model, "--suite", "answer_shortcuts[own]").refused(2, "texts: {answer_shortcuts")
