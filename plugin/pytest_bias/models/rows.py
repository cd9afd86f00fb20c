"""Texts and pairs of texts as distinct rows of token ids, with reasons for unreadable ones."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pytest_bias.models.interface import Text
from pytest_bias.models.tokens import Tokens, Unreadable

Asked = TypeVar("Asked", bound=Hashable)


class Row(NamedTuple):
    """One sequence to forward; `types` marks which of two texts a token belongs to."""

    ids: list[int]
    types: list[int] | None = None


class Distinct(NamedTuple):
    """Distinct rows to forward.

    The i-th input is row ``of[i]``, unless ``reasons[i]`` states why it has none.
    """

    rows: list[Row]
    of: NDArray[np.int64]
    reasons: tuple[str | None, ...]


def distinct(asked: Sequence[Asked], encode: Callable[[Asked], Row]) -> Distinct:
    """Encode distinct inputs once; those that are `Unreadable` have a reason instead of a row."""
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
    """Encode a text, or two as one row, with the tokenizer's token types.

    Raises
    ------
    Unreadable
        If a text is empty, too long for the model, or contains a special token.
    """
    parts = (text,) if isinstance(text, str) else text
    if not all(part.strip() for part in parts):
        raise Unreadable("empty text")
    encoding = tokens.encoding(*parts, **with_types(tokens.tokenizer))
    tokens.check(encoding["input_ids"])
    return Row(encoding["input_ids"], encoding.get("token_type_ids"))


def with_types(tokenizer: Any) -> dict[str, bool]:
    """Return the option that makes a tokenizer return token types, if it has them.

    The inputs that a tokenizer returns are stated by its class or its files. One without its own
    class returned token types before version 5 of transformers, and since then only on request.
    """
    from transformers import PreTrainedTokenizerFast

    stated = "model_input_names" in getattr(tokenizer, "init_kwargs", {})
    if type(tokenizer) is PreTrainedTokenizerFast and not stated:
        return {"return_token_type_ids": True}
    return {}
