"""The command ``suites``: the list, one scope card, or a suite file checked and previewed."""

from dataclasses import replace
from functools import partial

from rich.console import Console

from pytest_bias.cli.screens.preview import show_preview
from pytest_bias.cli.screens.scope import show_card, show_list
from pytest_bias.data.sources import DataFolder
from pytest_bias.engine.hidden import load_hidden
from pytest_bias.engine.preview import dry_run, hidden_dry_run, preview
from pytest_bias.reports.detectable_change import resolutions
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.catalogue import INSTALLED
from pytest_bias.suites.files.reading import is_suite_file, with_files


def show_known(console: Console) -> None:
    """Print one line per installed suite."""
    show_list(INSTALLED.suites, console)


def show_one(name: str, settings: Settings, console: Console) -> None:
    """Print the scope card of a suite and what it can detect; for a file, also preview its items.

    Raises
    ------
    UsageError
        If there is no such suite, or the file is wrong.
    DataError
        If the data of a file cannot be read.
    """
    is_file = is_suite_file(name)
    catalogue, (named,) = with_files([name])
    word, _, configuration = named.partition("[")
    suite = catalogue.find(word)
    folder = DataFolder(
        settings.data_dir,
        # Nothing is fetched just to show a built-in suite.
        offline=settings.offline or not is_file,
        accepted=settings.accept_licences,
        texts=settings.texts,
    )
    first, hides = suite.configurations[0], False
    if first.hidden and not settings.show_items:
        hides, first = True, replace(first, load=partial(load_hidden, first))
        suite = replace(suite, configurations=(first, *suite.configurations[1:]))
    found = preview(first, folder.of(suite.name)) if is_file else None
    show_card(suite, console, resolutions(suite, folder, configuration.rstrip("]")))
    if found:
        from pytest_bias.models import ModelRef, load

        ask = hidden_dry_run if hides else dry_run
        tried = ask(suite, found.items, load(ModelRef.parse("demo")))
        show_preview(found, tried, suite, console, show_items=settings.show_items)
