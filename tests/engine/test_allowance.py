"""What is left of calls and money, and how many items it suffices for."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.emit.costs import money
from pytest_bias.engine.allowance import MARGIN, Allowance, summed
from pytest_bias.engine.forecast import Expected, forecast
from pytest_bias.models.spending import Price, Spent, about_tokens

PRICE = Price("USD", input=0.5, output=1.5, call=0.001)


def asked(n: float) -> Spent:
    """Return `n` calls of 100 tokens to the model and 10 back."""
    return Spent(n, 100 * n, 10 * n, n)


def test_a_price_is_that_of_a_million_tokens_and_of_calls() -> None:
    assert PRICE.of(Spent(2, 1_000_000, 2_000_000)) == pytest.approx(0.5 + 3.0 + 0.002)
    assert Price("USD", call=2).of(asked(3)) == 6


@pytest.mark.parametrize(
    ("text", "n"),
    [("", 0), (None, 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("Größe", 2), ("日本語", 3)],
)
def test_tokens_are_estimated_from_bytes(text: str | None, n: int) -> None:
    assert about_tokens(text) == n


def test_what_is_left() -> None:
    left = Allowance(10, 1.0, PRICE).without(asked(4))
    assert left.calls == 6
    assert left.money == pytest.approx(1 - 4 * (100 * 0.5 + 10 * 1.5) / 1e6 - 0.004)
    assert Allowance().without(asked(4)) == Allowance()
    assert Allowance(9, 3.0).share(3) == Allowance(3, 1.0)


@given(st.integers(0, 60), st.integers(0, 40), st.floats(0, 0.05))
def test_as_many_as_fit_and_no_more(n: int, calls: int, amount: float) -> None:
    allowance = Allowance(calls, amount, PRICE)
    fits = allowance.fitting(n, asked)
    each = PRICE.of(asked(1))
    expected = min(n, calls, math.floor((amount + 1e-12) / (MARGIN * each) + 1e-9))
    assert fits == expected
    assert fits == 0 or allowance.holds(asked(fits))
    assert fits == n or not allowance.holds(asked(fits + 1))


def test_calls_are_shared_as_time_is() -> None:
    entries = [
        Expected("long", 1.0, 200, 20, 16, asked(400)),
        Expected("short", 1.0, 30, 3, 16, asked(60)),
    ]
    told = forecast(entries, "a server", allowance=Allowance(260, math.inf, PRICE), price=PRICE)
    # 60 for the short one, 200 of 400 calls for the long one; no first part is measured anyway.
    assert told.reached == pytest.approx((30 + 100) / 230)
    assert told.asked == asked(460)
    assert told.money == pytest.approx(PRICE.of(asked(460)))
    assert told.quick_calls == 40 + 6
    assert forecast(entries, "a server", allowance=Allowance(0)).reached == 0
    # The scarcest limit decides.
    both = forecast(entries, "a server", left=1000.0, allowance=Allowance(260))
    assert both.reached == pytest.approx((30 + 100) / 230)


def test_parts_of_a_run_add_up() -> None:
    parts = [{"calls": 2, "estimated": 1, "money": 0.5, "currency": "USD"}, {"calls": 3}]
    assert summed(parts) == {"calls": 5, "estimated": 1, "money": 0.5}


@pytest.mark.parametrize(
    ("amount", "words"),
    [(0, "0.00 USD"), (1234.5, "1,234.50 USD"), (0.01, "0.01 USD"), (0.00456, "0.0046 USD")],
)
def test_money_in_words(amount: float, words: str) -> None:
    assert money(amount, "USD") == words
