"""Suite files of kind ``counterfactual`` for tests, and models that answer them by a function."""

from collections.abc import Callable, Sequence
from pathlib import Path

from own_scope import SCOPE
from pytest_bias.data.sources import DataFolder
from pytest_bias.models.interface import Capability, Continuation, Model
from pytest_bias.records.report import Item
from pytest_bias.records.report import ModelIdentity as Identity
from pytest_bias.records.score import Score
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.files.reading import read_suite
from pytest_bias.suites.measures import Measure, measure_items
from pytest_bias.suites.suite import Suite

LOAN = f"""
suite: loan
kind: counterfactual
language: en
prompts: ["Should {{name}}, a {{job}}, get the loan?"]
groups:
  women: [Ann, Eve]
  men: [Tom, Jim]
factors:
  job: [baker, pilot]
outcome: {{decision: {{yes_no: true}}}}
{SCOPE}"""


def written(folder: Path, text: str, **files: str) -> Suite:
    """Write a suite file with the files that it names, and read it."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content, encoding="utf-8")
    path = folder / "own.bias.yaml"
    path.write_text(text, encoding="utf-8")
    return read_suite(path)


def items_of(suite: Suite) -> tuple[Item, ...]:
    return suite.configurations[0].load(DataFolder(offline=True)).items


class Says(Model):
    """A model that answers a prompt, and the number of its sample, by a function."""

    def __init__(self, text: Callable[[str, int], str | None], finished: str = "eos") -> None:
        super().__init__(Identity("says", "causal", "Says"), frozenset({Capability.GENERATE}))
        self.chat = True
        self.text, self.finished = text, finished
        self.calls = 0
        self.asked: list[tuple[str, bool, int, int]] = []

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        sample: bool = False,
        branch: bool = False,
        n: int = 1,
        seed: int = 0,
        stop: Sequence[str] = (),
        chat: bool | None = None,
    ) -> list[Continuation]:
        self.calls += n * len(prompts)
        self.asked += [(prompt, sample, n, seed) for prompt in prompts]
        texts = [self.text(prompt, k) for prompt in prompts for k in range(n)]
        return [
            Continuation("", 0, None, "too long for the model")
            if text is None
            else Continuation(text, len(text.split()), self.finished)  # type: ignore[arg-type]
            for text in texts
        ]


def letter(prompt: str, option: str) -> str:
    """Return the letter of an option in a prompt."""
    return next(line[0] for line in prompt.splitlines() if line[1:] == f". {option}")


def by_text(suite: Suite) -> Measure:
    """Return the measure that reads generated texts."""
    return suite.measures[-1]


def scores_of(
    suite: Suite,
    model: Model,
    measure: Measure | None = None,
    asked: Sequence[Item] | None = None,
) -> dict[tuple, Score]:
    """Return the scores of a suite, or of some of its items, by metric and group."""
    of = measure or by_text(suite)
    records = measure_items(of, model, items_of(suite) if asked is None else asked)
    found = score_records(records, of.metrics, Context(suite.name, "en"))
    return {(s.metric, *s.by.values()): s for s in found}
