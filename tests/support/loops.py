"""Plain loops over what a model writes, and the texts that it goes on from."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

import plain

PROMPTS = [
    f"{'he works ' * k}as a nurse {words}".strip()
    for k in (0, 1, 2, 7)
    for words in ("", "and", "in the town", "but she said that")
]


def behind(slow, prompt, new):
    """Return the text of new ids with the space that is in front of them."""
    ids = slow.tokenizer(prompt)["input_ids"]
    whole = slow.tokenizer.decode([*ids, *new], skip_special_tokens=True)
    return whole.removeprefix(slow.tokenizer.decode(ids, skip_special_tokens=True))


def branches(slow, prompt, n, length, ends):
    """Yield the new ids behind each of the likeliest first tokens: a forward of the whole each."""
    ids = slow.tokenizer(prompt)["input_ids"]
    order = plain.logits(slow, ids)[-1].sort(descending=True, stable=True).indices
    for first in order[:n].tolist():
        new = [first]
        while new[-1] not in ends and len(new) < length:
            new.append(int(plain.logits(slow, [*ids, *new])[-1].argmax()))
        yield new


TEXTS = [
    "The nurse said that she was late.",
    "He is a carpenter.",
    "My uncle and my aunt are doctors, and they work at the hospital in the town.",
    "Old people are good with computers, young people are not.",
    "Why?",
]


def greedy(slow, model, text, n):
    """Write the likeliest token again and again, each from a forward of the whole."""
    start, new = model.start(), []
    read = slow.tokenizer(text, return_tensors="pt").input_ids
    while len(new) < n:
        with torch.no_grad():
            given = torch.tensor([[*start, *new]])
            new.append(int(slow.network(read, decoder_input_ids=given).logits[0, -1].argmax()))
        if new[-1] in model.ends:
            break
    return slow.tokenizer.decode(new, skip_special_tokens=True)


@contextmanager
def threads(n) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
