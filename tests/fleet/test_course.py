"""What follows what in a fleet, by an engine that measures nothing and notes what is asked."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

from pytest_bias.errors import ModelError
from pytest_bias.fleet.asks import Ask, Done, Result, Seen
from pytest_bias.fleet.course import Began, Course, Ended, EntryDone, FleetEvent, Looked
from pytest_bias.fleet.rows import FleetRow
from pytest_bias.records.report import Part

ENTRIES = ("structure[all]", "seat[en]")


def ask(name: str) -> Ask:
    return Ask(name, "{}", "out", "mark")


def seen(name: str, base: str | None = None, **more: object) -> Seen:
    known = {"key": f"key of {name}", "finished": False, "parameters": 1, **more}
    return Seen(
        folder=f"folder of {name}",
        reference=name,
        width=4,
        entries=ENTRIES,
        base=ask(base) if base else None,
        **known,  # type: ignore[arg-type]
    )


@dataclass
class Engine:
    """Takes `rooms` models at a time, like a cluster with as many cores."""

    models: Mapping[str, Seen | ModelError]
    parts: Mapping[str, int] = field(default_factory=dict)
    rooms: int = 1
    breaks: Mapping[str, ModelError] = field(default_factory=dict)
    waiting: int = 100
    asked: list[tuple[object, ...]] = field(default_factory=list)
    open: int = 0

    def __post_init__(self) -> None:
        self.free = asyncio.Semaphore(self.rooms)

    async def look(self, ask: Ask) -> Seen:
        found = self.models[ask.asked]
        if isinstance(found, ModelError):
            raise found
        return found

    def bench(self, ask: Ask, seen: Seen) -> "Bench":
        self.open += 1
        return Bench(self, ask.asked)

    async def finish(self, ask: Ask, seen: Seen, parts: int, base: str | None) -> Result:
        self.asked.append(("finish", ask.asked, parts, base))
        return Result(FleetRow(ask.asked, "measured", folder=seen.folder), 0)


@dataclass
class Bench:
    engine: Engine
    name: str
    inside: bool = False

    async def parts(self) -> int:
        if not self.inside:
            await self.engine.free.acquire()
            self.inside = True
        if self.name in self.engine.breaks:
            raise self.engine.breaks[self.name]
        return self.engine.parts.get(self.name, 1)

    async def measure(self, part: Part) -> AsyncIterator[Done]:
        assert self.inside, "nothing is measured by who has no room"
        for entry in ENTRIES:
            await asyncio.sleep(0)
            self.engine.asked.append(("measure", self.name, part, entry))
            yield Done(entry, "scored", False)

    async def finish(self, parts: int) -> Result:
        self.engine.asked.append(("finish", self.name, parts, None))
        found = self.engine.models[self.name]
        assert isinstance(found, Seen)
        return Result(FleetRow(self.name, "measured", folder=found.folder), 0)

    def close(self) -> None:
        self.engine.open -= 1
        if self.inside:
            self.engine.free.release()


def run(engine: Engine, *names: str, bases: bool = False) -> tuple[list[Result], list[FleetEvent]]:
    told: list[FleetEvent] = []
    course = Course(engine, told.append, bases=bases)
    found = asyncio.run(asyncio.wait_for(course.run([ask(n) for n in names]), 10))
    assert engine.open == 0, "every process is let go"
    return found, told


def measured(engine: Engine, name: str) -> list[tuple[object, ...]]:
    return [what for what in engine.asked if what[:2] == ("measure", name)]


def test_every_model_is_measured_and_finished_once() -> None:
    engine = Engine({n: seen(n) for n in "abc"}, rooms=2)
    found, told = run(engine, "a", "b", "c")
    assert [r.row.asked for r in found] == ["a", "b", "c"]
    for name in "abc":
        assert len(measured(engine, name)) == len(ENTRIES)
        assert engine.asked.count(("finish", name, 1, None)) == 1
    assert {type(event) for event in told} == {Looked, Began, EntryDone, Ended}


def test_parts_are_shared_by_as_many_as_there_is_room_for() -> None:
    engine = Engine({"a": seen("a")}, parts={"a": 5}, rooms=3)
    run(engine, "a")
    parts = [what[2] for what in measured(engine, "a")]
    assert sorted(set(parts)) == [(n, 5) for n in range(1, 6)]
    assert len(parts) == 5 * len(ENTRIES)
    assert parts[:3] == [(1, 5), (2, 5), (3, 5)] or parts[0] != parts[1]
    assert engine.asked[-1] == ("finish", "a", 5, None)


def test_parts_are_measured_where_nobody_else_finds_room() -> None:
    engine = Engine({"a": seen("a")}, parts={"a": 4}, rooms=1)
    run(engine, "a")
    assert [what[2] for what in measured(engine, "a")] == [
        (n, 4) for n in range(1, 5) for _ in ENTRIES
    ]


def test_one_that_fails_is_a_row_and_the_others_go_on() -> None:
    models = {"gone": ModelError("gone is nowhere.", "Look elsewhere."), "a": seen("a")}
    engine = Engine({**models, "b": seen("b")}, breaks={"b": ModelError("b is broken.")})
    found, _ = run(engine, "gone", "a", "b")
    assert [(r.row.asked, r.row.status, r.row.reason, r.exit_code) for r in found] == [
        ("gone", "failed", "gone is nowhere. Look elsewhere.", 3),
        ("a", "measured", None, 0),
        ("b", "failed", "b is broken.", 3),
    ]
    assert found[2].row.reference == "b"


def test_a_finished_model_is_not_measured() -> None:
    engine = Engine({"a": seen("a", finished=True)})
    _, told = run(engine, "a")
    assert engine.asked == [("finish", "a", 1, None)]
    assert Ended(FleetRow("a", "measured", folder="folder of a"), kept=True) in told


def test_a_model_with_two_names_is_measured_once() -> None:
    engine = Engine({"a": seen("a"), "also-a": seen("a")})
    found, _ = run(engine, "a", "also-a")
    assert [r.row.asked for r in found] == ["a", "also-a"]
    assert found[0].row.folder == found[1].row.folder
    assert len(engine.asked) == len(ENTRIES) + 1


def test_a_base_of_the_list_comes_first() -> None:
    engine = Engine({"tuned": seen("tuned", base="base"), "base": seen("base")})
    run(engine, "tuned", "base")
    finished = [what for what in engine.asked if what[0] == "finish"]
    assert finished == [("finish", "base", 1, None), ("finish", "tuned", 1, "folder of base")]


def test_of_several_at_a_time_the_largest_come_first() -> None:
    sizes = {"small": 10, "large": 1000, "unknown": None, "middle": 100, "base": 1}
    models: dict[str, Seen | ModelError] = {
        n: replace(seen(n, base="base" if n == "large" else None), parameters=size)
        for n, size in sizes.items()
    }
    for waiting, order in (
        (100, ["base", "large", "middle", "small", "unknown"]),
        (1, ["base", "small", "large", "unknown", "middle"]),
    ):
        run(engine := Engine(models, waiting=waiting), *sizes)
        begun = [what[1] for what in engine.asked if what[0] == "measure"]
        assert list(dict.fromkeys(begun)) == order


def test_bases_that_are_not_in_the_list() -> None:
    models = {
        **{n: seen(n, base="base") for n in ("one", "two")},
        "base": seen("base", base="older"),
    }
    alone = Engine(models)
    assert len(run(alone, "one", "two")[0]) == 2
    assert ("finish", "one", 1, None) in alone.asked
    # Theirs are measured, once; those of them are not.
    found, _ = run(added := Engine(models), "one", "two", bases=True)
    assert [r.row.asked for r in found] == ["one", "two", "base"]
    assert len(measured(added, "base")) == len(ENTRIES)
    assert ("finish", "one", 1, "folder of base") in added.asked
    assert ("finish", "two", 1, "folder of base") in added.asked


def test_models_that_name_each_other() -> None:
    models = {"a": seen("a", base="b"), "b": seen("b", base="a"), "own": seen("own", base="own")}
    found, _ = run(Engine(models), "a", "b", "own", bases=True)
    assert [r.row.status for r in found] == ["measured"] * 3


def test_a_base_that_fails_leaves_nothing_to_compare_with() -> None:
    models = {"a": seen("a", base="b"), "b": ModelError("gated")}
    found, _ = run(engine := Engine(models), "a", bases=True)
    assert [(r.row.asked, r.row.status) for r in found] == [("a", "measured"), ("b", "failed")]
    assert ("finish", "a", 1, None) in engine.asked
