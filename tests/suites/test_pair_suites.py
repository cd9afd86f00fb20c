"""Adversarial NLI, PAWS and FEVER-Symmetric: files in their published shapes, scores by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bias_suites.robustness import anli, fever_symmetric, paws
from pair_classifiers import Pairs, always, mnli, parquet, table
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, LicenceNotAccepted
from pytest_bias.records.report import Item
from pytest_bias.suites.suite import Suite
from stand_ins import records_of, result_of, values

ACCEPTED = {"anli": "CC-BY-NC-4.0", "paws": "Quora non-commercial"}


def loaded(suite: Suite, folder: Path, configuration: str = "en") -> tuple[Item, ...]:
    data = DataFolder(folder, offline=True, accepted=ACCEPTED)
    return suite.configuration(configuration).load(data).items


def rounds(folder: Path) -> Path:
    """Write three rounds as the files are: lines end with CRLF, columns in their own order."""
    for number in (1, 2, 3):
        rows = [
            {
                "context": f"A context, of round {number} and {k // 2}.",
                "statement": f"A statement {k}.",
                "gold_label": "enc"[k % 3],
                "uid": f"{number}{k}",
                "reason": 'She said "so", often',
            }
            for k in range(6)
        ]
        if number == 2:
            rows = [dict(reversed(row.items())) for row in rows]
        table(folder / f"anli/ANLI_analysis_r{number}_dev.csv", rows, end="\r\n")
    return folder


def test_rounds_and_labels_of_anli(tmp_path: Path) -> None:
    mnli(rounds(tmp_path))
    items = loaded(anli.SUITE, tmp_path)
    assert len(items) == 18 + 6
    assert len({i.cluster for i in items if "round" in i.by}) == 9

    def only_in_round_2(premise: str, hypothesis: str) -> Mapping[str, float]:
        return {"neutral" if "round 2" in premise else "entailment": 1.0}

    found = result_of(anli.SUITE, Pairs("nli", only_in_round_2), items)
    accuracy = values(found, "accuracy")
    assert accuracy[()] == accuracy["r1",] == accuracy["r2",] == pytest.approx(100 / 3)
    assert (accuracy["r2", "neutral"], accuracy["r2", "entailment"]) == (100.0, 0.0)
    assert (accuracy["r3", "neutral"], accuracy["r3", "entailment"]) == (0.0, 100.0)
    assert values(found, "in_distribution_accuracy")[()] == 50.0
    assert values(found, "gap")[()] == pytest.approx(50 - 100 / 3)
    assert found.headline is not None
    assert found.headline.floor == pytest.approx(100 / 3)


def test_the_rounds_alone_have_no_gap(tmp_path: Path) -> None:
    items = loaded(anli.SUITE, rounds(tmp_path), "en-rounds")
    found = result_of(anli.SUITE, Pairs("nli", always("neutral")), items)
    assert {s.metric for s in found.scores} == {"accuracy", "gap"}
    lost = found.score("gap")
    assert (lost.value, lost.note) == (None, None)
    assert lost.interval_reason == "nothing was scored of in distribution"


def test_anli_has_to_be_accepted(tmp_path: Path) -> None:
    with pytest.raises(LicenceNotAccepted, match="CC-BY-NC"):
        anli.SUITE.configuration("en").load(DataFolder(rounds(tmp_path), offline=True))


def paraphrases(folder: Path) -> Path:
    """Write both files as the Hub has them; 1 is a paraphrase."""
    pairs = [
        {"id": n, "sentence1": f"A{n} to B", "sentence2": f"B to A{n}", "label": int(n == 0)}
        for n in range(4)
    ]
    parquet(folder / "paws/test-00000-of-00001.parquet", pairs)
    questions = [
        {"question1": f"Who is {n}?", "question2": "Who?", "label": n % 2, "idx": n}
        for n in range(4)
    ]
    parquet(folder / "qqp/validation-00000-of-00001.parquet", questions)
    return folder


def test_who_counts_words_fails_on_the_negative_subset_of_paws(tmp_path: Path) -> None:
    items = loaded(paws.SUITE, paraphrases(tmp_path))

    def same_words(first: str, second: str) -> Mapping[str, float]:
        same = sorted(first.split()) == sorted(second.split())
        return {"paraphrase" if same else "not_paraphrase": 1.0}

    found = result_of(paws.SUITE, Pairs("paraphrase", same_words), items)
    accuracy = values(found, "accuracy")
    assert (accuracy[()], accuracy["not_paraphrase",], accuracy["paraphrase",]) == (25, 0, 100)
    assert values(found, "shortcut_gap")[()] == 100.0
    assert values(found, "in_distribution_accuracy")[()] == 50.0
    assert values(found, "gap")[()] == 25.0


def test_a_label_that_paws_does_not_have_is_unscored(tmp_path: Path) -> None:
    folder = paraphrases(tmp_path)
    row = {"id": 0, "sentence1": "A", "sentence2": "B", "label": -1}
    parquet(folder / "paws/test-00000-of-00001.parquet", [row])
    (item,) = [i for i in loaded(paws.SUITE, folder) if i.id.startswith("paws")]
    assert (item.status, item.reason) == ("unscored", "its label is not one of the known ones")


def symmetric(folder: Path, name: str, evidence: str, ids: Sequence[str]) -> None:
    """Write sets of four: the claim and the evidence of each are the original's or not."""
    rows = []
    for base in ids:
        for k, suffix in enumerate(("", "0000002", "0000003", "0000004")):
            claim, other = k // 2, k in (1, 3)
            label = "SUPPORTS" if claim == int(other) else "REFUTES"
            rows.append(
                {
                    "id": base + suffix,
                    "label": label,
                    "claim": f"{base} is {'new' if claim else 'old'} .",
                    evidence: f"{base} , {'made just now' if other else 'from long ago'} .",
                }
            )
    path = folder / f"fever_symmetric/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    symmetric(tmp_path, "fever_symmetric_full", "evidence_sentence", ["11", "12"])
    symmetric(tmp_path, "fever_symmetric_dev", "evidence", ["21", "22"])
    symmetric(tmp_path, "fever_symmetric_test", "evidence", ["31"])
    return tmp_path


