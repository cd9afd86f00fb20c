"""What failures mean, how long they are waited for, and what is shown of them."""

import math
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.http.failures import ANSWERS, Failed, in_words, root_cause, seconds_asked
from pytest_bias.http.patience import Patience
from pytest_bias.http.session import is_token, shown, words_of


def asked(patience: Patience, *failures: Failed) -> list[Failed]:
    """Fail some times, then succeed; returns the failures that another attempt followed."""
    left, told = list(failures), []

    def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    assert patience.ask(attempt, told.append) == "done"
    return told


def test_waits_double_up_to_the_longest() -> None:
    waits: list[float] = []
    patience = Patience(9, backoff_s=2, longest_s=10, sleep=waits.append)
    assert len(asked(patience, *(Failed(503) for _ in range(5)))) == 5
    assert waits == [2, 4, 8, 10, 10]
    waits.clear()
    asked(Patience(9, jitter_s=0.5, sleep=waits.append), Failed(503), Failed(503))
    assert 1 <= waits[0] <= 1.5
    assert 2 <= waits[1] <= 2.5


def test_a_wait_that_is_asked_for_has_a_longest_one() -> None:
    waits: list[float] = []
    for insists in (False, True):
        patience = Patience(longest_s=10, insists=insists, sleep=waits.append)
        asked(patience, Failed(429, after=9))
        if insists:
            asked(patience, Failed(429, after=86_400))
        else:
            with pytest.raises(Failed):
                asked(patience, Failed(429, after=11))
    assert waits == [9, 9, 10]


def test_waits_of_several_requests_have_one_limit() -> None:
    waits: list[float] = []
    patience = Patience(left_s=10, sleep=waits.append)
    asked(patience, Failed(429, after=7))
    with pytest.raises(Failed) as caught:
        asked(patience, Failed(429, after=2), Failed(429, after=2))
    assert waits == [7, 2]
    assert caught.value.attempts == 2


def test_the_last_attempt_is_not_waited_behind() -> None:
    waits: list[float] = []
    with pytest.raises(Failed) as caught:
        asked(Patience(2, sleep=waits.append), Failed(500), Failed(502))
    assert (caught.value.kind, caught.value.attempts, waits) == (502, 2, [1])
    with pytest.raises(Failed):
        asked(Patience(5, sleep=waits.append), Failed(404))
    assert waits == [1]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": " 7 "}, 7),
        ({"Retry-After": "9" * 5000}, 1e9),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "²"}, None),
        ({"Retry-After": formatdate(0)}, 0),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 -0000"}, 1e9),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, 0),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 400}, 1e9),
        ({"X-RateLimit-Remaining": "0"}, None),
        ({"X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "1"}, None),
    ],
)
def test_seconds_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_asked(headers) == seconds


def test_a_time_that_a_server_names() -> None:
    at = time.time() + 50
    assert seconds_asked({"Retry-After": formatdate(at, usegmt=True)}) == pytest.approx(50, abs=3)
    limit = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{at:.0f}"}
    assert seconds_asked(limit) == pytest.approx(50, abs=3)
    assert seconds_asked({**limit, "Retry-After": "5"}) == 5


@given(st.text(), st.text())
def test_whatever_a_server_says_is_a_number_or_nothing(after: str, reset: str) -> None:
    for value in (after, f"Fri, {after} 2026 23:59:59 {reset}", f"{after}{reset}"):
        headers = {"Retry-After": value, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
        seconds = seconds_asked(headers)
        assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


def test_a_status_has_words_and_a_service_its_hints() -> None:
    limited = Failed(429, said="slow\x1b[31m down", after=90)
    assert limited.words() == "it is asked too often"
    assert limited.answer("the Hub") == (
        "the Hub answers 429 (Too Many Requests) and asks to wait 90 s: slow[31m down"
    )
    assert limited.hint() == "Run the command again in 90 s."
    assert Failed(429).hint() == "Run the command again later."
    assert (Failed(418).words(), Failed(418).hint()) == ("it refuses", None)
    assert (Failed(599).words(), Failed(599).answer("it")) == ("it fails", "it answers 599")
    own = {404: "look", 4: "other", "connection": "{again} at {host}"}
    assert [Failed(s).hint(own) for s in (404, 418)] == ["look", "other"]
    assert Failed("broken off", host="h").hint(own, again="again") == "again at h"
    assert Failed("proxy").hint(own) == ANSWERS["proxy"][1]
    assert Failed("size", "it is larger").hint(own) is None
    assert in_words(404) == "404 (Not Found)"


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    failed = Failed("connection", "{login} {host}", host="{cause}")
    assert failed.words(login="x") == "no connection to {cause} ({login} {host})"


def test_the_innermost_cause_is_told_without_a_query() -> None:
    with pytest.raises(ValueError, match="outer") as caught:
        raise ValueError("outer", ConnectionRefusedError(111, "Connection refused"))
    assert root_cause(caught.value) == "Connection refused"
    assert root_cause(ValueError("at http://x/y?sig=secret and so on")) == "at http://x/y and so on"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"error": {"message": "no model"}}', "no model"),
        (b'{"error": "no model"}', "no model"),
        (b'{"error": {"code": 7}}', ""),
        (b'{"detail": [{"loc": "body"}]}', '[{"loc": "body"}]'),
        (b'{"message": "no", "errors": [{"message": "why"}, "so", {"code": 1}]}', "no; why; so"),
        (b'{"message": "", "detail": "found"}', "found"),
        (b"[1]", ""),
        (b"<html>", ""),
        (b"\xff" * 9, ""),
        (b"[" * 20_000, ""),
    ],
)
def test_what_a_server_says_of_an_error(content: bytes, words: str) -> None:
    assert words_of(content) == words


def test_what_a_server_says_is_made_safe_to_show() -> None:
    assert shown("a\n\x1b[31m key-1 \u202e", "key-1") == "a [31m ***"
    assert len(shown("x" * 999, None)) == 200
    assert (is_token("abc-def_1"), is_token("a b"), is_token("a\n"), is_token("")) == (
        *(True, False),
        *(False, False),
    )
