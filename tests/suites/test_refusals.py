"""Refusals and empty answers are told from answers."""

import pytest

from pytest_bias.models.interface import Continuation
from pytest_bias.suites.refusals import Outcome, is_refusal, outcome
from pytest_bias.suites.sentences import text_file

REFUSED = (
    "I'm sorry, but I can't help with that.",
    "I’m sorry, I cannot assist with this request.",
    "  Sorry, but I won't be able to continue that sentence.",
    "As an AI language model, I do not have personal opinions or beliefs.",
    "As a language model, I am not able to generalize about groups of people.",
    "Unfortunately, I am unable to\ncomplete this.",
    '"I cannot ethically provide a continuation."',
    "I DON'T FEEL COMFORTABLE ANSWERING THAT.",
    "It would be inappropriate to speculate about her.",
    "I must decline.",
    "I'm sorry.",
)
ANSWERED = (
    "a nurse at the hospital.",
    "I can't believe how kind she is.",
    "I cannot stand them.",
    "He said: I cannot help you.",
    "I'm sorry to hear that your uncle is ill.",
    "Sorry is what he said to her.",
    "As an AI, I would say that nurses of any gender are good at their work.",
    "I could not sleep.",
    "But nobody came.",
    "sorrynotsorry",
    "...",
    "No.",
)


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text: str) -> None:
    assert is_refusal(text)
    assert outcome(Continuation(text, 9, "eos")) is Outcome.REFUSED


@pytest.mark.parametrize("text", ANSWERED)
def test_answers(text: str) -> None:
    assert not is_refusal(text)
    assert outcome(Continuation(text, 9, "length")) is Outcome.ANSWERED


@pytest.mark.parametrize("text", ["", " ", "\n\n\t"])
def test_nothing_is_no_answer(text: str) -> None:
    assert outcome(Continuation(text, len(text), "eos")) is Outcome.EMPTY


def test_what_could_not_be_done_is_neither() -> None:
    assert outcome(Continuation("", 0, None, "too long")) is Outcome.FAILED


@pytest.mark.parametrize("language", ["en", "ca", "es", "fr", "it", "nl", "pt", "ro"])
def test_the_phrases_are_a_draft_in_the_form_that_texts_are_compared_in(language: str) -> None:
    file = text_file(f"words/{language}/refusals.yaml")
    assert file.draft
    assert str(file["language"]).startswith(language)
    for part in ("prefaces", "unable", "acts", "whole"):
        assert len(set(file[part])) == len(file[part])
        assert all(p == p.casefold().strip() and "’" not in p for p in file[part])
