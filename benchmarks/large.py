"""CrowS-Pairs on a model of GPT-NeoX-20B's shape, made on the GPUs: memory of each card, and time.

    python benchmarks/large.py [--devices all] [--dtype bfloat16] [--pairs 1508]
    python benchmarks/large.py --devices cpu --layers 2 --hidden 256 --pairs 20 --dtype float32

The weights are random (neither speed nor memory depends on them) and drawn on the cards, parameter
by parameter from a seed of its name, so that they do not depend on how many cards there are. No
checkpoint is written and no network is needed; the tokenizer is BERT-tiny's. Several devices hold
consecutive layers, as ``--device-map auto`` would place them.
"""

import argparse
import resource
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import torch
from accelerate import dispatch_model
from cpu import DATA, ROOT
from transformers import AutoTokenizer, GPTNeoXConfig, GPTNeoXForCausalLM

from bias_suites.social.crows_pairs import SUITE
from pytest_bias.data.sources import DataFolder
from pytest_bias.models.causal import CausalModel
from pytest_bias.models.devices import in_words
from pytest_bias.models.interface import Capability, ModelKind
from pytest_bias.models.meter import Meter
from pytest_bias.models.placing import DTYPES, shared
from pytest_bias.models.pooling import Pooling
from pytest_bias.models.tokens import Tokens
from pytest_bias.models.transformer import Transformer
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import records_digest
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.measures import measure_items

GIB = 2**30


def main() -> int:
    """Make the model, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="all")
    parser.add_argument("--dtype", default="bfloat16", choices=sorted({*DTYPES} - {"tf32"}))
    parser.add_argument("--pairs", type=int, default=10**6)
    parser.add_argument("--layers", type=int, default=44)
    parser.add_argument("--hidden", type=int, default=6144)
    parser.add_argument("--budget", type=int, default=0, help="tokens of one batch")
    parser.add_argument("--data", type=Path, default=DATA.parent.parent)
    parser.add_argument("--tokenizer", type=Path, default=ROOT / "models" / "bert-tiny")
    options = parser.parse_args()
    devices = tuple(dict.fromkeys(shared(options.devices)))
    config = GPTNeoXConfig(
        vocab_size=50432,
        hidden_size=options.hidden,
        num_hidden_layers=options.layers,
        num_attention_heads=options.hidden // 96 if options.hidden % 96 == 0 else 4,
        intermediate_size=4 * options.hidden,
        max_position_embeddings=2048,
        rotary_pct=0.25,
    )
    start = time.perf_counter()
    network = made(config, DTYPES[options.dtype], devices)
    synchronise(devices)
    tokens = Tokens(AutoTokenizer.from_pretrained(options.tokenizer), max_length=2048)
    body = Transformer(network, ModelKind.CAUSAL, tokens, Meter(), budget=options.budget)
    n = sum(p.numel() for p in network.parameters())
    identity = ModelIdentity(
        "random", "causal", "GPTNeoXForCausalLM", parameters=n, dtype=options.dtype
    )
    model = CausalModel(identity, frozenset({Capability.LOG_LIKELIHOOD}), body, Pooling())
    print(f"{in_words(body.devices)}, torch {torch.__version__}, {options.dtype}")
    print(f"{n / 1e9:.2f} billion parameters, made in {time.perf_counter() - start:.1f} s")
    print_memory(devices, "weights")
    model.meter.on_notice = print
    model.check_direction()
    data = SUITE.configurations[0].load(DataFolder(options.data, offline=True))
    items = data.items[: options.pairs]
    measure = SUITE.measure_for(model.capabilities)
    assert measure is not None
    tokens_before, model_before, start = (
        model.meter.tokens,
        model.meter.seconds,
        time.perf_counter(),
    )
    records = measure_items(measure, model, items)
    wall_s = time.perf_counter() - start
    model_s = model.meter.seconds - model_before
    n_tokens = model.meter.tokens - tokens_before
    print_memory(devices, "at most")
    rate = 2 * n * n_tokens / model_s / 1e12
    print(
        f"{len(items)} pairs, {n_tokens} tokens: {wall_s:.2f} s, of them the model {model_s:.2f} s"
    )
    print(f"{n_tokens / model_s:.0f} tokens a second, about {rate:.1f} TFLOP/s")
    scored = sum(r.status == "scored" for r in records)
    score = score_records(records, measure.metrics, Context(SUITE.name, "benchmark"))[0]
    print(f"{scored} of {len(records)} scored, {score.metric} {score.value:.2f}")
    print(f"records {records_digest(records)[:16]}")
    return int(scored < len(records))


def made(config: Any, dtype: torch.dtype, devices: tuple[str, ...]) -> Any:
    """Return a network whose weights have never been anywhere else than on their devices."""
    with torch.device("meta"):
        network = GPTNeoXForCausalLM(config).to(dtype).eval()
    head = network.get_output_embeddings()
    first, last, n = devices[0], devices[-1], config.num_hidden_layers
    where = {
        "gpt_neox.embed_in": first,
        "gpt_neox.emb_dropout": first,
        "gpt_neox.rotary_emb": first,
        **{f"gpt_neox.layers.{i}": devices[i * len(devices) // n] for i in range(n)},
        "gpt_neox.final_layer_norm": last,
        **{name: last for name, part in network.named_modules() if part is head},
    }
    for name, device in where.items():
        network.get_submodule(name).to_empty(device=device)
    # Frequencies are computed, not drawn.
    rotary = network.gpt_neox.rotary_emb
    network.gpt_neox.rotary_emb = type(rotary)(config).to(first)
    for name, weight in network.named_parameters():
        generator = torch.Generator(weight.device).manual_seed(zlib.crc32(name.encode()))
        if name.endswith("bias"):
            torch.nn.init.zeros_(weight)
        elif weight.ndim == 1:
            torch.nn.init.ones_(weight)
        else:
            torch.nn.init.normal_(weight, std=0.02, generator=generator)
    if len(devices) > 1:
        dispatch_model(network, where)
    return network


def synchronise(devices: tuple[str, ...]) -> None:
    """Wait for the cards."""
    for device in devices:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)


def print_memory(devices: tuple[str, ...], what: str) -> None:
    """Print what is, or at most was, taken of each card; without one, of main memory."""
    for device in devices:
        if device.startswith("cuda"):
            peak = torch.cuda.max_memory_allocated(device) / GIB
            reserved = torch.cuda.max_memory_reserved(device) / GIB
            print(f"  {device}: {what} {peak:.1f} GiB, reserved {reserved:.1f}")
        else:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
            print(f"  {device}: {what} {peak:.1f} GiB of the process")


if __name__ == "__main__":
    sys.exit(main())
