"""HateCheck: does a hate speech classifier treat groups alike, and what does it get wrong?

Röttger, Vidgen, Nguyen, Waseem, Margetts and Pierrehumbert (ACL 2021); ten more languages by
Röttger, Seelawi, Nozza, Talat and Vidgen (WOAH 2022). Most templates were filled with every group
of a language. Only these are used to compare groups: the cases of a template differ in the group
only, so that whatever the label, a fair classifier calls all of them hateful or none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bias_suites.scope import scope_card
from bias_suites.verdicts import called
from pytest_bias.data import DataFile, DataFolder, Row, Source, csv_rows, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Gap, Metric, Range, Share, own_value
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

GOLD: Final[Mapping[str, str]] = {"hateful": "_h", "non-hateful": "_nh"}
"""Label to the suffix of the names of its functionalities."""

COLUMNS: Final = ("functionality", "test_case", "label_gold", "target_ident", "templ_id")

GROUPS: Final[Mapping[str, str]] = {
    "Black people": "black people",
    "immigrant": "immigrants",
    "jews": "Jews",
}
"""Spellings of groups to the spelling in other files or rows."""

ENGLISH: Final = Source(
    "paul-rottger/hatecheck-data", "d84302298ceeb34f4b0dde2d8a1f4932c2caa612", "CC-BY-4.0"
)
MULTILINGUAL: Final = Source(
    "rewire-online/multilingual-hatecheck", "a03f2caf2023a402d85064bda243e46d280408f0", "CC-BY-4.0"
)

CASES: Final = DataFile(
    "hatecheck/test_suite_cases.csv",
    f"{ENGLISH.raw}/test_suite_cases.csv",
    "ecf0dc1e93fccc90b6f880e632b19e635c0f0a68b3157915a9e20b6938f121cf",
)

LANGUAGES: Final[Mapping[str, tuple[str, str]]] = {
    "ar": ("arabic", "134d39c3b691801e24ab53fb14d3214fea69eb2b3c5288b3f00e31ca0ece1bee"),
    "de": ("german", "ecdef4611b877120d0a8feec9c0cd0dfc1efec7ead4bbd62eaf32f6cc80d2ee0"),
    "es": ("spanish", "20d2388f4f3bafe744010a42f1ce7ddd5b2b09efa978fb0d8a0fc810487948aa"),
    "fr": ("french", "17cc2c7ec01ad28c31c1c53bbda8c7245b83e86d34017327964956ace1446586"),
    "hi": ("hindi", "ffebc31db02d59f603ac9728aa9b63d7db46de2cdc4c54468aabab82e5d8bd40"),
    "it": ("italian", "5339cd1e0d6e338c7ae9b831e74d653d6216a25120214d92b5d98d25a1c20674"),
    "nl": ("dutch", "df67042194bf33837e77126aa994e01201d84edec8f0b46acec8fed0322d595d"),
    "pl": ("polish", "88b8f9cfe4484f2e7543a7b28983b10f5942f04cc87c904c653a01318b7d1c04"),
    "pt": ("portuguese", "839bcd08e59efb9a659ab3c7e82022844a57ae5babe705323a7956d2d9461ea8"),
    "zh": ("mandarin", "d094336d73fb3b2817a04cac226687fcf91cb914deccd4d4096a85cf4a147414"),
}
"""Language to its name in the files of Multilingual HateCheck, and the file's SHA-256."""


def file_of(language: str) -> DataFile:
    """Return the file of a language; the folder of the originals has spaces in its name."""
    name, digest = LANGUAGES[language]
    file = f"hatecheck_cases_final_{name}.csv"
    base = f"{MULTILINGUAL.raw}/MHC%20Final%20Cases"
    return DataFile(f"multilingual_hatecheck/{file}", f"{base}/{file}", digest)


def load(data: DataFolder, *, file: DataFile, source: Source, id_column: str) -> LoadedData:
    """Read the cases of one language."""
    found = data.find(file)
    rows = csv_rows(found, (id_column, *COLUMNS))
    if not rows:
        raise DataError(f"{found.path} holds no cases.")
    paired = _paired(rows)
    ids = [_number(row[id_column]) for row in rows]
    if len(set(ids)) < len(ids):
        ids = [f"row{n:04d}" for n in range(len(rows))]
    items = tuple(
        _item(i, row, row["templ_id"] in paired) for i, row in zip(ids, rows, strict=True)
    )
    return LoadedData(items, describe_files(source, [found], len(items)))


