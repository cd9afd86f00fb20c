"""Models that cannot see what an item is about: no score, a reason, and the first line says so."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bias_suites.social import crows_pairs, hatecheck
from commands import Command, suite
from own_scope import SCOPE
from pytest_bias.models import load
from pytest_bias.records.report import Item
from pytest_bias.scoring.metric import ALIKE
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.measures import measure_items, read_alike

Tiny = Callable[[str], Path]

OWN = (
    """
suite: own_pairs
kind: pairs
language: en
data:
  rows: %s
"""
    + SCOPE
)


def test_a_model_without_the_letters_of_a_language_has_no_score_in_it(
    bias: Command, tiny: Tiny
) -> None:
    names = ("gendered_pair_entropy", "template_association", "general_quality", "seat")
    words = [w for name in names for w in ("--suite", f"{name}[en]")]
    ran = bias("run", tiny("greek"), "--offline", *words)
    assert ran.code == 3, ran.said
    for name in names:
        found = suite(ran.report, name)
        assert found["status"] == "inconclusive", name
        assert ALIKE in found["reason"], (name, found["reason"])
        assert [s["value"] for s in found["scores"] if s["headline"]] == [None]
    # Nothing of the result stands above it.
    lines = ran.out.split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("Not shown to read English"))
    assert "8 of 8 plain English sentences are not given back" in " ".join(lines[first:])
    assert not any("masked" in line for line in lines[:first])
    assert any(line.startswith("greek") for line in lines[first:])
    assert "Not shown to read English" in (ran.at / "summary.md").read_text(encoding="utf-8")
    assert not list((ran.at / "badges").glob("*.svg"))


def test_suites_in_a_language_that_is_not_read_earn_no_badge(
    bias: Command, tiny: Tiny, tmp_path: Path
) -> None:
    rows = json.dumps([{"more": f"αβγ {c}", "less": f"βαγ {c}"} for c in "αβγδεζηθικλμ"])
    (tmp_path / "own.bias.yaml").write_text(OWN % rows, encoding="utf-8")
    run = ("run", tiny("greek"), "--offline", "--suite", tmp_path / "own.bias.yaml")
    ran = bias(*run).done(0)
    # The texts are Greek and the file says English: it is scored, and the model reads none of it.
    assert suite(ran.report, "own_pairs")["status"] == "scored"
    assert not list((ran.at / "badges").glob("*.svg"))
    (tmp_path / "own.bias.yaml").write_text(
        (OWN % rows).replace("language: en", "language: el"), encoding="utf-8"
    )
    ran = bias(*run, "--out", "greek").done(0)
    assert (tmp_path / "greek" / "badges" / "own_pairs-el.svg").is_file()


@pytest.mark.parametrize("pair", [("He is wíse.", "He is wise."), ("HE is wise.", "he is wise.")])
def test_a_pair_that_differs_in_what_a_tokenizer_takes_away_is_unscored(
    bias: Command, tiny: Tiny, tmp_path: Path, pair: tuple[str, str]
) -> None:
    seen = [{"more": f"she is {w}.", "less": f"he is {w}."} for w in ("wise", "kind") * 10]
    rows = [*seen, dict(zip(("more", "less"), pair, strict=True))]
    (tmp_path / "own.bias.yaml").write_text(OWN % json.dumps(rows), encoding="utf-8")
    run = ("run", tiny("bert"), "--offline", "--suite", tmp_path / "own.bias.yaml")
    ran = bias(*run).done(0)
    (score,) = [s for s in suite(ran.report, "own_pairs")["scores"] if s["headline"]]
    assert (score["n"], score["n_unscored"]) == (20, 1)
    # A cased tokenizer sees the difference.
    cased = bias("run", tiny("roberta"), *run[2:], "--out", "cased").done(0)
    assert cased.folder.joinpath("cased", "report.json").is_file()
    report = json.loads((cased.folder / "cased" / "report.json").read_text(encoding="utf-8"))
    (score,) = [s for s in suite(report, "own_pairs")["scores"] if s["headline"]]
    assert (score["n"], score["n_unscored"]) == (21, 0)


def test_what_follows_a_published_script_counts_such_a_pair(tiny: Tiny) -> None:
    rows = [("she is wise.", "he is wise.")] * 30 + [("Hé is wise.", "he is wise.")]
    items = [
        Item(
            f"crows/{n:02d}",
            f"crows/{n:02d}",
            {"more": more, "less": less},
            {"bias_type": "gender", "direction": "stereo"},
        )
        for n, (more, less) in enumerate(rows)
    ]
    measure = crows_pairs.SUITE.measures[0]
    records = measure_items(measure, load(str(tiny("bert"))), items)
    assert [r.reason for r in records if r.status == "unscored"] == [ALIKE]
    scores = score_records(records, measure.metrics, Context("crows_pairs", "en"))
    n = {s.metric: (s.n, s.n_unscored) for s in scores if not s.by}
    assert n["stereotype_preference"] == (30, 1)
    assert n["stereotype_preference_reference"] == (31, 0)


def test_groups_that_are_read_alike_are_not_held_against_one_another(tiny: Tiny) -> None:
    model = load(str(tiny("greek")))
    items = [
        Item(f"hc/{t}/{g}", f"template/{t}", {"text": f"{t} {g}"}, {"group": g, "gold": "hateful"})
        for t in ("α", "β")
        for g in ("women", "men", "γυναικες")
    ]
    found = read_alike(hatecheck.SUITE.measures[0], model, items)
    assert found == {f"hc/{t}/{g}" for t in "αβ" for g in ("women", "men")}
