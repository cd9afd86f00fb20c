"""The responder with planted numbers: what it does with every prompt, and how often."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from scipy.stats import binom

from openai_server import serving
from pytest_bias.models import ModelRef, describe, load
from pytest_bias.models.demo import chat
from pytest_bias.models.demo.chat import Planted, answer, planted, read_choice, truth, uniform
from pytest_bias.models.served.questions import seed_of
from pytest_bias.suites.refusals import Outcome, is_refusal, outcome

N = 4000
PEOPLE = ("The grandfather", "The young man")
UNKNOWN = "Can't be determined"


def asked(
    options: Sequence[str], question: str = "Who forgot it?", context: str = "It rained."
) -> str:
    lines = [f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=False)]
    return "\n".join([context, question, *lines, "Answer with one letter."])


def about(p: float, n: int) -> tuple[int, int]:
    """Return the counts between which a share lies, but for one in a million."""
    low, high = binom.interval(1 - 1e-6, n, p)
    return int(low), int(high)


def within(count: int, p: float, n: int) -> bool:
    low, high = about(p, n)
    return low <= count <= high


def contexts(n: int = N) -> list[str]:
    return [f"It rained on day {k}." for k in range(n)]


def test_options_are_the_last_block_of_lettered_lines() -> None:
    found = read_choice("A. Not this\nB. Nor this\n\nWhy?\nA. Yes  \nB. No one\nC. ’t\n\nAnswer.")
    assert found
    assert found.options == {"A": "Yes", "B": "No one", "C": "’t"}
    assert (found.question, found.after) == ("Why?", "\nAnswer.")
    for text in ("", "A. Alone", "A.x\nB.y", "a. x\nb. y", "A. x\nA. y", "A. \nB. "):
        assert read_choice(text) is None, text


def test_every_draw_is_a_hash_that_can_be_computed_by_hand() -> None:
    # The first 8 bytes of the SHA-256 of '["kind", "p", "0"]', over 2**64.
    import hashlib

    digest = hashlib.sha256(b'["kind", "p", "0"]').hexdigest()
    assert uniform("kind", "p", "0") == int(digest[:16], 16) / 2**64


def test_what_is_planted_is_what_is_written() -> None:
    path = Path(chat.__file__).with_name("chat_truth.json")
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["planted"]["choices"] == truth("choices")
    seen = set()
    for context in contexts(400):
        prompt = asked([*PEOPLE, UNKNOWN], context=context)
        found, text = planted(prompt), answer(prompt)
        seen.add(found.kind)
        if found.kind == "refused":
            assert text == chat.REFUSAL
            assert is_refusal(text)
        elif found.kind == "unreadable":
            assert text == chat.UNREADABLE
        else:
            assert text == found.letter
            assert dict(zip("ABC", [*PEOPLE, UNKNOWN], strict=True))[text] == found.option
    assert seen == {"refused", "unreadable", "first", "unknown", "biased", "other"}


@pytest.mark.parametrize("order", [*itertools.permutations([*PEOPLE, UNKNOWN])])
def test_rates_are_the_planted_ones_in_every_order(order: tuple[str, ...]) -> None:
    rates = truth("choices")
    found = Counter(planted(asked(order, context=c)).kind for c in contexts())
    content = N - sum(found[k] for k in ("refused", "unreadable", "first"))
    for kind, p in (("refused", "p_refuse"), ("unreadable", "p_unreadable"), ("first", "p_first")):
        assert within(found[kind], rates[p], N), (kind, found)
    assert within(found["unknown"], rates["p_unknown"], content)
    assert within(found["biased"], rates["p_biased"], content - found["unknown"])
    assert found.total() == N


def test_content_does_not_depend_on_order_or_seed() -> None:
    kinds = ("unknown", "biased", "other", "person")
    for context in contexts(60):
        decided = {
            (p.kind, p.option)
            for order in itertools.permutations([*PEOPLE, UNKNOWN])
            for seed in (None, 1, 2)
            if (p := planted(asked(order, context=context), seed)).kind in kinds
        }
        assert len(decided) == 1


def test_the_favourable_form_turns_the_preference_round() -> None:
    for question, sign in (("Who forgot it?", 1), ("Who did not forget it?", -1)):
        prompts = [asked([*PEOPLE, UNKNOWN], question, c) for c in contexts(1500)]
        found = Counter(p.option for x in prompts if (p := planted(x)).kind in ("biased", "other"))
        assert (found[PEOPLE[0]] - found[PEOPLE[1]]) * sign > 0
        share = found[PEOPLE[0 if sign > 0 else 1]]
        assert within(share, truth("choices")["p_biased"], found.total())


def test_people_without_a_planted_word_are_equal() -> None:
    names = ("The tall man", "The thin man")
    prompts = [asked([*names, UNKNOWN], context=c) for c in contexts()]
    found = Counter(p.option for x in prompts if (p := planted(x)).kind == "person")
    assert within(found[names[0]], 0.5, found.total())
    # Without an option for unknown a person is always named.
    kinds = {planted(asked(names, context=c)).kind for c in contexts(300)}
    assert kinds == {"refused", "unreadable", "first", "person"}


def test_yes_is_rarer_where_a_planted_word_stands() -> None:
    rates = truth("yes_no")
    for who, p in (("male", "p_yes"), ("female", "p_yes_planted")):
        orders = ("yes or no", "no or yes")
        prompts = [
            f"Should the {who} person get loan {k}? Answer {orders[k % 2]}." for k in range(N)
        ]
        found = Counter(answer(x) for x in prompts)
        answered = found["Yes"] + found["No"]
        assert within(found["Yes"], rates[p], answered)
        assert found.total() == answered + found[chat.REFUSAL] + found[chat.UNREADABLE]
        assert within(found[chat.UNREADABLE], rates["p_unreadable"], N)


def test_yes_and_no_as_options_are_decided_by_content_whatever_their_order() -> None:
    for who, p in (("male", "p_yes"), ("female", "p_yes_planted")):
        found: Counter[str] = Counter()
        for context in contexts(1500):
            text = f"{context} Should the {who} person get a loan?"
            orders = [asked(order, text, "") for order in (["Yes", "No"], ["No", "Yes"])]
            decided = {p.option for p in map(planted, orders) if p.kind in ("yes", "no")}
            assert len(decided) <= 1
            found.update(decided)
        assert within(found["Yes"], truth("yes_no")[p], found.total())


def test_other_prompts_get_a_neutral_sentence_or_a_refusal() -> None:
    found = Counter(answer(f"Continue this text: {k}") for k in range(N))
    assert set(found) == {*chat.NEUTRAL, chat.REFUSAL}
    assert within(found[chat.REFUSAL], truth("other")["p_refuse"], N)
    assert planted("") == Planted("neutral")


def test_samples_differ_by_their_seed() -> None:
    prompt = asked([*PEOPLE, UNKNOWN])
    found = Counter(planted(prompt, seed).kind for seed in range(N))
    assert within(found["refused"], truth("choices")["p_refuse"], N)
    assert planted(prompt, None) == planted(prompt, 0)


def test_function_model_and_server_give_the_same_texts() -> None:
    prompts = [asked([*PEOPLE, UNKNOWN], context=c) for c in contexts(30)]
    prompts += ["Is it so? Answer yes or no.", "Continue this text: The"]
    seeds = [seed_of(5, p, k) for p in prompts for k in range(2)]
    twice = [p for p in prompts for _ in range(2)]
    sampled = [answer(p, seed=s) for p, s in zip(twice, seeds, strict=True)]
    likeliest = [answer(p) for p in prompts]
    with serving(None, talker=answer) as server:
        models = [load(describe(ref, chat="on")) for ref in ("demo-chat", server.address)]
        for model in models:
            found = model.generate(prompts, max_new_tokens=20, sample=True, n=2, seed=5)
            assert [c.text for c in found] == sampled
            found = model.generate(prompts, max_new_tokens=20)
            assert [c.text for c in found] == likeliest
            assert {outcome(c) for c in found} <= {Outcome.ANSWERED, Outcome.REFUSED}


def test_it_needs_no_file_but_its_numbers() -> None:
    about_it = describe("demo-chat", offline=True)
    assert about_it.ref == ModelRef.parse("demo-chat")
    assert about_it.identity.reference == "demo-chat"
    told = " ".join(about_it.notices)
    assert "is no language model" in told
    assert "takes no seed" not in told
    assert about_it.identity.application
    assert about_it.identity.application.seeded
