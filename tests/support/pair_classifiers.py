"""Classifiers of pairs that are functions, and data files in the shape of the published ones."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pytest_bias.models.interface import Capability, Classification, Model, Outputs, Text
from pytest_bias.models.labels import ROLES, labels_for
from pytest_bias.records.report import ModelIdentity
from stand_ins import UNREADABLE

Answers = Callable[[str, str], Mapping[str, float] | None]


class Pairs(Model):
    """A classifier whose probabilities of concepts are a function of the two texts.

    Null means that the pair cannot be read; concepts that are not there have none.
    """

    def __init__(
        self,
        role: str,
        of: Answers,
        head: Sequence[str] = (),
        outputs: Outputs = Outputs.SINGLE_LABEL,
    ) -> None:
        super().__init__(
            ModelIdentity("pairs", "classifier", "Pairs"), frozenset({Capability.CLASSIFY})
        )
        self.labels = tuple(head or ROLES[role].heads[0])
        self.of, self.outputs = of, outputs
        self.label_names = {role: labels_for(role, self.labels, {}, "pairs")}
        self.asked: list[Text] = []

    def classify(self, texts: Sequence[Text]) -> Classification:
        self.asked += texts
        assert all(isinstance(t, tuple) for t in texts), "not a pair"
        found = [self.of(*text) for text in texts]
        rows = [[(f or {}).get(label, 0.0) for label in self.labels] for f in found]
        reasons = tuple(UNREADABLE if f is None else None for f in found)
        return Classification(
            self.labels, self.outputs, np.array(rows).reshape(len(rows), -1), reasons
        )


def always(concept: str) -> Answers:
    """Return what gives one answer, whatever it is asked."""
    return lambda first, second: {concept: 1.0}


def parquet(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write a Parquet file, as the Hub has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(r) for r in rows]), path)
    return path


def table(
    path: Path,
    rows: Sequence[Mapping[str, str]],
    delimiter: str = ",",
    *,
    end: str = "\n",
    quoted: bool = True,
) -> Path:
    """Write a table with a line that names the columns."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(
        text,
        list(rows[0]),
        delimiter=delimiter,
        lineterminator=end,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        quotechar='"' if quoted else None,
    )
    writer.writeheader()
    writer.writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.getvalue().encode())
    return path


MNLI: Sequence[tuple[str, str, int]] = (
    ("They met at noon.", "They met.", 0),
    ("They met at noon.", "They did not meet at night.", 0),
    ("They met at noon.", "They met in a park.", 1),
    ("They met at noon.", "They met at night.", 2),
    ("They met at noon.", "They never met.", 2),
    ("They left.", "Nobody stayed, no one.", 0),
)
"""Premise, hypothesis, label by the number of GLUE."""


def mnli(folder: Path, rows: Sequence[tuple[str, str, int]] = MNLI) -> Path:
    """Write MultiNLI's development set in the shape of GLUE."""
    return parquet(
        folder / "mnli/validation_matched-00000-of-00001.parquet",
        [
            {"premise": p, "hypothesis": h, "label": label, "idx": n}
            for n, (p, h, label) in enumerate(rows)
        ],
    )


HEURISTICS = ("lexical_overlap", "subsequence", "constituent")


def hans(folder: Path, n: int = 2) -> Path:
    """Write HANS: of every heuristic `n` pairs of either label."""
    rows = []
    for heuristic in HEURISTICS:
        for label in ("non-entailment", "entailment"):
            for k in range(n):
                number = len(rows)
                tail = "" if label == "entailment" else "not "
                rows.append(
                    {
                        "gold_label": label,
                        "sentence1_binary_parse": '( ( The doctor ) ( "saw" it ) )',
                        "sentence1": f"The doctor {tail}near the actor {number} danced .",
                        "sentence2": f"The actor {number} danced .",
                        "pairID": f"ex{number}",
                        "heuristic": heuristic,
                        "subcase": f"{heuristic[0]}{label[0]}_made_{k % 2}",
                        "template": "temp1",
                    }
                )
    return table(folder / "hans/heuristics_evaluation_set.txt", rows, "\t", quoted=False)
