"""The command that measures a list of models: from settings to reports, a page and tables."""

import asyncio
import datetime
import importlib.util
import signal
import uuid
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from pytest_bias.environment import SUITE_FILE
from pytest_bias.errors import OutputError, UsageError
from pytest_bias.exit_codes import EXIT_EXCEEDED, EXIT_INTERRUPTED, EXIT_NOT_MEASURED, EXIT_OK
from pytest_bias.fleet.asks import MARK, Ask, Result
from pytest_bias.fleet.course import Course, Engine
from pytest_bias.fleet.listing import listed
from pytest_bias.fleet.page import tables
from pytest_bias.fleet.page.page import About
from pytest_bias.fleet.progress import FleetPrinter
from pytest_bias.fleet.rows import FleetRow, failed
from pytest_bias.fleet.store import Store
from pytest_bias.models import ModelRef
from pytest_bias.reports.folder import DEFAULT_PARENT, hold, release
from pytest_bias.reports.limits import limits_of
from pytest_bias.settings.settings import Settings, require_data_dir
from pytest_bias.untrusted import clean

DEVICES: Final = ("auto", "cpu")
"""What a cluster may be told: which GPU is its own choice."""

FOLLOW_S: Final = 1.0


def fleet_command(settings: Settings, console: Console) -> int:
    """Measure every model of a list; writes reports, a page and tables, and returns the exit code.

    That is 1 if a limit is exceeded for any model, 3 if one could not be measured.
    """
    assert settings.models, "there is a list"
    names, default = listed(settings.models), _default(settings.models)
    settings = _checked(settings)
    url = settings.store or str((settings.out or default).resolve())
    store = Store(url)
    with _alone(store, console):
        return _measured(names, settings, store, console)


@contextmanager
def _alone(store: Store, console: Console) -> Iterator[None]:
    """Keep other commands from writing a page and tables of theirs in the place of ours."""
    if store.local is None:
        yield
        return
    try:
        store.local.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{store.local} cannot be written: {error.strerror or error}.") from None
    try:
        with closing(hold(store.local)) as held:
            if held.notice:
                console.print(Text(held.notice), soft_wrap=True)
            yield
    finally:
        release(store.local)


def _measured(names: Sequence[str], settings: Settings, store: Store, console: Console) -> int:
    printer = FleetPrinter(console)
    with ExitStack() as stack:
        with printer.status("Looking for machines …"):
            engine = _engine(settings, stack, printer)
        mark = _marked(store)
        asks = [Ask.of(name, _of_one(settings), store.url, mark) for name in names]
        course = Course(engine, printer, bases=settings.baseline == "base")
        stack.enter_context(printer)
        printer.expect(len(asks))
        try:
            with _interruptible(settings.engine):
                asyncio.run(_followed(course.run(asks), printer))
            code = _code(list(course.results.values()))
        except KeyboardInterrupt:
            code = EXIT_INTERRUPTED
    rows = _rows(course, asks)
    _write(rows, settings, store)
    _tell(rows, store, console, interrupted=code == EXIT_INTERRUPTED)
    return code


async def _followed(running: Awaitable[object], printer: FleetPrinter) -> None:
    """Wait, and say from time to time where everybody is, also while nothing ends."""

    async def follow() -> None:
        while True:
            await asyncio.sleep(FOLLOW_S)
            printer.now_and_then()

    following = asyncio.create_task(follow())
    try:
        await running
    finally:
        following.cancel()


def _checked(settings: Settings) -> Settings:
    """Check what can be wrong before anything starts; every path is whole afterwards."""
    if settings.baseline not in (None, "base"):
        raise UsageError(
            f"--baseline {settings.baseline} with --models: models differ in what came before.",
            "--baseline base compares each with the model that it was made from.",
        )
    if settings.engine == "ray" and settings.device not in DEVICES:
        raise UsageError(
            f"--device {settings.device} with --engine ray: the cluster chooses the GPU.",
            f"--device {' or '.join(DEVICES)}",
        )
    require_data_dir(settings)
    # That every name is one is found out before any model is looked at.
    settings.catalogue.select(settings.requested, settings.languages or ("en",), settings.texts)
    limits_of(settings)
    return replace(
        settings,
        data_dir=settings.data_dir and settings.data_dir.resolve(),
        suites=tuple(_whole(w) if w.endswith(SUITE_FILE) else w for w in settings.suites),
        scorers={r: ModelRef.parse(model).argument for r, model in settings.scorers.items()},
        texts=_with_whole_paths(settings.texts),
    )


