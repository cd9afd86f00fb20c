"""The rows of BBQ: questions, with the right, the unknown and the stereotypical answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, Final

from bias_suites.disputes import disputes_of
from bias_suites.social import bbq_groups
from bias_suites.social.bbq_groups import DIFFERING, Person
from bias_suites.social.bbq_scores import ROWS_OF_A_SET
from pytest_bias.data import DataFolder, FoundFile, Row, Source, describe_files, json_lines
from pytest_bias.errors import DataError
from pytest_bias.records import Item, sha256
from pytest_bias.suites import LoadedData

SOURCE: Final = Source("nyu-mll/BBQ", "bea11bd97d79217245b5871acd247b9d6eb24598", "CC-BY-4.0")
CATEGORIES: Final = {
    "Age": "46e805b3fc2d8cbd26eeb8e8430d98cf7b2dc9c83574ff3674e8ce4f0fca2a60",
    "Disability_status": "375d40d9b71f056150264445ec189b13934998f3f49a1e311aa7578eb3b45e5f",
    "Gender_identity": "8b5adbb368510a97d5775dc43e1c719e0249fe2da33f13c83e3e29edafec7a00",
    "Nationality": "a583e74666aec0341ded8aa3983e7cad694eb24de72c254d28b2df3035720090",
    "Physical_appearance": "e48d7e13508565f4801574e611043470c25c95a0a62af3699cb5ee7cb02608fb",
    "Race_ethnicity": "4a9f1214cfaa115ce7f0bdb40609122e431f5152c71b8ca64d665e483b946ae6",
    "Race_x_SES": "af8e2ae3d0e5be9ebcbfe7149e591d47ff649e263307f4548f7fb12f6a6d83e8",
    "Race_x_gender": "e5dbba782f8c4e25b99dd5470b5136e2db73dbf401cf6d4a5a3ed31b02f95696",
    "Religion": "cb9555f9f3454a52cd2df85956b59bd7fcca5aa922c8527693b1164d08417616",
    "SES": "9f92754bb037b0982604b9112705fb81d60a19d9e759c67e4a85e484a070f528",
    "Sexual_orientation": "2c71036b9e7584fe589c42aef32c1a42bc01b9a5e9b1b8704342630cdb08cefd",
}
"""Category to the SHA-256 of its file."""
SAMPLE: Final = "bbq_sample.jsonl"
FILES: Final = SOURCE.files(
    SOURCE.raw,
    {f"bbq/data/{name}.jsonl": digest for name, digest in CATEGORIES.items()},
)
COLUMNS: Final = (
    "example_id",
    "question_index",
    "question_polarity",
    "context_condition",
    "category",
    "answer_info",
    "additional_metadata",
    "context",
    "question",
    "ans0",
    "ans1",
    "ans2",
    "label",
)
ANSWERS: Final = ("ans0", "ans1", "ans2")
UNKNOWN: Final = "unknown"
ALIKE: Final = "two answers are the same"
CONTEXTS: Final[Mapping[str, str]] = {"ambig": "ambiguous", "disambig": "disambiguated"}
POLARITIES: Final = ("neg", "nonneg")


def load(data: DataFolder, *, sets: int | None = None) -> LoadedData:
    """Read all categories, or a number of sets of four rows per template."""
    found = [data.find(file) for file in FILES]
    items: list[Item] = []
    for category, file in zip(CATEGORIES, found, strict=True):
        rows = json_lines(file, COLUMNS)
        if not rows:
            raise DataError(f"{file.path} holds no questions.")
        if wrong := next((r for r in rows if not isinstance(r["example_id"], int)), None):
            raise DataError(f"{file.path}: example_id is {wrong['example_id']!r}, not a number.")
        items += [_item(category, row) for row in (rows if sets is None else _some(rows, sets))]
    return LoadedData(tuple(items), describe_files(SOURCE, found, len(items)))


def load_sample(data: DataFolder) -> LoadedData:
    """Read the rows that come with the package: three sets of four per category, all decided.

    They are unchanged but for the addresses in ``additional_metadata``, which are left out:
    Parrish et al. 2022, CC-BY-4.0.
    """
    content = files("bias_suites.social").joinpath(SAMPLE).read_bytes()
    found = FoundFile(SAMPLE, content, sha256(content), local=False)
    items = tuple(_item(str(row["category"]), row) for row in json_lines(found, COLUMNS))
    info = describe_files(SOURCE, [found], len(items))
    return LoadedData(items, replace(info, source=f"{info.source}, rows in the package"))


def _some(rows: Sequence[Row], sets: int) -> list[Row]:
    """Return the rows of a number of sets per template, chosen by a hash of their number."""
    numbers: dict[str, set[int]] = {}
    for row in rows:
        numbers.setdefault(str(row["question_index"]), set()).add(_set(row))
    chosen = {
        template: sorted(found, key=lambda n: sha256(f"bbq/{n}"))[:sets]
        for template, found in numbers.items()
    }
    return [row for row in rows if _set(row) in chosen[str(row["question_index"])]]


def _set(row: Row) -> int:
    number: int = row["example_id"] // ROWS_OF_A_SET
    return number


def _item(category: str, row: Row) -> Item:
    name = f"bbq/{category}/{row['example_id']}"
    made = item(category, row, name, f"bbq/{category}/{row['question_index']}")
    return replace(made, meta={**made.meta, "disputed": name in disputes_of("bbq", "en")})


def item(category: str, row: Row, name: str, cluster: str) -> Item:
    """Return the item of a row, which may be of another data set in the layout of BBQ."""
    texts = {key: str(row[key]).strip() for key in ("context", "question", *ANSWERS)}
    context = CONTEXTS.get(row["context_condition"])
    meta, problem = _roles(category, row)
    if row["category"] != category:
        problem = f"category is {row['category']!r}, not {category}"
    elif context is None:
        problem = f"context_condition is {row['context_condition']!r}, not ambig or disambig"
    elif not all(texts.values()):
        problem = "a text is empty"
    elif are_alike([texts[key] for key in ANSWERS]):
        problem = ALIKE
    elif not problem and (meta["label"] == meta["unknown"]) != (context == "ambiguous"):
        problem = f"label does not name the right answer of a context that is {context}"
    by = {"category": category, "context": context, "differing": _differing(category, row)}
    names = {"names": tuple(str(_info(row, key)[0]) for key in ANSWERS)} if not problem else {}
    excluded = problem in (bbq_groups.NO_GROUP, bbq_groups.ONE_GENDER)
    return Item(
        name,
        cluster,
        texts,
        {key: group for key, group in by.items() if group},
        ({} if problem else meta) | names,
        status=("excluded" if excluded else "unscored") if problem else None,
        reason=problem,
    )


def are_alike(answers: Sequence[str]) -> bool:
    """Whether answers are the same but for white space and case, so that none can be chosen."""
    return len({" ".join(answer.split()).casefold() for answer in answers}) < len(answers)


def _differing(category: str, row: Row) -> str | None:
    """Return what the two people of a crossed category differ in."""
    metadata = row["additional_metadata"]
    kind = metadata.get("subcategory") if isinstance(metadata, dict) else None
    return DIFFERING.get(category, {}).get(str(kind))


def _roles(category: str, row: Row) -> tuple[dict[str, Any], str | None]:
    """Return the numbers of the right, the unknown and the stereotypical answer, or what is wrong.

    The person whom the stereotype is about is the stereotypical answer to a negative question; to a
    non-negative question it is the other person.
    """
    infos = [_info(row, key) for key in ANSWERS]
    if not all(len(info) == 2 for info in infos):
        return {}, "answer_info does not give a name and a group for every answer"
    unknown = [n for n, info in enumerate(infos) if info[1] == UNKNOWN]
    if len(unknown) != 1:
        return {}, f"{len(unknown)} answers are of the group unknown, not one"
    groups = row["additional_metadata"]
    stereotyped = groups.get("stereotyped_groups") if isinstance(groups, dict) else None
    if not isinstance(stereotyped, list):
        return {}, "additional_metadata has no list of stereotyped_groups"
    persons = {n: Person(*info) for n, info in enumerate(infos) if n not in unknown}
    template = str(row["question_index"])
    about = bbq_groups.about(category, persons, tuple(map(str, stereotyped)), template)
    if len(about) != 1:
        told = f"stereotyped_groups name {len(about)} of the two people, not one"
        return {}, bbq_groups.undecided(category, persons) or told
    if row["question_polarity"] not in POLARITIES:
        return {}, f"question_polarity is {row['question_polarity']!r}, not neg or nonneg"
    if row["label"] not in range(len(ANSWERS)):
        return {}, f"label is {row['label']!r}, not 0, 1 or 2"
    negative = row["question_polarity"] == "neg"
    biased = next(n for n in persons if (n == about[0]) == negative)
    return {"label": row["label"], "unknown": unknown[0], "biased": biased}, None


def _info(row: Row, key: str) -> list[str]:
    info = row["answer_info"]
    found = info.get(key) if isinstance(info, dict) else None
    return [str(part) for part in found] if isinstance(found, list) else []
