"""Models that are in memory already, such as one that is being trained: measured as they are.

No weight is copied, packed, moved or changed. `undisturbed` puts back everything else that a
measurement touches, so that a training goes on as if it had not taken place.
"""

import copy
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from pytest_bias.errors import ModelError
from pytest_bias.models.chat import in_force, template_of
from pytest_bias.models.classifier import labels_of
from pytest_bias.models.description import Described
from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.kinds import SUPPORT, capabilities_of, kind_of
from pytest_bias.models.memory import release
from pytest_bias.models.meter import Meter
from pytest_bias.models.placing import input_device
from pytest_bias.models.pooling import Pooling
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.sizes import fitted
from pytest_bias.models.tokens import Tokens
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import sha256

WRAPPERS: Final = (nn.DataParallel, nn.parallel.DistributedDataParallel)

INSTEAD: Final = "Measure checkpoints instead: pytest-bias run FOLDER"


@dataclass(frozen=True, kw_only=True)
class InMemory(Described):
    """A network in memory with its tokenizer; see `from_memory`."""

    network: Any
    tokens: Tokens

    @property
    def ref(self) -> ModelRef:
        """Reference of the model: what it is, in words, which no other process can load."""
        return ModelRef(self.identity.reference, "memory")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of a classifier's outputs; empty for other kinds."""
        is_classifier = self.kind is ModelKind.CLASSIFIER
        return labels_of(self.network.config, str(self.ref)) if is_classifier else ()

    @property
    def own_dtype(self) -> str:
        """Precision of its weights."""
        return self.identity.dtype

    @property
    def about_chat(self) -> str:
        """Notice about the chat template that is used."""
        return "Prompts are a user's turns, by the chat template of the model's tokenizer."

    def chats(self, asked: str, system: str | None = None) -> bool:
        """Whether prompts become chat turns; `asked` is ``auto``, ``on`` or ``off``."""
        continues, name = Capability.GENERATE in self.capabilities, str(self.ref)
        return in_force(asked, self.tokens, model=name, continues=continues, system=system)

    def weights_digest(self) -> None:
        """Return None: weights that change are not digested."""

    def precision(
        self, device: str, dtype: str, device_map: str | None, devices: str | None = None
    ) -> str:
        """Return the precision of its weights: it is measured where and as it is."""
        return self.identity.dtype

    def fetch(self) -> None:
        """Do nothing: it is here."""

    def at(self, reference: str) -> "InMemory":
        """Return the same network under another reference, as of another step."""
        return replace(self, identity=replace(self.identity, reference=reference))

    def loaded(self, **how: Any) -> Model:
        """Return the model, for use within `undisturbed`; device and precision stay as they are."""
        # The training's freed tensors are room for batches.
        release()
        support = SUPPORT[self.kind]
        told = fitted(self.tokens, self.network, self.kind, str(self.ref))
        body = support.body(
            self.network,
            self.kind,
            self.tokens,
            Meter(),
            budget=how.get("budget", 0),
            without_gradients=torch.no_grad,
        )
        found = support.model(self.identity, self.capabilities, body, Pooling())
        found.system = how.get("system")
        found.chat, found.notices = self.chats(how.get("chat", "auto"), found.system), told
        found.check()
        return found


def from_memory(network: Any, tokenizer: Any, *, name: str = "") -> InMemory:
    """Describe a network that is in memory, to plan and to measure it like a checkpoint.

    Parameters
    ----------
    network : torch.nn.Module
        A model of transformers; also within DataParallel, DistributedDataParallel, torch.compile,
        or with an adapter of peft, which is measured as it applies, not merged.
    tokenizer : transformers tokenizer
        Its tokenizer, or a processor that has one; a copy is used.
    name : str, optional
        Reference for reports; by default that of the model from which it was made.

    Returns
    -------
    InMemory
        Its identity has no digest: nobody else can load these weights, so a report about them
        earns no badge that needs a complete record.

    Raises
    ------
    ModelError
        If its parameters are distributed over processes, or it is of an unsupported kind.
    """
    network, adapter = unwrapped(network)
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    if tokenizer is None:
        raise ModelError(
            "a model in memory needs its tokenizer.",
            "Trainer(…, processing_class=tokenizer), or BiasCallback(tokenizer=…)",
        )
    architecture = type(network).__name__
    config = copy.copy(network.config)
    config.architectures = [architecture]
    name = name or f"{_made_from(network)}{adapter}, in memory"
    kind, _ = kind_of(config, name)
    tokens = Tokens(
        copy.deepcopy(tokenizer),
        closed_vocabulary=bool(getattr(config, "closed_vocabulary", False)),
    )
    template = template_of(tokens.tokenizer)
    return InMemory(
        identity=ModelIdentity(
            reference=name,
            kind=kind.value,
            architecture=architecture,
            parameters=sum(p.numel() for p in network.parameters()),
            dtype=str(network.dtype).removeprefix("torch."),
            lowercases=tokens.lowercases,
            prefix_token=SUPPORT[kind].beginning(config, tokens, name),
            pooling=str(Pooling()),
            chat_template_sha256=sha256(template) if template else None,
        ),
        kind=kind,
        capabilities=capabilities_of(kind, tokens),
        network=network,
        tokens=tokens,
    )


