"""Scores of logged answers: the suite's own measure, asked of what the log says."""

import datetime
import time
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pytest_bias.data.answer_logs import AnswerLog, LoggedAnswer
from pytest_bias.engine.answers.choosing import Chosen
from pytest_bias.engine.answers.matching import Index, Matches, Unmatched
from pytest_bias.engine.answers.replies import NOTHING, Lacking, labels_in, replies_to
from pytest_bias.engine.answers.sample import within
from pytest_bias.engine.report_building import build_report, environment
from pytest_bias.engine.sampling import extent
from pytest_bias.errors import UsageError
from pytest_bias.models.answered import Query, Recorder, Replayed, Reply
from pytest_bias.models.interface import Capability, ModelKind, Presented
from pytest_bias.models.labels import labels_for
from pytest_bias.models.served.address import shown_name
from pytest_bias.records.identity import AnswersIdentity, ModelIdentity
from pytest_bias.records.report import (
    Item,
    Record,
    Report,
    SuiteResult,
    items_digest,
    records_digest,
)
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.choosing import LABELS
from pytest_bias.suites.measures import Measure, measure_items
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import LoadedData

LEAST: Final = 0.95
"""Share of a suite's items that must have an answer, and of answers that must have an item."""
NAMED: Final = 5
"""Items and answers that a message names."""
UNKNOWN_MODEL: Final = "unknown model"


@dataclass(frozen=True)
class _Requested:
    """What a report states about the request; see `report_building.Requested`."""

    settings: Settings
    requested: tuple[str, ...]
    coverage: Mapping[str, Any]
    chat: bool = False


