"""The tokens of a vocabulary that read as a label, such as the letter of an option."""

from typing import Final

from pytest_bias.models.tokens import Tokens

MARKS: Final = ("", "Ġ", "▁", "Ċ", " ", "\n")
"""How vocabularies write the space or the line break before a word."""


def spellings(tokens: Tokens, label: str) -> list[int]:
    """Return the ids of the tokens that read as a label, alone or after a space or a break.

    Examples are ``A``, ``ĠA`` and ``▁A``: which of them a model generates depends on the text
    before, and on its chat template.
    """
    tokenizer = tokens.tokenizer
    known = {tokenizer.convert_tokens_to_ids(f"{mark}{label}") for mark in MARKS}
    for text in (label, f" {label}"):
        known.update(tokenizer(text, add_special_tokens=False)["input_ids"][-1:])
    return sorted(
        int(i)
        for i in known - {None, tokenizer.unk_token_id}
        if tokens.knows(int(i)) and tokens.word(int(i)) == label
    )
