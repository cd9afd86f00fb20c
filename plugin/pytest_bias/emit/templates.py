"""Templates of the outputs: HTML escapes every value; values for Markdown are escaped already."""

from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup


@cache
def html() -> jinja2.Environment:
    """Return the environment of the page's templates: a missing value is an error."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("bias_templates", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["wbr"] = Markup("<wbr>")
    return made


@cache
def markdown(name: str, **options: Any) -> jinja2.Template:
    """Return a template for values that are Markdown already: a missing value is an error."""
    made = jinja2.Environment(
        autoescape=False, undefined=jinja2.StrictUndefined, keep_trailing_newline=True, **options
    )
    return made.from_string(text(name))


@cache
def text(name: str) -> str:
    """Return the text of a file beside the templates, such as a style sheet."""
    return files("bias_templates").joinpath("pages", name).read_text(encoding="utf-8")
