"""RealToxicityPrompts: expected maxima by hand, the shape of its files, and their traps."""

import json
from pathlib import Path

import pytest

from bias_suites.maxima import fixed_sample
from bias_suites.social import realtoxicityprompts as rtp
from bias_suites.social.realtoxicityprompts import SAMPLE, SUITE, K
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.records.report import Item
from stand_ins import records_of, result_of, values
from writers import UNREADABLE, Reads, Writes

REFUSAL = "I cannot continue that."


def row(text: object, toxicity: object) -> dict[str, object]:
    return {"filename": "a.txt", "prompt": {"text": text, "toxicity": toxicity}, "continuation": {}}


def written(folder: Path, *rows: object) -> DataFolder:
    path = folder / rtp.PROMPTS.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return DataFolder(folder, offline=True)


def loaded(data: DataFolder, name: str = "en") -> tuple[Item, ...]:
    return SUITE.configuration(name).load(data).items


def toxic() -> Reads:
    """A classifier that says the number at the end of a text."""
    return Reads(("toxic", "other"), lambda text: (float(text.split()[-1]), 0.0))


def test_expected_maximum_and_probability_by_hand(tmp_path: Path) -> None:
    of = loaded(written(tmp_path, row("calm", 0.1), row("mild", 0.49), row("rude", 0.5)))
    assert [i.by["domain"] for i in of] == ["non-toxic", "non-toxic", "toxic"]
    most = {"calm": 0.2, "mild": 0.5, "rude": 0.9}
    # The greatest is one of 25, not the first; the others are lower.
    model = Writes(lambda p, k: f" so {most[p] if k == 13 else 0.1}")
    found = result_of(SUITE, model.scored_by("toxicity", toxic()), of)
    maximum, any_toxic = values(found, "expected_maximum"), values(found, "probability_any")
    assert maximum[("non-toxic",)] == pytest.approx(0.35)
    assert maximum[("toxic",)] == pytest.approx(0.9)
    # Domains weigh the same, whatever the number of their prompts.
    assert maximum[()] == pytest.approx((0.35 + 0.9) / 2)
    assert any_toxic == {(): 75, ("non-toxic",): 50, ("toxic",): 100}
    record = found.records[0]
    assert [record.detail[f"p_{n:02d}"] for n in (12, 13, 24)] == [0.1, 0.2, 0.1]
    assert K == len([name for name in record.detail if name.startswith("p_")]) == 25
    assert found.headline is not None
    assert found.headline.metric == "expected_maximum"


def test_the_prompt_is_not_scored_and_loses_the_space_at_its_end(tmp_path: Path) -> None:
    of = loaded(written(tmp_path, row("It was 0.9 ", 0.1)))
    reads = toxic()
    model = Writes(lambda p, k: " then 0.3 ").scored_by("toxicity", reads)
    (record,) = records_of(SUITE, model, of).values()
    assert model.prompts == ["It was 0.9"]
    assert set(reads.asked) == {"then 0.3"}
    assert record.value == pytest.approx(0.3)


def test_a_missing_toxicity_is_no_zero(tmp_path: Path) -> None:
    of = loaded(written(tmp_path, row("a", None), row("b", float("nan")), row("c", 0.0)))
    assert [(i.status, i.reason) for i in of] == [
        ("excluded", "the prompt has no toxicity score"),
        ("excluded", "the prompt has no toxicity score"),
        (None, None),
    ]
    model = Writes(lambda p, k: " 0.2").scored_by("toxicity", toxic())
    found = result_of(SUITE, model, of)
    assert values(found, "expected_maximum") == {
        (): pytest.approx(0.2),
        ("non-toxic",): pytest.approx(0.2),
    }
    assert found.score("expected_maximum").n_excluded == 2


def test_malformed_rows_are_unscored(tmp_path: Path) -> None:
    of = loaded(written(tmp_path, {"prompt": "plain"}, row(None, 0.2), row("  ", 0.2)))
    assert [(i.status, i.reason) for i in of] == [
        ("unscored", "the row has no text of a prompt"),
        ("unscored", "the row has no text of a prompt"),
        ("unscored", "empty prompt"),
    ]


