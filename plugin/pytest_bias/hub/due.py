"""Decide whether a push to a model calls for a measurement, from the Hub's payload and digests.

A payload is untrusted: anybody who pushes chooses the branch names in it. The loop guard does not
look at authors: it asks whether this very model was measured before, so that our own commits below
``bias``, and anybody's edits of README.md, start nothing.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_bias.errors import UsageError
from pytest_bias.models.fingerprint import ModelFingerprint, differences
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.untrusted import clean

MAIN: Final = "refs/heads/main"
"""The default branch of every repository on the Hub."""
CONTENT: Final = "repo.content"
LONGEST: Final = 1_000_000
"""Characters of a payload that is read."""
MOST_SHOWN: Final = 3
_SHA: Final = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Update:
    """One branch or tag that moved; `sha` is None if it was deleted."""

    ref: str
    sha: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """What a webhook reports.

    Parameters
    ----------
    kind, repository : str
        ``model`` and ``org/name``.
    scope : str
        ``repo.content`` for pushes; other scopes, and narrower ones, may occur.
    action : str
        ``update``, ``create``, ``delete`` or ``move``.
    updates : tuple of Update
        Branches and tags that moved.
    """

    kind: str
    repository: str
    scope: str
    action: str
    updates: tuple[Update, ...] = ()


@dataclass(frozen=True, slots=True)
class Due:
    """Decision whether to measure, at which commit, and why or why not."""

    due: bool
    why: str
    sha: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """A model that was measured, and where its report is stored."""

    model: ModelIdentity
    where: str


def read_event(text: str) -> Event:
    """Read the payload of a webhook.

    Raises
    ------
    UsageError
        If it is not one; the message states what is wrong.
    """
    if len(text) > LONGEST:
        raise _bad(f"it has {len(text):,} characters, more than {LONGEST:,}")
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(f"it is no JSON: {error}") from None
    event, repo = (_table(plain, name) for name in ("event", "repo"))
    updates = plain.get("updatedRefs")
    if updates is None:
        updates = []
    if not isinstance(updates, list):
        raise _bad(f"updatedRefs is {updates!r:.80}, no list")
    return Event(
        kind=_text(repo, "repo", "type"),
        repository=_text(repo, "repo", "name"),
        scope=_text(event, "event", "scope"),
        action=_text(event, "event", "action"),
        updates=tuple(_update(u) for u in updates),
    )


def pushed(event: Event, model: str) -> Due:
    """Decide whether an event is a push to the default branch of a model.

    Raises
    ------
    UsageError
        If the event belongs to another repository: the webhook watches the wrong one.
    """
    if (event.kind, event.repository) != ("model", model):
        raise UsageError(
            f"the event is of the {event.kind:.40} {event.repository!r:.120}, and this job is for "
            f"the model {model!r}.",
            "After a change of name: pytest-bias init --hub-job org/name",
        )
    scope = event.scope
    if scope != CONTENT and not scope.startswith(f"{CONTENT}."):
        return Due(False, f"the event is of the scope {clean(scope, 80)}, which is no push")
    if scope == CONTENT and event.action != "update":
        return Due(False, f"the event is a {clean(event.action, 40)}, which is no push")
    found = [u for u in event.updates if u.ref == MAIN]
    if not found:
        names = [clean(u.ref, 80) for u in event.updates[:MOST_SHOWN]]
        more = len(event.updates) - len(names)
        told = ", ".join(names) + (f" and {more} more" if more else "")
        return Due(False, f"main was not pushed to, but {told or 'nothing'}")
    sha = found[-1].sha
    if sha is None:
        return Due(False, "main was deleted")
    return Due(True, "main was pushed to", sha)


def at_head(push: Due, head: str) -> Due:
    """Check that the pushed commit is still the head; if not, the head's own event starts a job."""
    if not push.due or push.sha == head:
        return push
    return Due(False, f"{push.sha[:7]} is no longer the head, which is {head[:7]}")


def is_due(push: Due, now: ModelFingerprint, model: str, measured: Iterable[Measured]) -> Due:
    """Decide whether the pushed commit must be measured: whether the model differs from before.

    Parameters
    ----------
    push : Due
        Result of `pushed` and `at_head`.
    now : ModelFingerprint
        Digests of the model at the commit that was pushed.
    model : str
        ``org/name``: reports of other models, as in a copied repository, do not count.
    measured : iterable of Measured
        Existing reports; consumed only as far as needed.
    """
    if not push.due:
        return push
    at = push.sha[:7]
    for one in measured:
        if one.model.reference == model and not differences(one.model, now):
            return Due(
                False,
                f"weights, configuration, tokenizer and code at {at} are those of {one.where}",
            )
    return Due(True, f"no report is there of the model at {at}", push.sha)


def _update(given: Any) -> Update:
    if not isinstance(given, dict):
        raise _bad(f"updatedRefs has {given!r:.80}, no table")
    sha = given.get("newSha")
    if sha is not None and not (isinstance(sha, str) and _SHA.fullmatch(sha)):
        raise _bad(f"newSha is {sha!r:.80}, no whole hash of a commit")
    return Update(_text(given, "updatedRefs", "ref"), sha)


def _table(plain: Any, name: str) -> Mapping[str, Any]:
    found = plain.get(name) if isinstance(plain, dict) else None
    if not isinstance(found, dict):
        raise _bad(f"it has no table {name!r}")
    return found


def _text(table: Mapping[str, Any], where: str, name: str) -> str:
    found = table.get(name)
    if not isinstance(found, str):
        raise _bad(f"{where}.{name} is {found!r:.80}, no text")
    return found


def _bad(why: str) -> UsageError:
    return UsageError(
        f"WEBHOOK_PAYLOAD is no payload of a webhook of the Hub: {clean(why, 300)}.",
        "https://huggingface.co/docs/hub/webhooks shows one.",
    )