def by_claim(claim: str, evidence: str) -> Mapping[str, float]:
    return {"supports" if "old" in claim else "refutes": 1.0}


@pytest.mark.parametrize("configuration", ["en", "en-v0.1"])
def test_who_reads_only_the_claim_is_right_in_half_of_every_set(
    versions: Path, configuration: str
) -> None:
    items = loaded(fever_symmetric.SUITE, versions, configuration)
    assert len(items) == (12 if configuration == "en" else 8)
    model = Pairs("fact_checking", by_claim)
    found = result_of(fever_symmetric.SUITE, model, items)
    # The originals are right by the claim, and one of the three that were written.
    assert values(found, "in_distribution_accuracy")[()] == 100.0
    assert values(found, "accuracy")[()] == pytest.approx(100 / 3)
    assert values(found, "gap")[()] == pytest.approx(200 / 3)
    assert values(found, "accuracy_with_originals")[()] == 50.0
    assert set(values(found, "consistency").values()) == {0.0}
    assert model.asked[0] == (items[0].texts["claim"], items[0].texts["evidence"])
    parts = {"en": {"dev", "test"}, "en-v0.1": {"v0.1"}}[configuration]
    assert {by[0] for by in values(found, "gap") if by} == parts


def test_who_reads_the_evidence_is_consistent(versions: Path) -> None:
    def reads(claim: str, evidence: str) -> Mapping[str, float]:
        agree = ("old" in claim) == ("long ago" in evidence)
        return {"supports" if agree else "refutes": 1.0}

    items = loaded(fever_symmetric.SUITE, versions)
    found = result_of(fever_symmetric.SUITE, Pairs("fact_checking", reads), items)
    assert values(found, "consistency") == {(): 100.0, ("dev",): 100.0, ("test",): 100.0}
    assert found.score("consistency").note == "of 3 whole sets"
    assert values(found, "accuracy")[()] == 100.0


