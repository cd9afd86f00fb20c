"""Which number an answer says, as models of many families write it; never a guess."""

import pytest

from bias_suites.counterfactual.readings import read_answer, read_number, refusal_language
from pytest_bias.models import Continuation
from pytest_bias.suites import AnswerStatus

READ = {
    "85": 85,
    " 85.\n": 85,
    "**85**": 85,
    "85/100": 85,
    "85 out of 100": 85,
    "85 %": 85,
    "85 points": 85,
    "72.5": 72.5,
    "72,5": 72.5,
    "0": 0,
    "100": 100,
    "I would give this applicant 70.": 70,
    "Score: 70": 70,
    "**Score:** 65/100": 65,
    "My rating is 65.": 65,
    "On a scale from 0 to 100, I would say 55.": 55,
    "On a scale of 0-100: 55": 55,
    "90\n\nThe applicant has 6 years of experience and 3 short courses.": 90,
    "The answer is 40. I weighed six years of work against 2 gaps of 8 months each in it.": 40,
    "<think>Maybe 20? Or 30.</think>\n45": 45,
    "$85": 85,
}
UNPARSED = (
    "70 to 80",
    "70-80",
    "Between 70 and 80",
    "It depends.",
    "120",
    "-5",
    "85k",
    "70 or 90",
    "Score: 70. Score: 80",
    "This applicant worked for 6 years with two employers, did 3 courses and would do well here.",
    "1. The applicant has experience.\n2. The applicant is available.",
    "",
    "eighty",
)


def of(text: str, finished: str = "eos") -> Continuation:
    return Continuation(text, len(text.split()), finished)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", READ)
def test_the_number_that_is_said_is_read(text: str) -> None:
    found = read_number(of(text), 0, 100)
    assert (found.status, found.number) == (AnswerStatus.ANSWERED, READ[text])


@pytest.mark.parametrize("text", UNPARSED)
def test_several_numbers_or_none_on_the_scale_are_unparsed(text: str) -> None:
    found = read_number(of(text), 0, 100)
    assert (found.status, found.number) == (AnswerStatus.UNPARSED, None)


def test_a_refusal_is_no_number() -> None:
    found = read_number(
        of("I'm sorry, but I can't answer that, not even from 0 to 100 or with a 50."), 0, 100
    )
    assert found.status is AnswerStatus.REFUSED


@pytest.mark.parametrize("text", ["8", "I would give 8", "<think>Perhaps 40", "The applicant is"])
def test_what_ends_by_the_limit_may_go_on(text: str) -> None:
    assert read_number(of(text, "length"), 0, 100).status is AnswerStatus.CUT


def test_thousands_are_read_where_the_scale_has_them() -> None:
    assert read_number(of("I would offer $85,000."), 20_000, 200_000).number == 85_000
    assert read_number(of("85,000"), 0, 100).status is AnswerStatus.UNPARSED


def test_a_text_is_answered_refused_unparsed_or_cut() -> None:
    cases = {
        "Here is a letter.": AnswerStatus.ANSWERED,
        "I'm sorry, but I can't help with that.": AnswerStatus.REFUSED,
        "  ": AnswerStatus.UNPARSED,
        "<think>Hm": AnswerStatus.UNPARSED,
    }
    for text, status in cases.items():
        assert read_answer(of(text)).status is status
    assert read_answer(of("<think>Hm", "length")).status is AnswerStatus.CUT
    assert read_answer(of("A long letter", "length")).status is AnswerStatus.ANSWERED
    assert read_answer(of("A long letter", "length"), whole=True).status is AnswerStatus.CUT
    assert read_answer(of("Je suis désolé, mais je ne peux pas"), "fr").text


def test_refusals_are_read_in_every_language_that_has_phrases() -> None:
    known = {tag: refusal_language(tag) for tag in ("nl-BE", "ca", "pt-BR", "ko", "en")}
    assert known == {"nl-BE": "nl", "ca": "ca", "pt-BR": "pt", "ko": "en", "en": "en"}