def unwrapped(network: Any) -> tuple[Any, str]:
    """Return the model of transformers inside of wrappers, and its adapter in words.

    Raises
    ------
    ModelError
        If it cannot be measured as it is.
    """
    while True:
        if isinstance(network, WRAPPERS):
            network = network.module
        elif "_orig_mod" in getattr(network, "_modules", {}):
            network = network._orig_mod
        else:
            break
    adapter = ""
    if hasattr(network, "peft_config"):
        if getattr(network, "active_peft_config", None) and (
            network.active_peft_config.is_prompt_learning
        ):
            raise ModelError(
                f"an adapter of type {network.active_peft_config.peft_type.value} puts its own "
                "vectors before every text: it cannot be measured in memory.",
                "LoRA and its relatives can be.",
            )
        active = network.active_adapter
        name = active if isinstance(active, str) else "+".join(map(str, active))
        adapter = f" with the adapter {name}"
        network = network.get_base_model()
    if how := sharded(network):
        raise ModelError(
            f"the parameters of this model are distributed over processes ({how}): "
            "no process has the whole model, so it is not measured while it is trained.",
            INSTEAD,
        )
    return network, adapter


def sharded(network: Any) -> str:
    """Return how the parameters of a network are distributed over processes; empty if not."""
    kinds = {type(module).__name__ for module in network.modules()}
    if any(name.startswith(("FSDP", "FullyShardedDataParallel")) for name in kinds):
        return "FSDP"
    parameters = list(network.parameters())
    if any(hasattr(p, "ds_id") for p in parameters):
        return "ZeRO-3 of DeepSpeed"
    if any(type(p.data).__name__ == "DTensor" for p in parameters):
        return "FSDP or tensor parallelism"
    if any(type(p).__name__ == "FlatParameter" or not p.numel() for p in parameters):
        return "FSDP"
    return ""


@contextmanager
def undisturbed(network: Any) -> Iterator[None]:
    """Put back, even after an exception, whatever a measurement of a network changes.

    That is: evaluation or training mode of every module; its configuration and generation
    settings; the forward that mixed precision puts in the place of its own, which is not used
    meanwhile; and the random states of PyTorch (CPU and accelerator), numpy and Python.
    """
    inner, _ = unwrapped(network)
    with ExitStack() as stack:
        stack.enter_context(_random_states(inner))
        for part in (network, inner):
            modes = [(module, module.training) for module in part.modules()]
            stack.callback(_put_back_modes, modes)
        for config in {id(c): c for c in (inner.config, inner.config.get_text_config())}.values():
            stack.callback(_put_back, config, dict(vars(config)))
        own = vars(inner)
        kept = {
            n: own[n] for n in ("generation_config", "forward", "_compiled_call_impl") if n in own
        }
        stack.callback(own.update, kept)
        if "_original_forward" in own:
            own.pop("forward", None)
        if kept.get("_compiled_call_impl") is not None:
            own["_compiled_call_impl"] = None
        yield


def _put_back_modes(modes: list[tuple[Any, bool]]) -> None:
    for module, training in modes:
        module.training = training


def _put_back(there: Any, before: Mapping[str, Any]) -> None:
    vars(there).clear()
    vars(there).update(before)


@contextmanager
def _random_states(network: Any) -> Iterator[None]:
    own, numbers = random.getstate(), np.random.get_state()  # noqa: NPY002
    kind = input_device(network).type
    with ExitStack() as stack:
        if kind == "cpu":
            stack.enter_context(torch.random.fork_rng(devices=[]))
        else:
            count = range(torch.get_device_module(kind).device_count())
            stack.enter_context(torch.random.fork_rng(devices=count, device_type=kind))
        try:
            yield
        finally:
            random.setstate(own)
            np.random.set_state(numbers)  # noqa: NPY002


def _made_from(network: Any) -> str:
    """Return the name of the model that a network was made from: a folder's is its last part."""
    name = str(getattr(network, "name_or_path", "") or "")
    path = Path(name)
    is_folder = name.count("/") != 1 or path.is_absolute() or path.is_dir()
    return (path.name if is_folder else name) or type(network).__name__