def test_a_set_that_is_not_whole_is_not_counted_as_right(versions: Path) -> None:
    def reads(claim: str, evidence: str) -> Mapping[str, float] | None:
        if evidence.startswith("21") and "just now" in evidence and "new" in claim:
            return None
        return {"supports" if ("old" in claim) == ("long ago" in evidence) else "refutes": 1.0}

    items = loaded(fever_symmetric.SUITE, versions)
    records = list(records_of(fever_symmetric.SUITE, Pairs("fact_checking", reads), items).values())
    (measure,) = fever_symmetric.SUITE.measures
    metric = next(m for m in measure.metrics if m.name == "consistency")
    scored = [r for r in records if r.status == "scored"]
    outcomes = metric.estimate.values(scored)  # type: ignore[attr-defined]
    assert sorted(outcomes[outcomes == outcomes]) == [100.0, 100.0]


def test_not_enough_info_is_a_wrong_answer_and_the_choice_of_two_stands_beside_it(
    versions: Path,
) -> None:
    def unsure(claim: str, evidence: str) -> Mapping[str, float]:
        agree = ("old" in claim) == ("long ago" in evidence)
        return {"not_enough_info": 0.5, "supports": 0.3 if agree else 0.2, "refutes": 0.25}

    items = loaded(fever_symmetric.SUITE, versions)
    found = result_of(fever_symmetric.SUITE, Pairs("fact_checking", unsure), items)
    assert values(found, "accuracy")[()] == 0.0
    assert values(found, "accuracy_of_two")[()] == 100.0
    two = Pairs("fact_checking", unsure, ("supports", "refutes"))
    assert values(result_of(fever_symmetric.SUITE, two, items), "accuracy")[()] == 100.0


def test_a_label_that_is_never_right_makes_guessing_harder(versions: Path) -> None:
    items = loaded(fever_symmetric.SUITE, versions)
    heads = {3: (), 2: ("supports", "refutes")}
    for n, head in heads.items():
        model = Pairs("fact_checking", by_claim, head)
        found = result_of(fever_symmetric.SUITE, model, items)
        floors = {s.metric: s.floor for s in found.scores if not s.by}
        for name in ("accuracy", "in_distribution_accuracy", "accuracy_with_originals"):
            assert floors[name] == pytest.approx(100 / n)
        assert floors["accuracy_of_two"] == 50
        assert floors["consistency"] == pytest.approx(100 / n**4)


def test_the_claims_of_fever_take_the_place_of_the_originals(versions: Path) -> None:
    rows = [
        {"claim": "A is old .", "label": "SUPPORTS", "evidence": [["A", "0", "Old , it is ."]]},
        {
            "claim": "A is old .",
            "label": "REFUTES",
            "evidence": [["A", "0", "One ."], ["A", "1", "Two ."]],
        },
        {"claim": "B is .", "label": "NOT ENOUGH INFO", "evidence": [["B", "0", "Is ."]]},
    ]
    path = versions / "fever/valid.jsonl"
    path.parent.mkdir()
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    items = loaded(fever_symmetric.SUITE, versions, "en-fever")
    fever = [i for i in items if "development" in i.id]
    assert [i.status for i in fever] == [None, None, "excluded"]
    assert fever[1].texts["evidence"] == "One . Two ."
    assert fever[0].cluster == fever[1].cluster
    found = result_of(fever_symmetric.SUITE, Pairs("fact_checking", by_claim), items)
    assert values(found, "in_distribution_accuracy")[()] == 50.0
    assert values(found, "accuracy")[()] == pytest.approx(100 / 3)
    assert values(found, "accuracy_with_originals")[()] == 50.0
    assert found.score("gap").n == 9 + 2


def test_files_of_claims_that_are_none(versions: Path) -> None:
    path = versions / "fever_symmetric/fever_symmetric_dev.jsonl"
    path.write_text('{"id": "1", "claim": "a", "label": "SUPPORTS"}\n')
    with pytest.raises(DataError, match="has no evidence"):
        loaded(fever_symmetric.SUITE, versions)
    path.write_text("")
    with pytest.raises(DataError, match="holds no pairs"):
        loaded(fever_symmetric.SUITE, versions)
