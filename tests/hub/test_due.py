"""Which event of the Hub starts a run: hostile payloads, other people's branches, and the guard."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import UsageError
from pytest_bias.hub.due import (
    LONGEST,
    MAIN,
    Due,
    Event,
    Measured,
    Update,
    at_head,
    is_due,
    pushed,
    read_event,
)
from pytest_bias.models.fingerprint import ModelFingerprint
from pytest_bias.records.identity import ModelIdentity

NAME, OLD, NEW = "org/model", "a" * 40, "b" * 40


def payload(**more: Any) -> dict[str, Any]:
    return {
        "event": {"action": "update", "scope": "repo.content"},
        "repo": {"type": "model", "name": NAME, "id": "6", "private": False, "headSha": NEW},
        "updatedRefs": [{"ref": MAIN, "oldSha": OLD, "newSha": NEW}],
        "webhook": {"id": "7", "version": 3},
        **more,
    }


def judged(plain: Mapping[str, Any]) -> Due:
    return pushed(read_event(json.dumps(plain)), NAME)


def refs(*names: str, new: str | None = NEW) -> list[dict[str, Any]]:
    return [{"ref": name, "oldSha": OLD, "newSha": new} for name in names]


def scope(name: str, action: str = "update") -> dict[str, str]:
    return {"scope": name, "action": action}


def test_a_push_to_the_default_branch_counts_at_its_commit() -> None:
    assert judged(payload()) == Due(True, "main was pushed to", NEW)
    # A branch that is new has no commit before.
    new = [{"ref": MAIN, "oldSha": None, "newSha": NEW}]
    assert judged(payload(updatedRefs=new)).sha == NEW


def test_of_several_branches_that_moved_main_counts() -> None:
    moved = [*refs("refs/tags/v1", new=OLD), *refs(MAIN), *refs("refs/heads/dev", new=None)]
    assert judged(payload(updatedRefs=moved)).sha == NEW


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"event": scope("discussion", "create")}, "scope discussion, which is no push"),
        ({"event": scope("discussion.comment", "create")}, "scope discussion.comment"),
        ({"event": scope("repo.config")}, "scope repo.config"),
        ({"event": scope("repo", "delete")}, "scope repo, "),
        ({"event": scope("repo.contents")}, "scope repo.contents"),
        ({"event": scope("repo.content", "delete")}, "the event is a delete"),
        ({"updatedRefs": refs("refs/pr/3")}, "but refs/pr/3"),
        ({"updatedRefs": refs("refs/tags/main")}, "but refs/tags/main"),
        ({"updatedRefs": refs("refs/heads/main2", "main", "REFS/HEADS/MAIN", "x")}, "and 1 more"),
        ({"updatedRefs": refs(MAIN, new=None)}, "main was deleted"),
        ({"updatedRefs": []}, "but nothing"),
        ({"updatedRefs": None}, "but nothing"),
    ],
)
def test_other_events_are_passed_over(more: dict[str, Any], why: str) -> None:
    found = judged(payload(**more))
    assert (found.due, found.sha) == (False, "")
    assert why in found.why


def test_a_narrower_scope_is_an_update_of_the_broader() -> None:
    assert judged(payload(event=scope("repo.content.weights", "create"))).due


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("null", "no table 'event'"),
        ("[]", "no table 'event'"),
        ('"text"', "no table 'event'"),
        ("{}", "no table 'event'"),
        (json.dumps(payload(event="push")), "no table 'event'"),
        (json.dumps(payload(repo=[])), "no table 'repo'"),
        (json.dumps(payload(event={"scope": 1, "action": "update"})), "event.scope is 1"),
        (json.dumps(payload(event={"scope": "repo.content"})), "event.action is None"),
        (json.dumps(payload(updatedRefs={})), "updatedRefs is {}"),
        (json.dumps(payload(updatedRefs=["x"])), "updatedRefs has 'x'"),
        (json.dumps(payload(updatedRefs=[{"newSha": NEW}])), "updatedRefs.ref is None"),
        (json.dumps(payload(updatedRefs=refs(MAIN, new="main"))), "newSha is 'main'"),
        (json.dumps(payload(updatedRefs=refs(MAIN, new="../" * 20))), "no whole hash"),
        (json.dumps(payload(updatedRefs=refs(MAIN, new=NEW + "\n"))), "no whole hash"),
        (" " * (LONGEST + 1), "more than 1,000,000"),
    ],
)
def test_what_is_no_payload_is_said_to_be_none(text: str, why: str) -> None:
    with pytest.raises(UsageError) as found:
        read_event(text)
    assert why in found.value.message
    assert found.value.hint


@pytest.mark.parametrize("repo", [{"type": "model", "name": "org/other"}, {"type": "dataset"}])
def test_an_event_of_another_repository_is_refused(repo: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="this job is for the model 'org/model'"):
        judged(payload(repo={"name": NAME, **repo}))


def test_names_of_branches_move_no_terminal() -> None:
    hostile = "refs/heads/\x1b[2J\u202e" + "x" * 5000
    why = judged(payload(updatedRefs=refs(hostile))).why
    assert why.isprintable()
    assert len(why) < 200


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
WORDS = st.sampled_from([MAIN, NEW, NAME, "model", "repo.content", "update", "refs/pr/1"])
KEYS = st.sampled_from(
    [*("event", "repo", "updatedRefs", "scope", "action", "type", "name", "ref", "newSha")]
)
PLAIN = st.recursive(
    SCALARS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=20,
)


def answered(text: str) -> None:
    with suppress(UsageError):
        found = pushed(read_event(text), NAME)
        assert found.due == (found.sha != "")
        assert found.why.isprintable()


@given(PLAIN)
def test_whatever_comes_there_is_an_answer(plain: Any) -> None:
    answered(json.dumps(plain))


@given(st.text())
def test_whatever_text_comes_there_is_an_answer(text: str) -> None:
    answered(text)


@given(st.fixed_dictionaries(dict.fromkeys(("event", "repo", "updatedRefs"), PLAIN)))
def test_whatever_stands_in_a_payload_there_is_an_answer(plain: dict[str, Any]) -> None:
    for name in plain:
        answered(json.dumps({**payload(), name: plain[name]}))
    answered(json.dumps(payload(event={"scope": plain["event"], "action": "update"})))
    answered(json.dumps(payload(updatedRefs=[{"ref": MAIN, "newSha": plain["event"]}])))


# The loop guard

MODEL = ModelIdentity(
    reference=NAME,
    revision=OLD,
    weights_sha256="w",
    config_sha256="c",
    tokenizer_sha256="t",
    kind="masked",
    architecture="BertForMaskedLM",
    parameters=1,
    dtype="float32",
    base_model=None,
)
HEAD = ModelFingerprint(
    revision=NEW,
    weights_sha256="w",
    config_sha256="c",
    tokenizer_sha256="t",
    chat_template_sha256=None,
    code_sha256=None,
    files={},
)
PUSH = Due(True, "main was pushed to", NEW)
THERE = Measured(MODEL, "the report that is published")


def test_only_the_head_is_measured() -> None:
    assert at_head(PUSH, NEW) == PUSH
    late = at_head(PUSH, OLD)
    assert not late.due
    assert "bbbbbbb is no longer the head, which is aaaaaaa" in late.why


def test_the_model_that_was_measured_is_not_measured_again() -> None:
    found = is_due(PUSH, HEAD, NAME, [THERE])
    assert not found.due
    assert "are those of the report that is published" in found.why
    assert is_due(PUSH, HEAD, NAME, []).sha == NEW
    passed_over = Due(False, "main was deleted")
    assert is_due(passed_over, HEAD, NAME, []) == passed_over


@pytest.mark.parametrize(
    "part",
    ["weights_sha256", "config_sha256", "tokenizer_sha256", "chat_template_sha256", "code_sha256"],
)
def test_every_part_of_a_model_counts(part: str) -> None:
    assert is_due(PUSH, replace(HEAD, **{part: "other"}), NAME, [THERE]).due


def test_the_report_of_a_copied_repository_does_not_count() -> None:
    assert is_due(PUSH, HEAD, "org/copy", [THERE]).due


def test_reports_are_read_as_far_as_is_needed() -> None:
    def reports():
        yield THERE
        raise AssertionError("no other was to be read")

    assert not is_due(PUSH, HEAD, NAME, reports()).due


def test_an_event_without_branches_is_one() -> None:
    event = Event("model", NAME, "repo.content", "update", (Update(MAIN, None),))
    assert pushed(event, NAME).why == "main was deleted"