@dataclass
class Scoring:
    """One suite and the answers of one log.

    Parameters
    ----------
    settings : Settings
        Settings of the command.
    log : AnswerLog
        The answers.
    chosen : Chosen
        Configuration and measure.
    data : LoadedData
        Its items.
    partial : bool
        Whether items may lack an answer, and answers an item.
    model : str or None
        The model's name, as the user states it; by default as the log does.
    """

    settings: Settings
    log: AnswerLog
    chosen: Chosen
    data: LoadedData
    partial: bool = False
    model: str | None = None
    started: float = field(default_factory=time.perf_counter)
    notices: list[str] = field(default_factory=list)
    labels: Mapping[str, str] = field(default_factory=dict, init=False)
    _orders: Counter[str] = field(default_factory=Counter, init=False)
    _read: set[str] = field(default_factory=set, init=False)

    @property
    def measure(self) -> Measure:
        """The measure that the answers allow."""
        return self.chosen.measure

    def report(self) -> Report:
        """Match answers with items, and score them.

        Raises
        ------
        UsageError
            If too few belong together, or two answers contradict each other.
        """
        self.notices += self.log.notices
        self._read_labels()
        items = [item for item in self.data.items if item.status is None]
        asked = self._recorded(items)
        matches = Index(items, asked).match(self.log.answers)
        replies, lacking = self._replies(items, asked, matches.of)
        self._check_letters(items, asked, matches.of)
        self._check(items, matches, replies, lacking)
        taken = self._taken(items, replies)
        records = self._records(taken, asked, replies, lacking)
        suite = self.chosen.entry.suite
        result = scored(self._result(records), suite, self.settings.seed)
        return self._built(result, self._identity(items, matches, replies))

    def _read_labels(self) -> None:
        role = self.measure.reads
        if not role:
            return
        chosen = self.settings.labels.get(role, {})
        # A classifier need not have given every label that it has.
        there = dict.fromkeys([*labels_in(self.log.answers), *chosen.values()])
        told = "these answers"
        self.labels = labels_for(role, tuple(there), chosen, told, self.measure.reads_also)

    def _recorder(self) -> Recorder:
        model = Recorder(self._bare(), self.measure.needs)
        model.chat = True
        model.label_names = {self.measure.reads: self.labels} if self.measure.reads else {}
        return model

    def _recorded(self, items: Sequence[Item]) -> dict[str, tuple[Query, ...]]:
        """Return what the measure asks about each item."""
        model, found = self._recorder(), {}
        for item in items:
            model.asked.clear()
            self.measure.measure_items(model, [item])
            found[item.id] = tuple(model.asked)
        return found

    def _replies(
        self,
        items: Sequence[Item],
        asked: Mapping[str, Sequence[Query]],
        of: Mapping[str, Sequence[LoggedAnswer]],
    ) -> tuple[dict[str, list[Reply]], dict[str, str]]:
        """Return the replies of each item that has all of them, and why others have not."""
        replies, lacking = {}, {}
        for item in items:
            if item.id not in of:
                lacking[item.id] = NOTHING
                continue
            try:
                replies[item.id] = replies_to(item, asked[item.id], of[item.id])
            except Lacking as error:
                lacking[item.id] = str(error)
        return replies, lacking

    def _check_letters(
        self,
        items: Sequence[Item],
        asked: Mapping[str, Sequence[Query]],
        of: Mapping[str, Sequence[LoggedAnswer]],
    ) -> None:
        """Refuse letters of options whose order is not known."""
        bare = [
            a
            for item in items
            if any(q.what == "question" and len(q.options) > 2 for q in asked[item.id])
            for a in of.get(item.id, ())
            if not a.options and (a.answer or "").strip("().: ").upper() in {*LABELS}
        ]
        n = sum(map(len, of.values()))
        if len(bare) > (1 - LEAST) * n:
            raise UsageError(
                f"{len(bare)} answers are letters, such as {bare[0].where}, and the file does not "
                "say in which order the options were shown.",
                "Name them in a column `options`, in the order shown, or give the option's text.",
            )

    def _check(
        self,
        items: Sequence[Item],
        matches: Matches,
        replies: Mapping[str, object],
        lacking: Mapping[str, str],
    ) -> None:
        n, entry = len(self.log.answers), self.chosen.entry.id
        if not n:
            raise UsageError("the files hold no answers.")
        left = matches.unmatched
        told = [
            f"{len(replies):,} of {len(items):,} items of {entry} have an answer"
            + (f"; without: {_some(lacking)}" if lacking else ""),
            f"{n - len(left):,} of {n:,} answers belong to an item"
            + (f"; without: {_answers(left)}" if left else ""),
        ]
        if not replies:
            raise UsageError(
                f"no answer belongs to an item of {entry}: {'; '.join(told[1:])}.",
                self._other_suite(left),
            )
        enough = len(replies) >= LEAST * len(items) and n - len(left) >= LEAST * n
        if not enough and not self.partial:
            raise UsageError(
                f"{'. '.join(told)}. At least {LEAST:.0%} of both must match.",
                "Is it this suite and configuration? --partial scores the items that have an "
                "answer, as a sample.",
            )
        if self.log.unfinished and not self.partial:
            raise UsageError(
                f"{self.log.unfinished.rstrip('.')}.",
                "--partial scores what it answered before.",
            )
        if lacking or left:
            self.notices += told
        if self.log.unfinished:
            self.notices.append(self.log.unfinished)

    def _other_suite(self, left: Sequence[Unmatched]) -> str:
        task = (self.log.task or "").casefold().replace("-", "_")
        names = [s.name for s in self.settings.catalogue.suites if s.name != self._suite]
        near = [name for name in names if name in task or task.partition("_")[0] == name]
        if near:
            return f"Its task is named {self.log.task!r:.80}: is it --suite {near[0]}?"
        starts = {str(u.answer.item).partition("/")[0] for u in left if u.answer.item}
        if of := sorted(set(names) & starts):
            return f"Its identifiers begin like those of {of[0]}: --suite {of[0]}?"
        return (
            f"Is it of another suite? Identifiers here are such as {self._example}; else an answer "
            "needs the item's own text, or the whole prompt with it, in a column `text`."
        )

    @property
    def _suite(self) -> str:
        return self.chosen.entry.suite.name

    @property
    def _example(self) -> str:
        return next((item.id for item in self.data.items), "none")

    def _taken(self, items: Sequence[Item], replies: Mapping[str, object]) -> tuple[Item, ...]:
        """Return the items that are scored, with those of the data's own status."""
        if len(replies) >= LEAST * len(items):
            return self.data.items
        kept = within(self.data.items, replies.keys(), self.chosen.entry.configuration.block, LEAST)
        out = sum(item.id in replies for item in items) - sum(i.id in replies for i in kept)
        if not kept:
            raise UsageError(
                f"no {self.chosen.entry.configuration.clusters[:-1]} of {self.chosen.entry.id} has "
                "an answer to each of its items, and comparisons within them need all.",
            )
        if out:
            self.notices.append(
                f"{out:,} answers are left out: others of the same "
                f"{self.chosen.entry.configuration.clusters} are missing."
            )
        self.notices.append(
            "Partial: items without an answer are left out. Who made the log chose which, so this "
            "need not be a random sample."
        )
        return kept

    def _records(
        self,
        taken: Sequence[Item],
        asked: Mapping[str, Sequence[Query]],
        replies: Mapping[str, Sequence[Reply]],
        lacking: Mapping[str, str],
    ) -> tuple[Record, ...]:
        of: dict[Hashable, deque[Reply]] = defaultdict(deque)
        answered, without = [], []
        for item in taken:
            if item.status is None and item.id not in replies:
                without.append(item.record("unscored", reason=lacking[item.id]))
                continue
            answered.append(item)
            for query, reply in zip(asked.get(item.id, ()), replies.get(item.id, ()), strict=True):
                of[query.key].append(reply)
                if query.what == "question":
                    self._note_orders(query, reply.presented)
        model = Replayed(self._bare(), self.measure.needs, of, tuple(self.labels.values()))
        if self.measure.reads:
            model.label_names = {self.measure.reads: self.labels}
            model.labels = tuple(dict.fromkeys([*labels_in(self.log.answers), *model.labels]))
        model.chat = True
        model.meter.on_notice = self.notices.append
        records = [_known(r) for r in measure_items(self.measure, model, answered)]
        return tuple(sorted([*records, *without], key=lambda r: r.item))

    def _note_orders(self, query: Query, found: Sequence[Presented]) -> None:
        self._read |= {"letters" if p.letters else "texts" for p in found if p.nats}
        if any(p.nats and not p.letters for p in found):
            return
        times = Counter(p.order for p in found)
        n = len(query.options)
        cyclic = {(*range(k, n), *range(k)) for k in range(n)}
        if () in times:
            self._orders["unknown"] += 1
        else:
            whole = times.keys() == cyclic and len(set(times.values())) == 1
            self._orders["every" if whole else "some"] += 1

    def _result(self, records: tuple[Record, ...]) -> SuiteResult:
        sampled, n_available = extent(self.data.items, {r.item for r in records})
        n_items = sum(r.status != "excluded" for r in records)
        return self.chosen.entry.result(
            "scored",
            measure=self.measure.name,
            adapted=self.measure.adapted,
            labels=dict(self.labels),
            sampled=sampled,
            n_available=n_available,
            data=replace(self.data.info, n_items=n_items, items_sha256=items_digest(records)),
            records=records,
            records_sha256=records_digest(records),
        )

    def _bare(self) -> ModelIdentity:
        log = self.log
        return ModelIdentity(
            reference=shown_name(self.model or log.model or UNKNOWN_MODEL),
            kind=ModelKind.ANSWERS.value,
            architecture="unknown",
            dtype="unknown",
            answers_from=AnswersIdentity(
                format=log.format,
                sha256=dict(log.sha256),
                tool=log.tool,
                version=log.version,
                task=log.task,
                model=shown_name(log.model) if log.model else None,
                unfinished=log.unfinished,
            ),
        )

    def _identity(
        self, items: Sequence[Item], matches: Matches, replies: Mapping[str, object]
    ) -> ModelIdentity:
        bare = self._bare()
        assert bare.answers_from is not None, "it was made with it"
        n = len(self.log.answers)
        orders = next((o for o in ("unknown", "some", "every") if self._orders[o]), "")
        about = replace(
            bare.answers_from,
            orders=orders,
            read=" and ".join(sorted(self._read)),
            n_answers=n,
            n_matched=n - len(matches.unmatched),
            n_without=len(items) - len(replies),
            partial=self.partial,
        )
        return replace(bare, answers_from=about)

    def _built(self, result: SuiteResult, identity: ModelIdentity) -> Report:
        about = identity.answers_from
        assert about is not None, "answers were scored"
        if told := ABOUT_ORDERS.get(about.orders):
            self.notices.append(told)
        if "texts" in about.read:
            self.notices.append(TEXTS_READ)
        capabilities = sorted(c.value for c in self.measure.needs - {Capability.OPEN_VOCABULARY})
        language = self.chosen.entry.configuration.language
        requested = _Requested(
            self.settings,
            (self.chosen.entry.id,),
            # Which suites apply to the model cannot be told from answers.
            {"languages": [language], "social_suites": [], "capabilities": capabilities},
        )
        return build_report(
            requested,
            identity,
            [result],
            {
                "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "environment": environment(None),
                "cost": {"wall_s": round(time.perf_counter() - self.started, 3)},
                "notices": list(dict.fromkeys(self.notices)),
                "interrupted": False,
                **({"context": dict(context)} if (context := self.settings.context) else {}),
            },
        )


