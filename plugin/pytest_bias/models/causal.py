"""Causal language models: every token from the tokens before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import torch

from pytest_bias.errors import ModelError
from pytest_bias.interface import SequenceScore
from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.reads import Reads
from pytest_bias.models.tokens import Encoded, Tokens, Unreadable

GENERATION_ROWS: Final = 16
AHEAD_NATS: Final = 0.01
"""Difference that rounding cannot explain, in half precision either."""
WHOLE_DISTRIBUTION: Final = {"temperature": 1.0, "top_k": 0, "top_p": 1.0}


@dataclass
class CausalModel(EncoderModel):
    """A model with a causal language modelling head."""

    def check_direction(self) -> None:
        """Raise `ModelError` if a later token changes what is predicted before it."""
        ids = list(range(min(8, self.body.vocabulary)))
        reads = Reads()
        first = reads.add(ids, 1, ids[2], mask=False)
        second = reads.add([*ids[:-1], ids[0]], 1, ids[2], mask=False)
        logp = self.body.log_probabilities(reads)
        if abs(logp[first] - logp[second]) > AHEAD_NATS:
            raise ModelError(
                f"{self.identity.reference} is a {self.identity.architecture} that sees the tokens "
                "behind the one it predicts: it is no causal language model.",
                "Name its real class under architectures in config.json, or set is_decoder.",
            )

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum the log-probabilities of all tokens from one forward of the text."""
        plan = partial(_each_token, tokens=self.body.tokens)
        return self.body.sentence_scores(list(texts), plan)

    def generate(
        self, prompts: Sequence[str], *, max_new_tokens: int, sample: bool = False, seed: int = 0
    ) -> list[str]:
        """Continue every prompt with the model's own generate, padded on the left.

        Sampling draws from the whole distribution, seeded once a call: the same prompts in the same
        order give the same continuations on one device.

        Raises
        ------
        ValueError
            If a prompt is empty or too long for the model.
        """
        tokens = self.body.tokens
        encoded = [e.ids[: e.core.stop] for e in tokens.encode_all(prompts)]
        longest = max((len(ids) for ids in encoded), default=0) + max_new_tokens
        if longest > tokens.max_length:
            raise ValueError(f"{longest} tokens, the model takes {tokens.max_length}")
        if self.body.work is not None:
            self.body.work.tokens += sum(len(ids) + max_new_tokens for ids in encoded)
            return [""] * len(prompts)
        torch.manual_seed(seed)
        found: list[str] = []
        for start in range(0, len(encoded), GENERATION_ROWS):
            part = encoded[start : start + GENERATION_ROWS]
            width = max(map(len, part))
            ids = torch.full((len(part), width), tokens.pad_id)
            attention = torch.zeros_like(ids)
            for row, prompt in enumerate(part):
                ids[row, width - len(prompt) :] = torch.tensor(prompt)
                attention[row, width - len(prompt) :] = 1
            with torch.inference_mode():
                output = self.body.network.generate(
                    input_ids=ids.to(self.body.device),
                    attention_mask=attention.to(self.body.device),
                    max_new_tokens=max_new_tokens,
                    do_sample=sample,
                    **(WHOLE_DISTRIBUTION if sample else {}),
                    pad_token_id=tokens.pad_id,
                )
            found += [tokens.decode(row[width:].tolist()) for row in output]
            self.meter.progress(len(found), len(prompts))
        return found


def _each_token(encoded: Encoded, reads: Reads, *, tokens: Tokens) -> list[int]:
    ids = encoded.ids
    core = encoded.core
    if core.start == 0 and tokens.prefix is not None:
        ids = [tokens.prefix[1], *ids]
        core = range(1, core.stop + 1)
    if len(ids) > tokens.max_length:
        raise Unreadable(f"{len(ids)} tokens, the model takes {tokens.max_length}")
    scored = [p for p in core if p > 0]
    if not scored:
        raise Unreadable("one token, and nothing to condition it on")
    # Nothing behind the last scored token is seen by it.
    seen = ids[: core.stop - 1]
    return [reads.add(seen, p - 1, ids[p], mask=False) for p in scored]
