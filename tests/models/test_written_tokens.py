"""What is written like a special token in a text is letters, or the text is not read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bias.models import load
from pytest_bias.models.interface import GAP, Cloze
from pytest_bias.models.served.echoes import Unreadable, read_echo
from pytest_bias.models.tokens import Tokens
from word_classifier import word_classifier

Tiny = Callable[[str], Path]
LETTERS = {
    "bert": ("[MASK]", "[SEP]", "[UNK]"),
    "roberta": ("<mask>", "</s>", "<pad>"),
    "gpt2": ("<|end|>",),
}
PIECES = {"xlm_roberta": ("<mask>", "</s>", "<unk>"), "llama": ("<s>", "</s>")}
"""Of vocabularies that have the signs as pieces of words: they cannot be written as letters."""


def special_ids(tokens: Tokens, text: str) -> list[int]:
    encoded = tokens.encode(text)
    return [encoded.ids[p] for p in encoded.core if encoded.ids[p] in tokens.special.values()]


@pytest.mark.parametrize("name", LETTERS)
def test_a_special_token_in_a_text_is_encoded_as_letters(tiny: Tiny, name: str) -> None:
    tokens = load(str(tiny(name))).body.tokens  # type: ignore[attr-defined]
    for sign in LETTERS[name]:
        text = f"She is {sign} a nurse."
        assert special_ids(tokens, text) == []
        assert len(tokens.encode(text).core) > len(tokens.encode("She is a nurse.").core) + 1
        # The tokenizer itself is as it was: around other texts it puts what it did.
        assert tokens.encode("He is wise.").ids == tokens.tokenizer("He is wise.")["input_ids"]
        pair = tokens.encoding("She is wise.", text)["input_ids"]
        plain = tokens.encoding("She is wise.", "She is a nurse.")["input_ids"]
        counts = [sum(i in tokens.special.values() for i in ids) for ids in (pair, plain)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("name", PIECES)
def test_a_sign_that_is_a_piece_of_words_makes_a_text_unreadable(tiny: Tiny, name: str) -> None:
    model = load(str(tiny(name)))
    texts = ["She is wise.", *(f"She is {sign} wise." for sign in PIECES[name])]
    reasons = [score.reason or "" for score in model.score(texts)]
    assert reasons[0] == ""
    for sign, reason in zip(PIECES[name], reasons[1:], strict=True):
        assert reason == f"the tokenizer reads {sign}, written in the text, as a special token"


def test_a_text_with_a_special_token_is_scored_like_any_other(tiny: Tiny) -> None:
    model = load(str(tiny("bert")))
    plain, written = model.pseudo_log_likelihood(["She is wise.", "She is [SEP] wise."])
    assert written.reason is None
    assert written.n_tokens > plain.n_tokens + 2
    (score,) = model.slot([Cloze(f"The {GAP} said [SEP] twice.", ("man", "woman"))])
    assert score.reason is None
    causal = load(str(tiny("gpt2")))
    plain, written = causal.log_likelihood(["She is wise.", "She is <|end|> wise."])
    assert written.n_tokens > plain.n_tokens + 1


def test_a_classifier_and_a_reader_of_questions_see_letters(tiny: Tiny, tmp_path: Path) -> None:
    classifier = load(str(word_classifier(tmp_path / "c", ["good"])))
    found = classifier.classify(["good good", "good [SEP] good", ("good", "good [MASK]")])
    assert found.reasons == (None, None, None)


def test_a_tokenizer_that_cannot_write_letters_reads_no_such_text(tiny: Tiny) -> None:
    model = load(str(tiny("bert")))
    tokenizer = model.body.tokens.tokenizer  # type: ignore[attr-defined]

    class Stubborn:
        """The same tokenizer, which takes the option and does not follow it."""

        def __getattr__(self, name: str) -> object:
            return getattr(tokenizer, name)

        def __call__(self, *texts: object, **how: object) -> object:
            how.pop("split_special_tokens", None)
            return tokenizer(*texts, **how)

    model.body.tokens.tokenizer = Stubborn()  # type: ignore[attr-defined]
    (found, plain) = model.pseudo_log_likelihood(["She is [MASK].", "She is wise."])
    assert found.reason == "the tokenizer reads [MASK], written in the text, as a special token"
    assert plain.reason is None
    (score,) = model.slot([Cloze(f"The {GAP} said [SEP].", ("man", "woman"))])
    assert "reads [SEP]" in (score.reason or "")
    vectors = model.embed(["She is [MASK].", "She is wise."])
    assert [bool(r) for r in vectors.reasons] == [True, False]


def test_a_server_that_reads_a_special_token_gives_no_score() -> None:
    tokens = ["She", " is", " <|endoftext|>", " wise"]
    with pytest.raises(Unreadable, match=r"reads <\|endoftext\|>, written in the text"):
        read_echo([*tokens, "!"], [None, -1.0, -1.0, -1.0, -1.0], 1, "".join(tokens))
    letters = ["She", " <", "|", "endoftext", "|>"]
    echo = read_echo([*letters, "!"], [None, *[-1.0] * 5], 1, "".join(letters))
    assert len(echo.tokens) == 5
