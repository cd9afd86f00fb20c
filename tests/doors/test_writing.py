"""Whole runs of the suites that let a model write: real models, a classifier with known answers."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import ours
from bias_suites.continuations import sentence
from bias_suites.maxima import NEW_TOKENS
from bias_suites.social import bold
from bias_suites.social import classified_completions as completions
from commands import Command, statuses, suite
from pytest_bias.models.interface import GAP
from pytest_bias.suites.refusals import Outcome, outcome
from word_classifier import word_classifier

WORDS = ["he", "she", "nurse", "is", "in"]
DOMAINS = ("gender", "political_ideology", "profession", "race", "religious_ideology")


@pytest.fixture
def scorer(tmp_path: Path) -> Callable[..., Path]:
    """Return a function from labels to the folder of a classifier of a few words."""

    def build(*labels: str) -> Path:
        return word_classifier(tmp_path / f"scorer-{labels[0]}", WORDS, labels)

    return build


def is_bad(text: str) -> bool:
    """What the classifier says, in plain Python: whatever cannot be in a word ends one."""
    apart = "".join(c if _in_word(c) else " " for c in text.lower())
    return any(word in WORDS for word in apart.split(" "))


def _in_word(c: str) -> bool:
    kind = unicodedata.category(c)
    return kind[0] in "LM" or kind in ("Nd", "Nl", "Pc")


def rows(ran: Any, entry: str) -> list[dict[str, Any]]:
    return pq.read_table(ran.at / "records" / f"{entry}.parquet").to_pylist()


def shares(values: Iterable[tuple[tuple[str, str], float]]) -> dict[tuple[str, str], float]:
    """Return the mean value of each group."""
    by: dict[tuple[str, str], list[float]] = {}
    for group, value in values:
        by.setdefault(group, []).append(value)
    return {group: sum(found) / len(found) for group, found in by.items()}


def of_groups(found: Mapping[str, Any], metric: str) -> dict[tuple[str, str], float]:
    return {
        (s["by"]["axis"], s["by"]["group"]): s["value"]
        for s in found["scores"]
        if s["metric"] == metric and "group" in s["by"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
def test_written_completions_by_hand(
    seed: int, bias: Command, tiny: Callable[[str], Path], scorer: Callable[..., Path]
) -> None:
    words = ("run", tiny("gpt2"), "--suite", "classified_completions[en-regard]")
    words += ("--scorer", f"regard={scorer('negative', 'positive')}", "--profile", "quick")
    ran = bias(*words, "--seed", seed, "--out", "out").done()
    found = suite(ran.report, "classified_completions")
    assert (found["config"], found["scorer"]["role"]) == ("en-regard", "regard")
    taken = {row["item"] for row in rows(ran, "classified_completions[en-regard]")}
    items = [i for i in ours.items("classified_completions", "en-regard") if i.id in taken]
    model = ours.model(tiny("gpt2"))
    prompts = [i.texts["prompt"] for i in items]
    how = {"max_new_tokens": completions.NEW_TOKENS, "sample": True, "n": completions.SAMPLES}
    written = model.generate(prompts, seed=seed, **how)
    values = []
    for n, item in enumerate(items):
        texts = written[n * completions.SAMPLES : (n + 1) * completions.SAMPLES]
        answers = [t.text for t in texts if outcome(t) is Outcome.ANSWERED]
        bad = [is_bad(sentence(model, item.texts["prompt"], text)) for text in answers]
        values.append(((item.by["axis"], item.by["group"]), 100 * sum(bad) / len(bad)))
    expected = shares(values)
    assert of_groups(found, "share") == pytest.approx(expected)
    assert len(set(expected.values())) > 3
    (headline,) = [s for s in found["scores"] if s["headline"]]
    axes = {axis for axis, _ in expected}
    of_axis = [[v for (axis, _), v in expected.items() if axis == a] for a in axes]
    assert headline["metric"] == "gap"
    assert headline["value"] == pytest.approx(sum(max(v) - min(v) for v in of_axis) / len(axes))
    assert headline["floor"] > 0
    assert bias("verify", "out").code == 0


@pytest.mark.nightly
def test_words_at_the_mask_by_hand(
    bias: Command, tiny: Callable[[str], Path], scorer: Callable[..., Path]
) -> None:
    words = ("run", tiny("bert"), "--suite", "classified_completions[en-toxicity]")
    words += ("--scorer", f"toxicity={scorer('toxic', 'other')}", "--profile", "quick")
    found = suite(bias(*words, "--out", "out").done().report, "classified_completions")
    assert found["adapted"] is True
    # Of two groups whose names are unknown words the model reads the same sentence.
    rows = pq.read_table(_records("out")).to_pylist()
    taken = {r["item"] for r in rows if r["status"] == "scored"}
    items = [i for i in ours.items("classified_completions", "en-toxicity") if i.id in taken]
    filled = ours.model(tiny("bert")).fill([i.texts["sentence"] for i in items], completions.WORDS)
    expected = shares(
        (
            (item.by["axis"], item.by["group"]),
            sum(100 * is_bad(item.texts["sentence"].replace(GAP, w)) for w, _ in top) / len(top),
        )
        for item, top in zip(items, filled, strict=True)
    )
    assert of_groups(found, "share") == pytest.approx(expected)


def _records(out: str) -> Path:
    return Path(out) / "records" / "classified_completions[en-toxicity].parquet"


@pytest.mark.nightly
def test_a_suite_asked_for_by_name_takes_the_classifiers_that_are_there(
    bias: Command, tiny: Callable[[str], Path], scorer: Callable[..., Path]
) -> None:
    words = ("run", tiny("bert"), "--suite", "classified_completions", "--profile", "quick")
    ran = bias(*words, "--scorer", f"toxicity={scorer('toxic', 'other')}", "--out", "one").done()
    status = {s["config"]: s["status"] for s in ran.report["suites"]}
    assert status == {
        "all": "scored",
        "en-regard": "skipped",
        "en-sentiment": "skipped",
        "en-toxicity": "scored",
    }
    assert "--scorer regard=org/name" in ran.said
    none = bias(*words, "--out", "none")
    assert none.code == 3
    report = json.loads((none.folder / "none" / "report.json").read_text())
    assert {s["config"]: s["status"] for s in report["suites"]}["en-regard"] == "error"


def test_a_card_says_which_classifier_scores_which_configuration(bias: Command) -> None:
    said = bias("suites", "classified_completions").done().said
    for role in ("regard", "sentiment", "toxicity"):
        assert f"classified_completions[en-{role}]: en; scored by a classifier of {role}" in said


def test_bold_by_hand(
    bias: Command, tiny: Callable[[str], Path], scorer: Callable[..., Path], tmp_path: Path
) -> None:
    content = {"gender": {"actors": {"x": ["He works as "]}, "actresses": {"y": ["She was "]}}}
    folder = tmp_path / "data" / "bold" / "prompts"
    folder.mkdir(parents=True)
    for domain in DOMAINS:
        (folder / f"{domain}_prompt.json").write_text(json.dumps(content.get(domain, {})))
    words = ("run", tiny("llama"), "--suite", "bold[en]", "--data-dir", tmp_path / "data")
    ran = bias(*words, "--scorer", f"toxicity={scorer('toxic', 'other')}", "--out", "out").done()
    how = {"max_new_tokens": NEW_TOKENS, "sample": True, "n": bold.K}
    prompts = ["He works as", "She was"]
    written = ours.model(tiny("llama")).generate(prompts, **how)
    worst = [float(any(is_bad(t.text) for t in written[at : at + bold.K])) for at in (0, bold.K)]
    found = suite(ran.report, "bold")
    (headline,) = [s for s in found["scores"] if s["headline"]]
    assert headline["value"] == pytest.approx(sum(worst) / 2, abs=1e-3)
    assert found["data"]["local"] is True
    for row in rows(ran, "bold[en]"):
        # Numbers alone: nothing that was written, and of texts their digest.
        assert not any(t.text.strip() in repr(row) for t in written if len(t.text.strip()) > 3)


@pytest.mark.nightly
def test_without_a_classifier_the_suites_are_skipped_and_count(
    bias: Command, tiny: Callable[[str], Path]
) -> None:
    words = ("--profile", "quick", "--allow-missing-data", "--out", "out")
    ran = bias("run", tiny("gpt2"), *words).done()
    for name in ("classified_completions", "realtoxicityprompts", "bold"):
        assert name in ran.report["coverage"]["social_suites"]
        status = {s["status"] for s in ran.report["suites"] if s["name"] == name}
        assert status == {"skipped"}


def test_masked_models_write_nothing_behind_prompts(
    bias: Command, tiny: Callable[[str], Path], scorer: Callable[..., Path]
) -> None:
    words = ("run", tiny("bert"), "--suite", "bold[en]", "--suite", "realtoxicityprompts")
    ran = bias(*words, "--scorer", f"toxicity={scorer('toxic', 'other')}", "--out", "out").done()
    found = statuses(ran.report)
    assert (found["bold"], found["realtoxicityprompts"]) == ("not_applicable", "not_applicable")
