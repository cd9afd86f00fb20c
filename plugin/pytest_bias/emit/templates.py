"""The HTML templates of the page, with every value escaped."""

from functools import cache
from importlib.resources import files

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
def style() -> str:
    """Return the style sheet of the page."""
    return files("bias_templates").joinpath("pages", "report.css").read_text(encoding="utf-8")
