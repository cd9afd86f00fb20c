"""The commands ``data fetch`` and ``data check``."""

from rich.console import Console
from rich.text import Text

from pytest_bias.cli.screens import data_files
from pytest_bias.data.sources import DataFolder
from pytest_bias.emit.progress import ProgressPrinter
from pytest_bias.engine import preparation
from pytest_bias.engine.events import Fetching
from pytest_bias.settings.settings import Settings, languages_of


def data_command(settings: Settings, console: Console, *, fetches: bool) -> int:
    """Fetch the data of suites, or state where they are; returns 3 if any are missing."""
    printer = ProgressPrinter(console)
    folder = DataFolder(
        settings.data_dir,
        offline=settings.offline or not fetches,
        accepted=settings.accept_licences,
        tell=lambda path, done, total: printer(Fetching(path, done, total)),
    )
    languages = languages_of(settings, ()) if settings.languages else ()
    entries = settings.catalogue.every_entry(settings.requested, languages)
    # Bundled texts are only listed if they are named.
    entries = [e for e in entries if e.configuration.files or e.named]
    bring = preparation.fetch if fetches else preparation.look
    found = []
    with printer:
        for entry in entries:
            found.append(bring(entry, folder))
            if not console.is_terminal:
                console.print(Text(data_files.line(found[-1])), soft_wrap=True)
    if console.is_terminal:
        data_files.show(found, console)
    data_files.show_troubles(found, console)
    return preparation.exit_code(found)
