"""Documents held against schemas that others have published, formats of texts included."""

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
from referencing import Registry, Resource

FOLDER = Path(__file__).parents[1] / "data" / "schemas"
FORMATS = jsonschema.FormatChecker(["idn-email"])


@FORMATS.checks("date-time")
def _is_date_time(value: object) -> bool:
    text = str(value)
    pattern = r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
    if not re.fullmatch(pattern, text, re.ASCII):
        return False
    datetime.fromisoformat(re.sub(r"\.\d+", "", text.upper()))
    return True


@FORMATS.checks("iri-reference")
def _is_iri_reference(value: object) -> bool:
    urlsplit(str(value))
    return not re.search(r'[\x00-\x20\x7f<>"{}|\\^`]|%(?![0-9A-Fa-f]{2})', str(value))


@cache
def _validator(name: str) -> Any:
    schemas = [json.loads(p.read_text("utf-8")) for p in sorted(FOLDER.glob("*.json"))]
    named = ((s["$id"], Resource.from_contents(s)) for s in schemas if "$id" in s)
    schema = json.loads((FOLDER / name).read_text("utf-8"))
    of_version = jsonschema.validators.validator_for(schema)
    of_version.check_schema(schema)
    return of_version(schema, registry=Registry().with_resources(named), format_checker=FORMATS)


def problems(document: Any, name: str) -> list[str]:
    """Return where a document breaks a schema of `FOLDER`; empty if it is valid."""
    return [f"{e.json_path}: {e.message[:300]}" for e in _validator(name).iter_errors(document)]
