"""A split of a suite, and the test of over-fitting, on a terminal."""

from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pytest_bias.emit.change import signed_number
from pytest_bias.emit.wording import count, metric_words, number, p_value
from pytest_bias.reports.overfitting import SplitTest
from pytest_bias.suites.files.splitting import COMMITMENT, HIDDEN, PUBLIC, Commitment
from pytest_bias.untrusted import clean

NAME: Final = 60


def show_made(made: Commitment, out: Path, console: Console) -> None:
    """Print the parts of a split, and what to do with them."""
    for what, part in (("Public", made.public), ("Hidden", made.hidden)):
        n = f"{count(part.rows)} rows in {count(part.clusters)} clusters"
        console.print(Text(f"{what}  {part.suite}: {n}"), soft_wrap=True)
    for line in (
        f"Publish {out / COMMITMENT} first, then {out / PUBLIC}.",
        f"Keep the rows and the salt in {out / HIDDEN}, and the suite that was split, where only "
        "the machine that measures can read them.",
        "With both parts and a model that never saw the public one, another model can be tested:",
        f"  pytest-bias split test MODEL --reference OTHER --split {out}",
    ):
        console.print(Text(line), soft_wrap=True)


def show_test(found: SplitTest, model: str, reference: str, console: Console) -> None:
    """Print the scores on both parts, their difference in differences, and what it means."""
    parts = (found.public, found.hidden)
    unit = f", {found.unit}" if found.unit else ""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(Text(f"{metric_words(found.metric)}{unit}", style="bold"))
    for name, part in zip((PUBLIC, HIDDEN), parts, strict=True):
        table.add_column(f"{name}, n = {count(part.n)}", justify="right")
    rows = {
        clean(model, NAME): [number(part.model, found.unit) for part in parts],
        f"{clean(reference, NAME)}, reference": [
            number(part.reference, found.unit) for part in parts
        ],
        "difference": [signed_number(part.difference, found.unit) for part in parts],
    }
    for name, cells in rows.items():
        table.add_row(Text(name), *map(Text, cells))
    console.print(table)
    console.print()
    for line in sentences(found):
        console.print(Text(line))


def sentences(found: SplitTest) -> tuple[str, ...]:
    """State the result of the test; without an alarm, only which gap would have been detected."""
    unit = "points" if found.unit == "%" else found.unit
    value = f"{signed_number(found.value, found.unit)} {unit}"
    below = f"{number(found.detectable, found.unit)} {unit}"
    how = f"{p_value(found.p_value)}, {found.test}"
    level = f"{100 * (1 - found.level):.3g} % level"
    power = f"one of that size is found with {100 * found.power:.3g} % power at the {level}"
    difference = f"Difference in differences, public minus hidden: {value} ({how})."
    if not found.is_alarm:
        return difference, f"No gap detectable below {below}: {power}."
    return (
        difference,
        "Beside the reference, the model scores otherwise on the public items than on the hidden "
        "ones. Lots decided which are which, so one of the two models was fitted to the public "
        "items, or this is the one split in "
        f"{round(1 / (1 - found.level))} that looks so by chance.",
        f"Gaps of {below} are found with {100 * found.power:.3g} % power.",
    )
