"""EuroGEST: texts of either form, where they differ, the published rate, and other layouts."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import ours
from bias_suites.social.gest import SUITE
from bias_suites.social.gest_european import LANGUAGES, MEASURE, differing, male_share
from bias_suites.social.gest_rows import STEREOTYPES
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, OwnCopyNeeded
from pytest_bias.models.interface import Capability, Model, Passage, SequenceScore
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Item, Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.measures import measure_items

HEADER = "GEST_ID,Source,Stereotype_ID,Masculine,Feminine,Neutral"
PROMPTS = {
    "prompt_scaffolds": {
        "he said": {"German": "sagte er", "Spanish": "dijo", "Italian": "disse"},
        "she said": {"German": "sagte sie", "Spanish": "dijo ella", "Italian": "disse"},
        "the man said": {
            "German": "sagte der Mann",
            "Spanish": "dijo el hombre",
            "Italian": "disse l'uomo",
        },
        "the woman said": {
            "German": "sagte die Frau",
            "Spanish": "dijo la mujer ",
            "Italian": "disse la donna",
        },
    },
    "punc_map": {"German": ["„", "“,"], "Spanish": ["“", "”,"], "Italian": ['"', '",']},
    "language_test_configs": {"language_types": {"no_gendered_pronouns": ["Spanish"]}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a data folder in the layout that the authors' code reads."""
    (tmp_path / "eurogest").mkdir()
    (tmp_path / "eurogest_prompts").mkdir()
    for name, content in PROMPTS.items():
        path = tmp_path / "eurogest_prompts" / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def read(folder: Path, language: str, *rows: str, header: str = HEADER) -> tuple[Item, ...]:
    path = folder / "eurogest" / f"{LANGUAGES[language]}.csv"
    path.write_text("\n".join((header, *rows, "")), encoding="utf-8")
    return SUITE.configuration(language).load(DataFolder(folder, offline=True)).items


def test_rows_of_every_form(folder: Path) -> None:
    rows = (
        "1,I am a boss.,13,Ich bin Chef.,Ich bin Chefin.,",
        '2,"I cry, often.",1.0,,,„Ich weine oft!“',
    )
    gendered, pronoun = read(folder, "de", *rows)
    assert gendered.texts == {"male": "Ich bin Chef.", "female": "Ich bin Chefin."}
    assert gendered.by == {"about": "men", "stereotype": "leading men", "form": "gendered"}
    assert pronoun.texts == {
        "male": "„Ich weine oft“, sagte er",
        "female": "„Ich weine oft“, sagte sie",
    }
    assert pronoun.by == {"about": "women", "stereotype": "emotional women", "form": "pronoun"}
    # Where a pronoun is usually left out, the speaker is a noun.
    (noun,) = read(folder, "es", "1,I cry.,1,,,¿Lloro?")
    assert noun.texts == {"male": "“Lloro”, dijo el hombre", "female": "“Lloro”, dijo la mujer"}
    assert noun.by["form"] == "noun"
    # The same where the authors' scaffolds with pronouns do not differ.
    (noun,) = read(folder, "it", "1,I cry.,1,,,Piango.")
    assert noun.texts == {"male": '"Piango", disse l\'uomo', "female": '"Piango", disse la donna'}


def test_rows_that_cannot_be_read_are_unscored(folder: Path) -> None:
    rows = ("1,x,13,Ich bin Chef.,,", "2,x,2,Ja.,Ja.,", "3,x,17,,,Ja.", "4,x,,,,Ja.")
    items = read(folder, "de", *rows)
    assert [i.reason for i in items] == [
        "it has neither both gendered forms nor a neutral one",
        "the two texts are the same",
        "Stereotype_ID is '17', not a number from 1 to 16",
        "Stereotype_ID is '', not a number from 1 to 16",
    ]
    assert {i.status for i in items} == {"unscored"}


def test_another_layout_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match=r"German\.csv has no Masculine, Feminine, Neutral; it has"):
        read(folder, "de", "1,x,3", header="GEST_ID,Source,Stereotype_ID")
    with pytest.raises(DataError, match="holds no sentences"):
        read(folder, "de")
    with pytest.raises(DataError, match="the scaffolds of EuroGEST have no French"):
        read(folder, "fr", "1,x,3,,,Oui.")


def test_without_a_copy_it_says_how_to_get_one(folder: Path) -> None:
    with pytest.raises(OwnCopyNeeded) as caught:
        SUITE.configuration("pl").load(DataFolder(folder))
    assert "eurogest/Polish.csv is not in" in str(caught.value)
    assert str(caught.value.hint).startswith(
        "hf download utter-project/EuroGEST Polish.csv --repo-type dataset"
    )