ABOUT_ORDERS: Final[Mapping[str, str]] = {
    "some": "The log has not every question in every order of its options, so that a preference "
    "for a position is not averaged out and can look like bias.",
    "unknown": "The log does not say in which order options were shown: a preference for a "
    "position cannot be seen, and can look like bias.",
}
"""Notice by the orders that a log has."""

TEXTS_READ: Final = (
    "Options were chosen by the log-likelihoods of their texts, not of letters: longer and rarer "
    "words are less likely."
)


def _known(record: Record) -> Record:
    """Return a record without the numbers of tokens that the log does not say."""
    if not any(k.startswith("tokens_") and not v for k, v in record.detail.items()):
        return record
    detail = {k: v for k, v in record.detail.items() if not (k.startswith("tokens_") and not v)}
    return replace(record, detail=detail)


def _some(lacking: Mapping[str, str]) -> str:
    named = [f"{i} ({why})" if why != NOTHING else i for i, why in [*lacking.items()][:NAMED]]
    return ", ".join(named) + _more(len(lacking))


def _answers(left: Sequence[Unmatched]) -> str:
    named = [
        f"{u.answer.where}{f' {u.answer.item!r:.60}' if u.answer.item else ''} ({u.why})"
        for u in left[:NAMED]
    ]
    return ", ".join(named) + _more(len(left))


def _more(n: int) -> str:
    return f" and {n - NAMED:,} more" if n > NAMED else ""
