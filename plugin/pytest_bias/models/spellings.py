"""The tokens of a vocabulary that read as a label, such as the letter of an option, or yes."""

from typing import Final

from pytest_bias.models.tokens import Tokens

MARKS: Final = ("", "Ġ", "▁", "Ċ", " ", "\n")
"""How vocabularies write the space or the line break before a word."""


def forms(label: str) -> tuple[str, ...]:
    """Return the ways to write a label: a word in small letters may be in any case.

    Examples
    --------
    >>> forms("yes"), forms("A")
    (('yes', 'Yes', 'YES'), ('A',))
    """
    return (label, label.capitalize(), label.upper()) if label.islower() else (label,)


def spellings(tokens: Tokens, label: str) -> list[int]:
    """Return the ids of the tokens that read as a label, alone or after a space or a break.

    Examples are ``A``, ``ĠA`` and ``▁A``: which of them a model generates depends on the text
    before, and on its chat template.
    """
    tokenizer = tokens.tokenizer
    known = set()
    for form in forms(label):
        known |= {tokenizer.convert_tokens_to_ids(f"{mark}{form}") for mark in MARKS}
        for text in (form, f" {form}"):
            known.update(tokenizer(text, add_special_tokens=False)["input_ids"][-1:])
    return sorted(
        int(i)
        for i in known - {None, tokenizer.unk_token_id}
        if tokens.knows(int(i)) and tokens.word(int(i)) in forms(label)
    )
