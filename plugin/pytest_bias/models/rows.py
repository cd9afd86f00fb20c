"""Texts and pairs of texts as rows of token ids, each once, and what to say of the others."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pytest_bias.models.interface import Text
from pytest_bias.models.tokens import Tokens, Unreadable

Asked = TypeVar("Asked", bound=Hashable)


class Row(NamedTuple):
    """One sequence to forward; `types` says which of two texts a token belongs to."""

    ids: list[int]
    types: list[int] | None = None


class Distinct(NamedTuple):
    """Rows that are to be forwarded.

    What was asked i-th is row ``of[i]``, unless ``reasons[i]`` says why it is none.
    """

    rows: list[Row]
    of: NDArray[np.int64]
    reasons: tuple[str | None, ...]


def distinct(asked: Sequence[Asked], encode: Callable[[Asked], Row]) -> Distinct:
    """Encode everything once; what is `Unreadable` has a reason in place of a row."""
    rows: list[Row] = []
    found: dict[Asked, tuple[int, str | None]] = {}
    for one in asked:
        if one in found:
            continue
        try:
            rows.append(encode(one))
            found[one] = len(rows) - 1, None
        except Unreadable as reason:
            found[one] = 0, str(reason)
    of = np.array([found[one][0] for one in asked], dtype=np.int64)
    return Distinct(rows, of, tuple(found[one][1] for one in asked))


def read(tokens: Tokens, text: Text) -> Row:
    """Encode a text, or two as one row, with the token types that the tokenizer gives.

    Raises
    ------
    Unreadable
        If a text is empty, they are too long for the model, or a special token is written there.
    """
    parts = (text,) if isinstance(text, str) else text
    if not all(part.strip() for part in parts):
        raise Unreadable("empty text")
    encoding = tokens.encoding(*parts, **with_types(tokens.tokenizer))
    tokens.check(encoding["input_ids"])
    return Row(encoding["input_ids"], encoding.get("token_type_ids"))


def with_types(tokenizer: Any) -> dict[str, bool]:
    """Return the option that makes a tokenizer give token types, where it has them.

    Which inputs a tokenizer gives is stated by its class or its files. One without a class of its
    own gave token types until version 5 of transformers and gives none since unless they are asked
    for; what it knows of them has not changed.
    """
    from transformers import PreTrainedTokenizerFast

    stated = "model_input_names" in getattr(tokenizer, "init_kwargs", {})
    if type(tokenizer) is PreTrainedTokenizerFast and not stated:
        return {"return_token_type_ids": True}
    return {}