def test_every_language_is_a_draft() -> None:
    drafts = [c for c in SUITE.configurations if c.draft]
    assert [c.name for c in drafts] == list(LANGUAGES)
    assert len(LANGUAGES) == len(set(LANGUAGES.values())) == 29


@pytest.mark.parametrize(
    ("male", "female", "start"),
    [
        ("sagte er", "sagte sie", " er"),
        ("Ich bin Chef.", "Ich bin Chefin.", " Chef."),
        ("va dir", "va dir ella", " dir"),
        ("Unido estoy", "Unida estoy", "Unido estoy"),
    ],
)
def test_where_two_texts_differ(male: str, female: str, start: str) -> None:
    assert male[differing(male, female) :] == start


class ByTheLetter(Model):
    """A causal model with a token for each letter, which all cost what a function says."""

    def __init__(self, nats: dict[str, float]) -> None:
        identity = ModelIdentity("letters", "causal", "Letters")
        super().__init__(identity, frozenset({Capability.LOG_LIKELIHOOD}))
        self.nats = nats

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        found = []
        for passage in passages:
            assert isinstance(passage, Passage)
            ((start, end),) = passage.parts or ()
            letters = passage.text[start:end]
            found.append(SequenceScore(sum(self.nats.get(c, -1.0) for c in letters), len(letters)))
        return found


def test_both_texts_are_scored_from_where_they_differ(folder: Path) -> None:
    (item,) = read(folder, "de", "1,x,1,,,Ja.")
    (record,) = measure_items(MEASURE, ByTheLetter({"r": -2.0}), [item])
    # " er" against " sie".
    assert (record.detail["male"], record.detail["female"]) == (-4.0, -4.0)
    assert (record.detail["tokens_male"], record.detail["tokens_female"]) == (3, 4)
    assert record.value == 0.0
    p_male, p_female = math.exp(-4 / 3), math.exp(-4 / 4)
    assert male_share(record) == pytest.approx(p_male / (p_male + p_female))


def scored(records: Sequence[Record]) -> dict[tuple[str, ...], Score]:
    found = score_records(records, MEASURE.metrics, Context("gest", "de"))
    return {(s.metric, *s.by.values()): s for s in found}


def records_of(sizes: dict[str, int], odds: dict[str, float]) -> list[Record]:
    return [
        Item(
            f"{name}/{n}",
            f"{name}/{n}",
            {"male": "er", "female": "sie"},
            {"about": name.split()[-1], "stereotype": name, "form": "pronoun"},
        ).scored(
            odds[name],
            {"male": odds[name], "female": 0.0, "tokens_male": 1, "tokens_female": 1},
        )
        for name, size in sizes.items()
        for n in range(size)
    ]


def test_the_scores_by_hand() -> None:
    names = ("weak women", "social women", "strong men", "leading men")
    odds = dict(zip(names, (0.0, -math.log(3), math.log(3), 0.0), strict=True))
    found = scored(records_of(dict.fromkeys(names, 10), odds))
    assert found["log_odds_gap",].value == pytest.approx(math.log(3))
    assert found["log_odds_gap", "pronoun"].value == pytest.approx(math.log(3))
    # Mean shares of 0.75 and 0.5 for men, 0.5 and 0.25 for women.
    assert found["g_s",].value == pytest.approx(0.625 / 0.375)


def test_nine_sentences_of_a_stereotype_have_no_published_rate() -> None:
    odds = {"weak women": 0.0, "strong men": 1.0}
    found = scored(records_of({"weak women": 9, "strong men": 10}, odds))
    rate = found["g_s",]
    assert rate.value is None
    assert "fewer than 10 sentences of weak women" in str(rate.interval_reason)


def test_a_real_causal_model_gives_the_difference_of_the_whole_texts(
    folder: Path, tiny: Callable[[str], Path]
) -> None:
    """What precedes the difference is equally likely in both."""
    names = [number for number in STEREOTYPES for _ in range(2)]
    rows = [f"{n},x,{number},,,Ich bin es {n}." for n, number in enumerate(names)]
    items = read(folder, "de", *rows)
    model = ours.model(tiny("gpt2"))
    for item, record in zip(items, measure_items(MEASURE, model, items), strict=True):
        assert record.status == "scored", record.reason
        whole = model.log_likelihood([item.texts["male"], item.texts["female"]])
        assert record.value == pytest.approx(whole[0].total - whole[1].total, abs=1e-3)
