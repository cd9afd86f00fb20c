"""The formats of `render --to`: all are named where a user looks for them."""

import re
from pathlib import Path

import typer

from pytest_bias.cli.app import app
from pytest_bias.emit.outputs import OUTPUTS

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_the_help_names_every_format() -> None:
    command = typer.main.get_command(app).commands["render"]
    (to,) = [p for p in command.params if p.name == "to"]
    named = re.findall(r"[\w-]+", to.help.partition(":")[0])
    assert sorted({*named} - {"or"}) == sorted(o.name for o in OUTPUTS)


def test_the_page_has_a_row_and_a_section_for_every_format_of_other_tools() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[`([\w-]+)`\]\(#([\w-]+)\) \|", text, re.MULTILINE))
    assert sorted(rows) == sorted(o.name for o in OUTPUTS if not o.of_run)
    headings = {h.lower().replace(" ", "-") for h in re.findall(r"^## (.*)$", text, re.MULTILINE)}
    assert {*rows.values()} <= headings
    for output in OUTPUTS:
        if not output.of_run:
            assert f"`{output.path}`" in text
