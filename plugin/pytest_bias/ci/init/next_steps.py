"""The next steps after `init`, as commands to copy."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_bias.ci.gitlab.api import TOKEN
from pytest_bias.ci.init.choices import Choices, is_path
from pytest_bias.ci.init.found import Found, is_ignored
from pytest_bias.ci.init.triggers import GITLAB
from pytest_bias.environment import FILE_NAME

PAGES: Final = "https://github.com/pytest-bias/pytest-bias/blob/v0.1.0/docs"
PROJECT: Final = "https://gitlab.com/GROUP/NAME"


def next_steps(choices: Choices, found: Found, written: Sequence[str]) -> Iterator[str]:
    """Yield what was set up, warnings, and the next commands; 15 lines at most."""
    model, chosen = choices.model, choices.trigger
    yield f"Runs      {chosen.about}"
    if found.settings and FILE_NAME not in written and chosen.measures:
        yield f"Settings  {found.settings.name} stays as it is"
        written = [found.settings.name, *written]
    is_local = model is not None and is_path(model, found.folder)
    is_missing = is_local and not (found.folder / str(model)).exists()
    if is_missing:
        yield f"Careful   {model} is not there yet: a step of the workflow has to make it"
    elif is_local and found.is_git and is_ignored(found.folder, str(model)):
        yield f"Careful   git ignores {model}: the runner will not have it"
    yield "Next"
    if not found.is_git:
        yield "  git init                         this is no git repository yet"
    if chosen.name == "lock":
        yield f"  pytest-bias lock {model or 'org/name'}"
        written = [*written, "pytest-bias.lock"]
    if is_local and not is_missing and not (found.is_git and is_ignored(found.folder, str(model))):
        # The workflow measures what the runner checks out.
        written = [*written, str(model)]
    yield f"  git add {shlex.join(written)}"
    if chosen is GITLAB:
        yield f"  {TOKEN}         a variable of the project, masked: a project access token"
        yield "                                   (scope api, role Reporter) that writes the note"
        if choices.publish:
            told = f"another one: a token of the Hub, for {choices.publish}"
            yield f"  HF_TOKEN                         {told}"
    elif choices.publish or chosen.name == "reproduce":
        what = choices.publish or "the model, where a pull request needs read access only"
        yield f"  gh secret set HF_TOKEN           a token of the Hub, for {what}"
    if chosen.measures and not is_missing:
        yield "  pytest-bias run --profile quick  a first look; says beforehand how long it takes"
    yield '  git commit -m "Measure bias" && git push'
    if choices.badges_branch:
        yield f"Badge     {_badge(found.github or 'OWNER/REPO', choices.badges_branch)}"
    if chosen is GITLAB:
        yield f"Badge     {_badge_of_gitlab(found.gitlab or PROJECT, found.branch)}"
    yield f"Pages     {PAGES}/{chosen.page}"
    if chosen.measures:
        yield f"          {PAGES}/action.md#minutes-and-cost"


def _badge(repository: str, branch: str) -> str:
    """Return the Markdown of a badge on a branch of a repository."""
    picture = f"https://raw.githubusercontent.com/{repository}/{branch}/bias/badges"
    there = f"https://github.com/{repository}/tree/{branch}/bias"
    return f"[![Social Bias Evaluated]({picture}/social-bias-evaluated.svg)]({there})"


def _badge_of_gitlab(project: str, branch: str) -> str:
    """Return the Markdown of a badge among the artifacts of the last job on a branch."""
    artifacts = f"{project}/-/jobs/artifacts/{branch}"
    picture = f"{artifacts}/raw/bias-report/badges/social-bias-evaluated.svg?job=bias"
    return f"[![Social Bias Evaluated]({picture})]({artifacts}/browse/bias-report?job=bias)"
