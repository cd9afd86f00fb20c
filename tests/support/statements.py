"""In-toto statements held against our schema of them."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[1] / "data" / "schemas" / "in-toto-statements.schema.json"


def valid(text: str) -> dict[str, Any]:
    """Return a statement, which must be valid."""
    found = json.loads(text)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(found)
    return found
