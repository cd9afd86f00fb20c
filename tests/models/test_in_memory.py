"""Models in memory: what is measured, and that nothing of a measurement stays."""

import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

import tiny_models
from pytest_bias.errors import ModelError
from pytest_bias.models import load
from pytest_bias.models.in_memory import from_memory, undisturbed

TEXTS = ["the nurse is here.", "the engineer was late again."]


@pytest.fixture
def made(tmp_path: Path) -> tuple[Any, Any]:
    """Return a causal network with dropout, in training mode but for one part, and a tokenizer."""
    folder = tiny_models.gpt2(tmp_path / "tiny")
    network = AutoModelForCausalLM.from_pretrained(folder).train()
    network.transformer.h[1].eval()
    return network, AutoTokenizer.from_pretrained(folder)


def states() -> list[Any]:
    own = np.random.get_state()  # noqa: NPY002
    return [random.getstate(), own[0], own[1].tolist(), torch.get_rng_state().tolist()]


def about(network: Any) -> tuple[Any, ...]:
    modes = {name: module.training for name, module in network.named_modules()}
    grads = {n: (p.requires_grad, p.grad, p.device, p.dtype) for n, p in network.named_parameters()}
    weights = {n: v.numpy().tobytes() for n, v in network.state_dict().items()}
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in network.modules()]
    classes = [type(m) for m in network.modules()]
    return modes, grads, weights, network.config.to_dict(), hooks, classes


def test_nothing_stays_even_if_it_fails(made: tuple[Any, Any]) -> None:
    network, tokenizer = made
    network.config.use_cache = True
    generation, before, chance = network.generation_config, about(network), states()
    with pytest.raises(RuntimeError, match="fails"), undisturbed(network):  # noqa: PT012
        model = from_memory(network, tokenizer).loaded()
        model.score(TEXTS)
        model.generate(TEXTS, max_new_tokens=3, sample=True)
        assert not any(module.training for module in network.modules())
        assert network.config.use_cache is False
        torch.rand(3)
        random.random()
        np.random.random()  # noqa: NPY002
        raise RuntimeError("it fails")
    assert about(network) == before
    assert states() == chance
    assert network.generation_config is generation
    ids = torch.tensor([[1, 2, 3]])
    network(input_ids=ids, labels=ids).loss.backward()


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "roberta"])
@pytest.mark.by_day("gpt2", "bert")
def test_scores_are_those_of_the_folder(name: str, tmp_path: Path) -> None:
    folder = getattr(tiny_models, name)(tmp_path / name)
    auto = AutoModelForMaskedLM if "bert" in name else AutoModelForCausalLM
    network, tokenizer = auto.from_pretrained(folder).train(), AutoTokenizer.from_pretrained(folder)
    with undisturbed(network):
        ours = from_memory(network, tokenizer).loaded()
        found = [s.total for s in ours.score(TEXTS)]
    theirs = load(str(folder))
    assert found == pytest.approx([s.total for s in theirs.score(TEXTS)], abs=1e-4)
    assert (ours.identity.kind, ours.capabilities) == (theirs.identity.kind, theirs.capabilities)
    assert ours.identity.prefix_token == theirs.identity.prefix_token
    assert ours.identity.parameters == theirs.identity.parameters
    assert ours.identity.reference == f"{name}, in memory"


def scores(network: Any, tokenizer: Any) -> list[float]:
    with undisturbed(network):
        return [s.total for s in from_memory(network, tokenizer).loaded().score(TEXTS)]


# Of peft, which asks transformers by an old name.
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_an_adapter_is_measured_as_it_applies(made: tuple[Any, Any]) -> None:
    network, tokenizer = made
    plain = scores(network, tokenizer)
    config = peft.LoraConfig(task_type="CAUSAL_LM", target_modules=["c_attn"], fan_in_fan_out=True)
    adapted = peft.get_peft_model(deepcopy(network), config)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            nn.init.constant_(parameter, 0.3)
    before = about(adapted)
    found = scores(adapted, tokenizer)
    assert about(adapted) == before
    assert found != pytest.approx(plain, abs=0.1)
    assert found == pytest.approx(scores(deepcopy(adapted).merge_and_unload(), tokenizer), abs=1e-3)
    assert "with the adapter default" in from_memory(adapted, tokenizer).identity.reference
    prompts = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    with pytest.raises(ModelError, match="PROMPT_TUNING puts its own vectors"):
        from_memory(peft.get_peft_model(network, prompts), tokenizer)


def test_wrappers_are_looked_into(made: tuple[Any, Any]) -> None:
    network, tokenizer = made
    plain = scores(network, tokenizer)
    for wrapped in (nn.DataParallel(network), torch.compile(network, backend="eager")):
        before = about(network)
        assert scores(wrapped, tokenizer) == plain
        assert about(network) == before


def test_mixed_precision_is_left_aside(made: tuple[Any, Any]) -> None:
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    network, tokenizer = made
    plain = scores(network, tokenizer)
    # Trainers of other tests have set the precision of this process.
    AcceleratorState._reset_state(reset_partial_state=True)
    try:
        prepared = Accelerator(mixed_precision="bf16", cpu=True).prepare(network)
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
    forward = vars(prepared)["forward"]
    assert scores(prepared, tokenizer) == plain
    assert vars(prepared)["forward"] is forward


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("group")
def test_distributed_parameters_are_refused(made: tuple[Any, Any]) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    network, tokenizer = made
    parallel = nn.parallel.DistributedDataParallel(deepcopy(network))
    assert scores(parallel, tokenizer) == scores(network, tokenizer)
    fully_shard(network, mesh=init_device_mesh("cpu", (1,)))
    with pytest.raises(ModelError, match=r"distributed over processes \(FSDP"):
        from_memory(network, tokenizer)


def test_a_network_that_is_no_language_model_is_refused(made: tuple[Any, Any]) -> None:
    with pytest.raises(ModelError, match="needs its tokenizer"):
        from_memory(made[0], None)