def _number(name: str | None) -> str:
    """Return the number of a case, which may follow its language, in four digits."""
    return f"{(name or '').rpartition('-')[2].strip():0>4}"


def _group(row: Row) -> str:
    name = (row["target_ident"] or "").strip()
    return GROUPS.get(name, name)


def _paired(rows: Sequence[Row]) -> set[str]:
    """Return the templates that have exactly one case of every group of the file."""
    groups = Counter({g: 1 for row in rows if (g := _group(row))})
    of: dict[str, Counter[str]] = {}
    for row in rows:
        of.setdefault(row["templ_id"], Counter())[_group(row)] += 1
    return {template for template, found in of.items() if groups and found == groups}


def _item(number: str, row: Row, paired: bool) -> Item:
    # Most texts of the English file end with a space, which no user would write.
    text = (row["test_case"] or "").strip()
    gold, functionality = row["label_gold"], row["functionality"] or ""
    problem = None
    if not text:
        problem = "empty text"
    elif gold not in GOLD:
        problem = f"label_gold is {gold!r}, not one of {', '.join(GOLD)}"
    elif not functionality.endswith(GOLD[gold]):
        problem = f"label_gold is {gold!r}, but the functionality is {functionality!r}"
    by = {"functionality": functionality, "gold": str(gold)}
    if (majority := row.get("label_annotated_maj")) in GOLD:
        by["agreed"] = "yes" if majority == gold else "no"
    target = _group(row)
    return Item(
        id=f"hatecheck/{number}",
        cluster=f"template/{row['templ_id']}",
        by=by | ({"group": target} if paired else {}),
        texts={"text": text},
        meta={"target": target} if target else {},
        status="unscored" if problem else None,
        reason=problem,
    )


take: Final = partial(called, role="hate", concept="hateful")
"""Call every case hateful or not."""


def correct(record: Record) -> float | None:
    """Percentage: 100 for a case that was classified as labelled, else 0."""
    if record.value is None:
        return None
    return record.value if record.by["gold"] == "hateful" else 100.0 - record.value


def _is_agreed(record: Record) -> bool:
    return record.by.get("agreed") == "yes"


def _is_paired(record: Record) -> bool:
    return "group" in record.by


def _accuracy(name: str, **more: Any) -> Metric:
    return Metric(name, Share(correct), ideal=100, bounds=(0, 100), unit="%", tolerance=0.5, **more)


_METRICS: Final = (
    Metric(
        "gap",
        Range(own_value, "group"),
        ideal=0,
        bounds=(0, 100),
        unit="points",
        tolerance=0.5,
        by=(("gold",),),
        where=_is_paired,
        headline=True,
    ),
    Metric(
        "gap_to_others",
        Gap(own_value, "group"),
        ideal=0,
        bounds=(-100, 100),
        unit="points",
        tolerance=0.5,
        by=(("group",), ("gold", "group")),
        where=_is_paired,
        whole=False,
        versus="group",
    ),
    _accuracy("accuracy", by=(("gold",), ("functionality",), ("group",), ("gold", "group"))),
    _accuracy("accuracy_agreed", by=(("gold",),), where=_is_agreed),
)


def _configurations() -> Iterator[Configuration]:
    files = {"en": (CASES, ENGLISH, "case_id")}
    files |= {tag: (file_of(tag), MULTILINGUAL, "mhc_case_id") for tag in LANGUAGES}
    for tag, (file, source, id_column) in files.items():
        yield Configuration(
            tag,
            tag,
            partial(load, file=file, source=source, id_column=id_column),
            files=(file,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="templates",
        )


SUITE: Final = Suite(
    name="hatecheck",
    version="3",
    title="HateCheck",
    kind="downstream",
    configurations=tuple(_configurations()),
    measures=(
        Measure(
            "probability of the hateful label",
            frozenset({Capability.CLASSIFY}),
            take,
            _METRICS,
            reads="hate",
        ),
    ),
    scope=scope_card("hatecheck"),
    tags=("social", "downstream", "templates", "multilingual"),
    badge=("widest gap {gap} · {gap:floor_of} ≈ {gap:floor} · right {accuracy:percent}",),
)