def _of_one(settings: Settings) -> Settings:
    """Return what is asked of each model: the settings without what is said of the list."""
    plain = Settings()
    of_list = ("models", "engine", "ray_address", "out", "store", "config")
    return replace(settings, **{name: getattr(plain, name) for name in of_list})


def _whole(path: str) -> str:
    """Return a path as every machine reads it."""
    return str(Path(path).expanduser().resolve())


def _with_whole_paths(texts: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    return {
        suite: {
            name: {k: _whole(v) if k == "path" else v for k, v in source.items()}
            for name, source in sources.items()
        }
        for suite, sources in texts.items()
    }


def _default(models: Path) -> Path:
    return Path(DEFAULT_PARENT) / models.stem


def _marked(store: Store) -> str:
    """Return what the store's own file says, which every machine has to see; write it if need be.

    Raises
    ------
    OutputError
        If there is something else.
    """
    there = store.read(MARK)
    if there is not None:
        return there.decode(errors="replace")
    for name in (tables.PAGE, tables.CSV, tables.PARQUET):
        if store.read(name) is not None:
            raise OutputError(
                f"{store.url} holds a {name} that is not of a run of many models.",
                "Give another place with --out.",
            )
    mark = f'{{"fleet": "{uuid.uuid4().hex}"}}\n'
    store.write(MARK, mark.encode())
    return mark


def _engine(settings: Settings, stack: ExitStack, printer: FleetPrinter) -> Engine:
    if settings.engine == "local":
        from pytest_bias.fleet.local import LocalEngine

        return LocalEngine()
    if importlib.util.find_spec("ray") is None:
        raise UsageError(
            "--engine ray: Ray is not installed here.", "pip install 'pytest-bias[ray]'"
        )
    from pytest_bias.fleet.on_ray import RayEngine

    engine = RayEngine(
        settings.ray_address,
        settings.fleet.get("cpus"),
        uses_gpus=settings.device != "cpu",
        apart=settings.trust_remote_code,
    )
    stack.callback(engine.close)
    printer.line(engine.about)
    return engine


@contextmanager
def _interruptible(engine: str) -> Iterator[None]:
    """Let Ctrl-C end what is measured in this process at once.

    asyncio would have it wait for the next pause between steps, and a step can take hours.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if engine != "local" or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _code(results: Sequence[Result]) -> int:
    codes = {r.exit_code for r in results}
    if EXIT_EXCEEDED in codes:
        return EXIT_EXCEEDED
    # A model that is written wrongly could not be measured, and the command is right.
    return EXIT_NOT_MEASURED if any(codes) else EXIT_OK


def _rows(course: Course, asks: Sequence[Ask]) -> list[FleetRow]:
    """Return a row a model, in the order of the list; base models that were added come last."""
    rows = []
    for name in dict.fromkeys([*(a.asked for a in asks), *course.seen, *course.results]):
        if name in course.results:
            rows.append(course.results[name].row)
        else:
            row = failed(name, "interrupted before it was measured")
            rows.append(replace(row, status="interrupted"))
    return rows


def _write(rows: Sequence[FleetRow], settings: Settings, store: Store) -> None:
    assert settings.models, "there is a list"
    facts = {"Profile": settings.profile, "Seed": str(settings.seed)}
    if settings.languages:
        facts["Languages"] = ", ".join(settings.languages)
    about = About(
        title=settings.models.stem,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        facts=facts,
    )
    for name, content in tables.render(rows, about).items():
        store.write(name, content)


def _tell(rows: Sequence[FleetRow], store: Store, console: Console, *, interrupted: bool) -> None:
    """Print what did not work, and where the rest is."""
    lost = [row for row in rows if row.status == "failed"]
    if lost:
        console.print()
        for row in lost:
            console.print(
                Text(f"{clean(row.asked)}: {clean(row.reason or '', 600)}"), soft_wrap=True
            )
    console.print()
    measured = sum(row.status == "measured" for row in rows)
    of = f"{measured} of {len(rows)} models measured"
    console.print(Text(of + ("" if not interrupted else "; interrupted"), style="bold"))
    files = (("Page", tables.PAGE), ("Tables", tables.CSV), ("", tables.PARQUET))
    for title, name in files:
        console.print(Text(f"{title:<6}  {store.path(name)}"), soft_wrap=True)
    console.print(Text(f"{'Reports':<6} {store.path('')}"), soft_wrap=True)
    if interrupted:
        console.print("The same command goes on where it was.")
