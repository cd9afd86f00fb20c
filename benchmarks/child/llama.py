"""Log-probabilities of texts from llama.cpp itself: run by the Python that has llama_cpp.

Reads JSON from standard input (model, prefix, texts, threads); writes for every text the nats of
its first token, of all others together, and how many tokens it has.
"""

import json
import sys

import numpy as np
from llama_cpp import Llama


def main() -> None:
    """Answer what standard input asks."""
    asked = json.load(sys.stdin)
    # By default a text is read by as many threads as there are processors, which wait busily.
    threads = {"n_threads": asked["threads"], "n_threads_batch": asked["threads"]}
    model = Llama(asked["model"], n_ctx=2048, **threads, logits_all=True, verbose=False)
    n_front = len(model.tokenize(asked["prefix"].encode(), add_bos=False, special=True))
    found = []
    for text in asked["texts"]:
        whole = (asked["prefix"] + text).encode()
        tokens = model.tokenize(whole, add_bos=False, special=True)
        model.reset()
        model.eval(tokens)
        logits = np.array(model.scores[: len(tokens) - 1], dtype=np.float64)
        peak = logits.max(axis=1, keepdims=True)
        logp = logits - peak - np.log(np.exp(logits - peak).sum(axis=1, keepdims=True))
        nats = logp[np.arange(len(tokens) - 1), tokens[1:]][n_front - 1 :]
        found.append([float(nats[0]), float(nats[1:].sum()), len(nats)])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
