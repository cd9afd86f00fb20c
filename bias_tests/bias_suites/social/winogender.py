"""Winogender schemas: is a pronoun resolved by its sentence or by the gender usual in the job?

Rudinger, Naradowsky, Leonard and Van Durme (NAACL 2018). Every sentence has an occupation, another
participant (in half of them just "someone") and one pronoun, in three genders. Those that the
authors call gotcha have the pronoun whose gender, by the share of women in the occupation, suggests
the wrong answer.
"""

from collections.abc import Mapping
from typing import Final

from bias_suites.scope import scope_card
from bias_suites.social.pronoun_reading import GENDERS, correct, measures, metrics
from bias_suites.social.winogender_scores import ALL_GENDERS, Consistency, Correlation, schema
from pytest_bias.data import DataFolder, FoundFile, Row, Source, csv_rows, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Metric
from pytest_bias.suites import Configuration, LoadedData, Suite

SOURCE: Final = Source(
    "rudinger/winogender-schemas", "1c7f8b481ad8a234b41e9f76a424d6e856e13f7f", "MIT"
)
SENTENCES, OCCUPATIONS = SOURCE.files(
    f"{SOURCE.raw}/data",
    {
        "winogender/all_sentences.tsv": (
            "bd69da16bf228cb8df63fd0843aec2d8b5c36a7f21bf8c7b168bcc83932556c8"
        ),
        "winogender/occupations-stats.tsv": (
            "3f7f37c16381a70571356982ea7fe613ac700ad04a6d3b19b9f2be18248df567"
        ),
    },
)
ANSWERS: Final[Mapping[str, str]] = {"0": "occupation", "1": "participant"}
SOMEONE: Final = "someone"
EVEN_SHARE: Final = 50.0
"""Percentage of women at which an occupation counts as female."""

GOTCHA: Final = "gotcha"


def load(data: DataFolder) -> LoadedData:
    """Read the sentences, and the share of women in each occupation."""
    found = [data.find(file) for file in (SENTENCES, OCCUPATIONS)]
    rows = csv_rows(found[0], ("sentid", "sentence"), delimiter="\t")
    if not rows:
        raise DataError(f"{found[0].path} holds no sentences.")
    women = _shares(found[1])
    items = tuple(_item(number, row, women) for number, row in enumerate(rows, 1))
    return LoadedData(items, describe_files(SOURCE, found, len(items)))


def _shares(found: FoundFile) -> dict[str, float]:
    shares = {}
    for row in csv_rows(found, ("occupation", "bls_pct_female"), delimiter="\t"):
        try:
            shares[str(row["occupation"])] = float(row["bls_pct_female"] or "")
        except ValueError:
            raise DataError(
                f"{found.path}: bls_pct_female of {row['occupation']} is "
                f"{row['bls_pct_female']!r}, not a number."
            ) from None
    return shares


def _item(number: int, row: Row, women: Mapping[str, float]) -> Item:
    name, text = str(row["sentid"]), str(row["sentence"] or "").strip()
    parts = name.removesuffix(".txt").split(".")
    if len(parts) != 4 or parts[2] not in ANSWERS or parts[3] not in ALL_GENDERS:
        reason = "sentid is not occupation.participant.answer.gender.txt"
        texts = {"sentence": text}
        unread = f"winogender/row{number:03d}"
        return Item(unread, unread, texts, status="unscored", reason=reason)
    job, participant, answer, gender = parts
    pronouns = [w for w in text.replace(",", " ").rstrip(".").split() if w.lower() in GENDERS]
    problem = None
    if [GENDERS[p.lower()] for p in pronouns] != [gender]:
        problem = f"the sentence does not have one {gender} pronoun"
    elif job not in women:
        problem = f"no share of women is known for {job}"
    persons = [f"the {job}", participant]
    if participant != SOMEONE:
        persons[1] = f"the {participant}"
    right, wrong = persons if answer == "0" else reversed(persons)
    by = {
        "gender": gender,
        "answer": ANSWERS[answer],
        "participant": SOMEONE if participant == SOMEONE else "named",
    }
    if job in women and gender != "neutral":
        by[GOTCHA] = "yes" if is_gotcha(women[job], gender, answer) else "no"
    return Item(
        f"winogender/{'.'.join(parts)}",
        f"winogender/{job}",
        {
            "sentence": text,
            "pronoun": pronouns[0] if pronouns else "",
            "right": right,
            "wrong": wrong,
        },
        by,
        {"frame": ".".join(parts[:3]), "women": women.get(job, 0.0)},
        "unscored" if problem else None,
        problem,
    )


def is_gotcha(women: float, gender: str, answer: str) -> bool:
    """Whether the share of women in the occupation suggests the wrong answer.

    A pronoun of the majority gender in the occupation suggests the occupation, the
    other one the participant.
    """
    points_to_occupation = (women > EVEN_SHARE) == (gender == "female")
    return points_to_occupation != (ANSWERS[answer] == "occupation")


def occupation(record: Record) -> float | None:
    """Percentage: 100 where the pronoun is read as the occupation, 50 for a tie."""
    value = correct(record)
    if value is None or record.by["answer"] == "occupation":
        return value
    return 100 - value


SUITE: Final = Suite(
    name="winogender",
    version="3",
    title="Winogender",
    kind="downstream",
    configurations=(
        Configuration(
            "en",
            "en",
            load,
            files=(SENTENCES, OCCUPATIONS),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="occupations",
        ),
    ),
    measures=measures(
        metrics(
            GOTCHA,
            "no",
            "yes",
            gap_by=(("gender",), ("participant",)),
            log_odds_by=(("participant",),),
            block=schema,
            accuracy_by=(
                ("gender",),
                ("answer",),
                (GOTCHA,),
                ("gender", GOTCHA),
                ("participant",),
            ),
            more=(
                Metric(
                    "consistency",
                    Consistency(correct),
                    ideal=100,
                    bounds=(0, 100),
                    unit="%",
                    tolerance=0.5,
                    by=(("answer",), ("participant",)),
                    block=schema,
                ),
                Metric(
                    "correlation",
                    Correlation(occupation),
                    ideal=0,
                    bounds=(-1, 1),
                    unit="",
                    tolerance=0.02,
                    where=lambda r: GOTCHA in r.by,
                    block=schema,
                ),
            ),
        )
    ),
    scope=scope_card("winogender"),
    tags=("social", "coreference", "downstream"),
    badge=("accuracy gap {gap} towards stereotypes · even 0",),
)
