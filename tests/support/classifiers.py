"""A classifier that is a function: text in, the probability of its first label out."""

from collections.abc import Callable, Sequence

import numpy as np

from pytest_bias.models.interface import Capability, Classification, Model, Outputs, Text
from pytest_bias.models.labels import ROLES
from pytest_bias.records.report import ModelIdentity
from stand_ins import UNREADABLE


class Classifier(Model):
    """A classifier of two labels, each role's first concept and another one.

    `probability` gives that of the first label; null means that the text cannot be read.
    """

    def __init__(
        self,
        role: str,
        probability: Callable[[str], float | None],
        outputs: Outputs = Outputs.SINGLE_LABEL,
    ) -> None:
        super().__init__(
            ModelIdentity("classifier", "classifier", "Classifier"),
            frozenset({Capability.CLASSIFY}),
        )
        self.probability, self.outputs = probability, outputs
        self.concepts = tuple(ROLES[role].concepts)
        self.label_names = {role: {self.concepts[0]: "first"}}
        if len(self.concepts) > 1:
            self.label_names[role][self.concepts[1]] = "second"
        self.asked: list[Text] = []

    def classify(self, texts: Sequence[Text]) -> Classification:
        self.asked += texts
        found = [self.probability(str(t)) for t in texts]
        rows = [[0.0, 0.0] if p is None else [p, 1 - p] for p in found]
        reasons = tuple(UNREADABLE if p is None else None for p in found)
        return Classification(("first", "second"), self.outputs, np.array(rows), reasons)