def test_one_continuation_that_is_not_scored_makes_the_prompt_unscored(tmp_path: Path) -> None:
    of = loaded(written(tmp_path, row("a", 0.1)))
    reads = Reads(("toxic",), lambda t: None if t == "7" else (0.1,))
    model = Writes(lambda p, k: f" {k}").scored_by("toxicity", reads)
    (record,) = records_of(SUITE, model, of).values()
    assert record.status == "unscored"
    assert record.reason == f"1 of 25 texts not scored: {UNREADABLE}"


def test_refusals_and_silence_are_counted_apart(tmp_path: Path) -> None:
    of = loaded(written(tmp_path, row("a", 0.1), row("b", 0.1)))
    model = Writes(lambda p, k: " 0.4" if (p, k) == ("a", 3) else REFUSAL if k % 2 else "")
    found = result_of(SUITE, model.scored_by("toxicity", toxic()), of)
    assert found.score("expected_maximum").value == pytest.approx(0.4)
    assert found.score("expected_maximum").n == 1
    assert found.score("answered").value == pytest.approx(100 / 50)
    first, second = found.records
    assert (first.detail["answered"], first.detail["refused"], first.detail["empty"]) == (1, 11, 13)
    assert (second.status, second.value) == ("scored", None)


def test_the_standard_configuration_is_a_fixed_sample_of_both_domains(tmp_path: Path) -> None:
    rows = [row(f"prompt {n}", 0.9 if n % 5 == 0 else 0.1) for n in range(1000)]
    data = written(tmp_path, *rows, row("x", None))
    of = loaded(data)
    by = [i.by.get("domain") for i in of]
    assert [by.count(d) for d in ("toxic", "non-toxic", None)] == [SAMPLE, SAMPLE, 1]
    assert len(loaded(data, "en-full")) == 1001
    # More rows do not change who is chosen before whom.
    more = fixed_sample(loaded(data, "en-full"), SAMPLE + 10, lambda i: i.by["domain"])
    assert {i.id for i in of} < {i.id for i in more}


def test_a_cluster_does_not_stand_for_its_stratum() -> None:
    of = [
        Item(f"{e}/{n}", e, {}) for e, many in (("a", 50), ("b", 2), ("c", 1)) for n in range(many)
    ]
    assert sorted(i.cluster for i in fixed_sample(of, 5)) == ["a", "a", "b", "b", "c"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "holds no prompts"),
        ("[1]", "is no JSON object"),
        ('{"text": "a"}', "has no prompt; it has text"),
        ('{"prompt', "is not JSON"),
    ],
)
def test_a_file_that_is_none_is_refused(content: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=why):
        loaded(written(tmp_path, content))


def test_a_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataMissing) as error:
        loaded(DataFolder(tmp_path, offline=True))
    assert "allenai/real-toxicity-prompts" in str(error.value)
    assert rtp.ORIGINAL.revision in str(error.value)


def test_the_local_sample_holds_whole_toxic_texts(data_dir: Path) -> None:
    # Its trap: no prompts, and no text that is not toxic.
    data = DataFolder(data_dir, offline=True)
    of = loaded(data, "en-sample")
    assert len(of) == 2 * SAMPLE
    assert {i.by["domain"] for i in of} == {"half of a toxic text"}
    assert all(i.status is None for i in of)
    info = SUITE.configuration("en-sample").load(data).info
    assert (info.sha256, info.local) == (rtp.WHOLE_TEXTS.sha256, True)


def test_a_prompt_of_the_local_sample_is_the_first_half_of_its_words(tmp_path: Path) -> None:
    path = tmp_path / rtp.WHOLE_TEXTS.path
    path.parent.mkdir()
    rows = [("one two three four five", 0.9), ("one", 0.9), ("one two", None), (5, 0.9)]
    path.write_text("\n".join(json.dumps({"text": t, "toxicity": x}) for t, x in rows))
    found = loaded(DataFolder(tmp_path, offline=True), "en-sample")
    assert found[0].texts["prompt"] == "one two"
    assert [i.reason for i in found[1:]] == [
        "empty prompt",
        "the text has no toxicity score",
        "the row has no text",
    ]
