"""Render workflows, settings files and the examples from the same templates."""

import shlex
from functools import cache

import jinja2
import yaml

from pytest_bias.ci.init.choices import Choices
from pytest_bias.ci.init.triggers import GITLAB, TRIGGERS, Trigger
from pytest_bias.environment import FILE_NAME
from pytest_bias.settings.settings import NO_LANGUAGE


@cache
def _templates() -> jinja2.Environment:
    # ${{ }} belongs to GitHub, so the templates use other delimiters.
    return jinja2.Environment(
        loader=jinja2.PackageLoader("bias_templates", "workflows"),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        variable_start_string="<<",
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        comment_start_string="<#",
        comment_end_string="#>",
    )


def scalar(text: str) -> str:
    """Return a text as a YAML scalar on one line: plain where that means the same, else quoted.

    Examples
    --------
    >>> print(scalar("org/name"), scalar("a: b"), scalar("on"))
    org/name 'a: b' 'on'
    """
    # A line break is never plain; a comma or a bracket would end a plain text in a list.
    special = set(text) & set(",[]{}")
    style = '"' if not text.isprintable() else "'" if special else None
    written = yaml.safe_dump(text, default_style=style, width=float("inf"), allow_unicode=True)
    return written.removesuffix("\n").removesuffix("\n...")


def workflow(choices: Choices) -> str:
    """Return the workflow for the choices."""
    texts = {
        "model": choices.model,
        "publish": choices.publish,
        "badges_branch": choices.badges_branch,
        "branch": choices.branch,
        "runner": choices.runner,
    }
    values = {name: scalar(text) if text else None for name, text in texts.items()}
    template = _templates().get_template(f"{choices.trigger.file}.j2")
    return template.render(**values, shards=choices.shards, script=scalar(_script(choices)))


def _script(choices: Choices) -> str:
    """Return the command of the GitLab job, quoted for a shell."""
    words = [f"--model={choices.model}", "--baseline=last-run"]
    words += [f"--publish={choices.publish}"] if choices.publish else []
    return f"python -m pytest_bias.ci.gitlab {shlex.join(words)}"


def settings(choices: Choices) -> str:
    """Return the settings file: the choices, and the usual next settings as comments."""
    spoken = [tag for tag in choices.languages if tag.lower() not in NO_LANGUAGE]
    limits = {
        scalar(name): yaml.safe_dump(dict(rules), default_flow_style=True).strip()
        for name, rules in choices.limits.items()
    }
    template = _templates().get_template(f"{FILE_NAME}.j2")
    model = scalar(choices.model) if choices.model else None
    return template.render(model=model, languages=[scalar(tag) for tag in spoken], limits=limits)


def example(trigger: Trigger) -> str:
    """Return the example file of a trigger."""
    publish = "org/name" if "publish" in trigger.needs else None
    return workflow(Choices(trigger, model=trigger.example, publish=publish))


def examples() -> dict[str, str]:
    """Return every example file by its path below ``examples``."""
    return {
        **{f"workflows/{t.file}": example(t) for t in TRIGGERS},
        GITLAB.file: example(GITLAB),
    }
