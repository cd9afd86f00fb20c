"""The files that say what the action takes and how it is used, from the ones that decide it.

    python tools/workflow_files.py [--check]

examples/workflows/*.yml and examples/gitlab-ci.yml from the templates of `pytest-bias init`, and
the tables of docs/action.md from action.yml and bias-tests.yml. With ``--check`` nothing is
written: exit code 1 means that something is out of date, and it says what.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_bias.ci.init.rendering import examples
from pytest_bias.ci.init.triggers import ACTION, WORKFLOW

ROOT: Final = Path(__file__).parent.parent
ACTION_FILE: Final = ROOT / "action.yml"
WORKFLOW_FILE: Final = ROOT / WORKFLOW.removeprefix(f"{ACTION}/")
PAGE: Final = ROOT / "docs" / "action.md"


def main() -> int:
    """Write the files, or say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stale = [p for p, text in contents().items() if not p.is_file() or p.read_text("utf-8") != text]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(contents()[path], encoding="utf-8")
    return int(check and bool(stale))


def contents() -> dict[Path, str]:
    """Return every file with what it should hold."""
    action, workflow = (path.read_text(encoding="utf-8") for path in (ACTION_FILE, WORKFLOW_FILE))
    return {
        **{ROOT / "examples" / name: text for name, text in examples().items()},
        PAGE: page(
            PAGE.read_text(encoding="utf-8"), yaml.safe_load(action), yaml.safe_load(workflow)
        ),
    }


def page(text: str, action: dict[str, Any], workflow: dict[Any, Any]) -> str:
    """Put the tables into a page, between the marks that name them."""
    call = workflow[True]["workflow_call"]
    tables = {
        "inputs": ("input", "default", action["inputs"]),
        "outputs": ("output", "", action["outputs"]),
        "workflow inputs": ("input", "default", call["inputs"]),
    }
    for name, (what, default, rows) in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            sys.exit(f"{PAGE}: the marks {begin.strip()} … {end} are missing")
        text = "".join([before, begin, *_rows(what, default, rows), end, after])
    return text


def _rows(what: str, default: str, rows: dict[str, Any]) -> Iterator[str]:
    yield (
        f"| {what} | {default} | what |\n| --- | --- | --- |\n"
        if default
        else (f"| {what} | what |\n| --- | --- |\n")
    )
    for name, about in rows.items():
        told = " ".join(str(about["description"]).split()).replace("|", "\\|")
        cells = [f"`{name}`", *([_default(about)] if default else []), told]
        yield f"| {' | '.join(cells)} |\n"


def _default(about: dict[str, Any]) -> str:
    if about.get("required"):
        return "required"
    value = about.get("default", "")
    if value == "":
        return ""
    return f"`{json.dumps(value) if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    sys.exit(main())
