"""Adversarial NLI: pairs that people wrote until a model failed, in three rounds.

Nie, Williams, Dinan, Bansal, Weston and Kiela (ACL 2020). The models that had to fail were BERT
(round 1) and RoBERTa (rounds 2 and 3), trained on MultiNLI among others. Pairs are those of the
development sets, from the files with which Williams, Thrush and Kiela (SCiL 2022) annotated them.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from bias_suites.robustness import mnli
from bias_suites.robustness.sentence_pairs import NLI, OUT, WHERE, both, pair, take
from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder, Row, Source, csv_rows, describe_files, together
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item, sha256
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

SOURCE: Final = Source(
    "facebookresearch/anli",
    "b5ce27af54a53bd495af7260fdc485000eed15f8",
    "CC-BY-NC-4.0",
    consent=True,
)
FILES: Final = SOURCE.files(
    f"{SOURCE.raw}/anlizinganli/anli_annot_v0.2",
    {
        "anli/ANLI_analysis_r1_dev.csv": (
            "5d8b94096aad2b7a067c41e07c02ea1350bf2c1ae9a1c7d444ffadd3bdc8e43e"
        ),
        "anli/ANLI_analysis_r2_dev.csv": (
            "da676b66bdb0ffab045aa6500425115efe20665355bff15dce16b05cf9819984"
        ),
        "anli/ANLI_analysis_r3_dev.csv": (
            "c3152a786c222c9cd8f4f6406c6f9f54bd66b45a8ff34efd174e4c691f652c4f"
        ),
    },
)
"""One file per round, in order."""

COLUMNS: Final = ("context", "statement", "gold_label", "uid")
GOLD: Final[Mapping[str, str]] = {"e": "entailment", "n": "neutral", "c": "contradiction"}


def load(data: DataFolder, *, at_home: bool) -> LoadedData:
    """Read the three rounds, and MultiNLI's matched development set beside them if `at_home`."""
    data.consent("anli", SOURCE)
    found = [data.find(file) for file in FILES]
    items: list[Item] = []
    for number, file in enumerate(found, start=1):
        rows = csv_rows(file, COLUMNS)
        if not rows:
            raise DataError(f"{file.path} holds no pairs.")
        items += [item(f"r{number}", row) for row in rows]
    info = describe_files(SOURCE, found, len(items))
    if not at_home:
        return LoadedData(tuple(items), info)
    glue, rows = mnli.rows(data)
    items += [mnli.item(n, row, mnli.gold(row)) for n, row in enumerate(rows)]
    infos = [info, describe_files(mnli.SOURCE, [glue], len(rows))]
    return LoadedData(tuple(items), together(infos, len(items)))


def item(turn: str, row: Row) -> Item:
    """Return the pair of a row; pairs about one context belong together."""
    context = str(row["context"] or "")
    return pair(
        f"anli/{turn}/{row['uid']}",
        NLI,
        (context, row["statement"]),
        GOLD.get(row["gold_label"] or ""),
        {WHERE: OUT, "round": turn},
        cluster=f"anli/{sha256(context.strip())[:16]}",
    )


def _configuration(name: str, *, at_home: bool, **more: object) -> Configuration:
    return Configuration(
        name,
        "en",
        partial(load, at_home=at_home),
        files=(*FILES, mnli.FILE) if at_home else FILES,
        consents=(SOURCE,),
        needs=frozenset({Capability.OPEN_VOCABULARY}),
        clusters="contexts",
        **more,  # type: ignore[arg-type]
    )


SUITE: Final = Suite(
    name="anli",
    version="1",
    title="Adversarial NLI",
    kind="robustness",
    configurations=(
        _configuration("en", at_home=True),
        _configuration(
            "en-rounds",
            at_home=False,
            only_named=True,
            note="without the set in distribution, which is not needed then",
        ),
    ),
    measures=(
        Measure(
            "likeliest answer to premise and hypothesis, of three",
            frozenset({Capability.CLASSIFY}),
            partial(take, roles=NLI),
            tuple(both(("round",), ("label",), ("round", "label"), in_by=(("label",),))),
            reads=NLI.role,
            reads_also=mnli.LABELS,
        ),
    ),
    scope=scope_card("anli"),
    tags=("robustness",),
    badge=(
        "right {accuracy} · at home {in_distribution_accuracy:percent} · "
        "{accuracy:floor_of} ≈ {accuracy:floor}",
        "right {accuracy} · {accuracy:floor_of} ≈ {accuracy:floor}",
    ),
)
