"""Sizes of a network: the number of its token ids, and of its positions."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from pytest_bias.errors import ModelError
from pytest_bias.models.interface import ModelKind
from pytest_bias.models.tokens import Tokens

POSITIONS_OF: Final = ("", "encoder_", "decoder_")


def positions(network: Any, config: Any) -> int:
    """Return the maximum number of tokens of a network."""
    about = config.get_text_config()
    stated = [getattr(about, f"max_{part}position_embeddings", None) for part in POSITIONS_OF]
    limits = [10**6, *(n for n in stated if isinstance(n, int) and n > 0)]
    for name, module in network.named_modules():
        padding = getattr(module, "padding_idx", None)
        # Such a table starts after the row of the padding token.
        if name.endswith("position_embeddings") and padding is not None:
            limits.append(int(module.num_embeddings) - padding - 1)
    return min(limits)


def ids(network: Any) -> int | None:
    """Return the number of ids that all tables of a network have; None without a table."""
    return min(_tables(network), default=None)


def _tables(network: Any) -> Iterator[int]:
    """Yield the sizes of the id tables: input embeddings, also a decoder's, and output layer."""
    for owner, name in (
        (network, "get_input_embeddings"),
        (network, "get_output_embeddings"),
        (_decoder(network), "get_input_embeddings"),
    ):
        # Some networks embed characters without a table.
        with contextlib.suppress(AttributeError, NotImplementedError):
            table = getattr(owner, name)()
            size = getattr(table, "num_embeddings", None) or getattr(table, "out_features", None)
            if isinstance(size, int):
                yield size


def _decoder(network: Any) -> Any:
    return network.get_decoder() if network.config.is_encoder_decoder else None


def fitted(tokens: Tokens, network: Any, kind: ModelKind, name: str) -> tuple[str, ...]:
    """Tell a tokenizer the sizes of the loaded network; returns and raises as `check_ids`."""
    tokens.max_length = min(tokens.max_length, positions(network, network.config))
    tokens.rows = ids(network)
    return check_ids(tokens, kind, network.config, name)


def check_ids(tokens: Tokens, kind: ModelKind, config: Any, name: str) -> tuple[str, ...]:
    """Compare a tokenizer's ids with the tables of the loaded network.

    Returns
    -------
    tuple of str
        Notices for the user.

    Raises
    ------
    ModelError
        If a required token has no row.
    """
    needed: dict[str, int | None] = {}
    if kind is ModelKind.MASKED:
        needed["its mask token"] = tokens.mask_id
    if kind is ModelKind.SEQ2SEQ:
        needed["what its decoder starts with"] = config.decoder_start_token_id
        needed |= {"what its encoder reads of an empty text": max(tokens.empty, default=None)}
    for what, token in needed.items():
        if token is not None and not tokens.knows(token):
            raise ModelError(
                f"{name}: {what} has id {token}, and the weights have {tokens.rows} ids.",
                "Save it after model.resize_token_embeddings(len(tokenizer)), or with the "
                "tokenizer that it was trained with.",
            )
    n_ids = len(tokens.tokenizer)
    if tokens.rows is None or n_ids <= tokens.rows:
        return ()
    return (
        f"The tokenizer has {n_ids} ids and the weights have {tokens.rows}: a text with one of the "
        "others is unscored.",
    )
