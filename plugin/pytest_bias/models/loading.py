"""Loading of models by name: `describe` reads the configuration, `load` the weights.

The capabilities of a model are known after `describe`, before any weights are read.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pytest_bias.errors import ModelError
from pytest_bias.models.adapters import Adapter, located, merged, provided
from pytest_bias.models.applications.description import describe_application, describe_http
from pytest_bias.models.chat import in_force, template_of
from pytest_bias.models.classifier import labels_of
from pytest_bias.models.description import Described
from pytest_bias.models.interface import Model
from pytest_bias.models.kind_table import Capability, ModelKind
from pytest_bias.models.kinds import SUPPORT, capabilities_of, kind_of
from pytest_bias.models.libraries import quiet, reading
from pytest_bias.models.masked import MaskedModel
from pytest_bias.models.meter import Meter
from pytest_bias.models.next_sentence import NextSentence, has_head, head_of
from pytest_bias.models.packed import pack
from pytest_bias.models.placing import DTYPES, moved, notices_of, placed
from pytest_bias.models.pooling import Pooling
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.served.description import describe_served
from pytest_bias.models.served.settings import RequestSettings
from pytest_bias.models.sizes import fitted
from pytest_bias.models.snapshot import TOKENIZER, Snapshot, fetch_weights
from pytest_bias.models.tokens import Tokens
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import sha256


@dataclass(frozen=True)
class Trust:
    """Permissions that the user grants to a checkpoint."""

    allow_pickle: bool = False
    remote_code: bool = False


@dataclass(frozen=True, kw_only=True)
class Description(Described):
    """What is known about a checkpoint before its weights are read."""

    snapshot: Snapshot
    tokens: Tokens
    trust: Trust
    config: Any
    adapter: Adapter | None = None

    @property
    def ref(self) -> ModelRef:
        """Reference of the model, with its adapter."""
        return self.snapshot.ref

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of a classifier's outputs; empty for other kinds."""
        if self.kind is not ModelKind.CLASSIFIER:
            return ()
        return labels_of(self.config, str(self.ref))

    @property
    def card(self) -> Mapping[str, Any]:
        """Metadata of its README.md."""
        return self.snapshot.card

    @property
    def own_dtype(self) -> str:
        """Precision in which its weights are stored, according to its configuration."""
        return str(getattr(self.config, "dtype", None) or "").rpartition(".")[2]

    @property
    def about_chat(self) -> str:
        """Notice about the chat template that is used."""
        return (
            "Prompts are a user's turns, by the chat template of the model's tokenizer. "
            "--chat off continues them as plain text."
        )

    def chats(self, asked: str, system: str | None = None) -> bool:
        """Whether prompts become chat turns; `asked` is ``auto``, ``on`` or ``off``."""
        continues, name = Capability.GENERATE in self.capabilities, str(self.ref)
        return in_force(asked, self.tokens, model=name, continues=continues, system=system)

    def weights_digest(self) -> str | None:
        """Digest of local weights; None for a Hub model, which its revision identifies."""
        if self.ref.source == "hub":
            return None
        return self.snapshot.weights_sha256(allow_pickle=self.trust.allow_pickle)

    def precision(
        self, device: str, dtype: str, device_map: str | None, devices: str | None = None
    ) -> str:
        """Return the precision of the weights on a device."""
        return placed(self.config, device, dtype, device_map)[1]

    def fetch(self) -> None:
        """Download the weights of a Hub model."""
        fetch_weights(self.snapshot, allow_pickle=self.trust.allow_pickle)

    def loaded(self, **how: Any) -> Model:
        """Load the weights; see `load`."""
        return _loaded(self, **how)


def describe(
    ref: ModelRef | str,
    *,
    offline: bool = False,
    trust: Trust = Trust(),
    asking: RequestSettings | None = None,
    chat: str = "auto",
    mapping: Mapping[str, Any] | None = None,
) -> Described:
    """Read a model's configuration and tokenizer, query its server, or import its function.

    `asking` applies to servers and applications, `chat` to servers, `mapping` to applications
    behind HTTP.

    Raises
    ------
    ModelError
        If the model cannot be found or is of an unsupported kind.
    """
    ref = ModelRef.parse(ref) if isinstance(ref, str) else ref
    if ref.source == "served":
        return describe_served(ref, offline=offline, asking=asking, chat=chat)
    if ref.source == "application":
        if ref.calls_code:
            return describe_application(ref, asking=asking)
        return describe_http(ref, mapping or {}, offline=offline, asking=asking)
    return _described(ref, offline=offline, trust=trust)


def _described(ref: ModelRef, *, offline: bool, trust: Trust) -> Description:
    from transformers import AutoConfig

    snapshot, adapter, notices = located(ref, offline=offline)
    ref = snapshot.ref
    if _needs_code(snapshot) and not trust.remote_code:
        raise ModelError(
            f"{ref} needs its own code, and running it is not allowed by default.",
            "If you have read that code and trust it: --trust-remote-code",
        )
    snapshot.refuse_pickle(allow_pickle=trust.allow_pickle)
    if ref.source != "hub":
        snapshot.weights(allow_pickle=trust.allow_pickle)
    made_of = [adapter.snapshot] if adapter else []
    if adapter:
        adapter.snapshot.refuse_pickle(allow_pickle=trust.allow_pickle)
    own = next((s for s in (*made_of, snapshot) if s.tokenizer_sha256), None)
    if own is None:
        raise ModelError(
            f"{ref} has no tokenizer.",
            "Save it beside the model: tokenizer.save_pretrained(folder)",
        )
    with reading(f"the configuration of {ref}"), quiet():
        config = AutoConfig.from_pretrained(snapshot.folder, **_source(snapshot, trust))
    kind, architecture = kind_of(config, str(ref), gguf=snapshot.gguf is not None)
    if adapter:
        adapter.check(kind)
    with reading(f"the tokenizer of {ref}", map(own.folder.joinpath, TOKENIZER)), quiet():
        tokens = _tokens(own, config, trust)
        beginning = SUPPORT[kind].beginning(config, tokens, str(ref))
    capabilities = capabilities_of(kind, tokens)
    if kind is ModelKind.MASKED and has_head(config, architecture):
        capabilities |= {Capability.NEXT_SENTENCE}
    pooling, template = _pooling(snapshot), template_of(tokens.tokenizer)
    identity = ModelIdentity(
        reference=f"{ref.name}+{ref.adapter.name}" if ref.adapter else ref.name,
        revision=snapshot.revision,
        kind=kind.value,
        architecture=architecture,
        parameters=_count(kind, config, trust),
        config_sha256=snapshot.config_sha256,
        tokenizer_sha256=own.tokenizer_sha256,
        base_model=ref.name if adapter else _first(snapshot.card.get("base_model")),
        lowercases=tokens.lowercases,
        prefix_token=beginning,
        pooling=str(pooling),
        chat_template_sha256=sha256(template) if template else None,
        code_sha256=next(filter(None, (s.code_sha256 for s in (snapshot, own))), None),
        adapter=adapter.identity(allow_pickle=trust.allow_pickle) if adapter else None,
    )
    return Description(
        identity=identity,
        kind=kind,
        capabilities=capabilities,
        languages=next(filter(None, (_languages(s) for s in (*made_of, snapshot))), ()),
        notices=notices,
        snapshot=snapshot,
        tokens=tokens,
        trust=trust,
        config=config,
        adapter=adapter,
    )


def load(
    model: Described | ModelRef | str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    chat: str = "auto",
    system: str | None = None,
    budget: int = 0,
    device_map: str | None = None,
    max_memory: Mapping[int | str, int | str] | None = None,
) -> Model:
    """Load a model's weights, or prepare to query its server.

    Parameters
    ----------
    model : Described, ModelRef or str
        Result of `describe`, or a model's name.
    device : str
        ``auto`` (a GPU if there is one), ``cpu``, or ``cuda:0``.
    dtype : str
        ``auto`` (float32 on the CPU, the checkpoint's own on a GPU), ``float32``, ``tf32``,
        ``bfloat16`` or ``float16``.
    chat : str
        ``auto`` (prompts are chat turns if the tokenizer has a template), ``on`` or ``off``.
    system : str, optional
        System text before every chat turn.
    budget : int
        Tokens of one batch; 0 to choose by device.
    device_map : str, optional
        ``auto`` spreads a model that is larger than one GPU over all of them.
    max_memory : mapping, optional
        Memory that a device map may use per device, such as ``{0: "20GB", 1: "40GB"}``.

    Raises
    ------
    ModelError
        If weights are missing, damaged, pickled, or lack the head of the model's kind.
    """
    about = model if isinstance(model, Described) else describe(model)
    return about.loaded(
        device=device,
        dtype=dtype,
        chat=chat,
        system=system,
        budget=budget,
        device_map=device_map,
        max_memory=max_memory,
    )


def _loaded(
    about: Description,
    *,
    device: str,
    dtype: str,
    chat: str,
    system: str | None,
    budget: int,
    device_map: str | None,
    max_memory: Mapping[int | str, int | str] | None,
) -> Model:
    support, snapshot, trust = SUPPORT[about.kind], about.snapshot, about.trust
    place, precision = placed(about.config, device, dtype, device_map)
    chats = about.chats(chat, system)
    fetch_weights(snapshot, allow_pickle=trust.allow_pickle)
    weights_sha256 = snapshot.weights_sha256(allow_pickle=trust.allow_pickle)
    spread = {"device_map": device_map, "max_memory": max_memory} if device_map else {}
    network = _network(about, about.kind.facts.auto_class, DTYPES[precision], **spread)
    if about.adapter:
        with quiet():
            network = merged(network, about.adapter, about.tokens, allow_pickle=trust.allow_pickle)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    told = fitted(about.tokens, network, about.kind, str(about.ref))
    if device_map is None:
        network = moved(network, place)
    pack(network)
    body = support.body(network, about.kind, about.tokens, Meter(), budget=budget)
    loaded = support.model(
        replace(about.identity, weights_sha256=weights_sha256, dtype=precision),
        about.capabilities,
        body,
        _pooling(snapshot),
    )
    if isinstance(loaded, MaskedModel) and Capability.NEXT_SENTENCE in about.capabilities:
        head = head_of(_network(about, "AutoModelForNextSentencePrediction", DTYPES[precision]))
        pack(head.to([*body.devices][-1]).eval())
        loaded.following = NextSentence(body, head)
    loaded.chat, loaded.system = chats, system
    loaded.notices = (*told, *notices_of(network, device_map))
    loaded.check()
    return loaded


def _network(about: Description, auto_class: str, dtype: Any, **spread: Any) -> Any:
    """Load the weights into a network, or raise `ModelError` if any are missing."""
    import transformers

    support, snapshot, trust = SUPPORT[about.kind], about.snapshot, about.trust
    auto = getattr(transformers, auto_class)
    files = snapshot.weights(allow_pickle=trust.allow_pickle)
    safe = [f for f in files if f.suffix == ".safetensors"]
    with reading(f"the weights of {snapshot.ref}", safe), quiet():
        network, loading = auto.from_pretrained(
            snapshot.folder,
            dtype=dtype,
            output_loading_info=True,
            # Reported below.
            ignore_mismatched_sizes=True,
            use_safetensors=None if trust.allow_pickle else True,
            **spread,
            **_source(snapshot, trust),
        )
    given = provided(about.adapter, allow_pickle=trust.allow_pickle)
    missing = {k for k in loading["missing_keys"] if not k.startswith(support.unused)}
    wrong = sorted(missing - given)
    wrong += sorted(
        f"{key} of {_shape(found)} instead of {_shape(expected)}"
        for key, found, expected in loading["mismatched_keys"]
    )
    if wrong:
        raise ModelError(
            f"{snapshot.ref} is not a complete {about.identity.architecture}: {len(wrong)} weights "
            f"are missing or of the wrong shape ({', '.join(wrong[:3])}"
            f"{', …' if len(wrong) > 3 else ''}). "
            "transformers would fill them with random numbers.",
            "Save the model with its head, or name its class under architectures in config.json.",
        )
    return network


def _needs_code(snapshot: Snapshot) -> bool:
    """Whether model or tokenizer need their own code, since the library has none for them."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    if "auto_map" in snapshot.config:
        return snapshot.config.get("model_type") not in CONFIG_MAPPING_NAMES
    if "auto_map" in snapshot.tokenizer_config:
        name = snapshot.tokenizer_config.get("tokenizer_class")
        return not name or tokenizer_class_from_name(str(name)) is None
    return False


def _pooling(snapshot: Snapshot) -> Pooling:
    if snapshot.gguf:
        return Pooling()
    with reading(f"1_Pooling/config.json of {snapshot.ref}"):
        return Pooling.of(snapshot.folder)


def _source(snapshot: Snapshot, trust: Trust) -> dict[str, Any]:
    where = {"gguf_file": snapshot.gguf.name} if snapshot.gguf else {}
    return {**where, "trust_remote_code": trust.remote_code, "local_files_only": True}


def _tokens(snapshot: Snapshot, config: Any, trust: Trust) -> Tokens:
    from transformers import AutoTokenizer

    source = _source(snapshot, trust)
    if not snapshot.gguf and not (snapshot.folder / "config.json").is_file():
        # For an adapter: if its files do not state the class, the model does.
        source["config"] = config
    tokenizer = AutoTokenizer.from_pretrained(snapshot.folder, **source)
    return Tokens(
        tokenizer,
        max_length=_stated_length(snapshot.folder),
        closed_vocabulary=bool(getattr(config, "closed_vocabulary", False)),
    )


def _stated_length(folder: Path) -> int:
    """Return the maximum length that a sentence encoder states, if any."""
    path = folder / "sentence_bert_config.json"
    if path.is_file():
        stated = json.loads(path.read_text(encoding="utf-8")).get("max_seq_length")
        if isinstance(stated, int):
            return stated
    return 10**6


def _count(kind: ModelKind, config: Any, trust: Trust) -> int | None:
    """Count parameters on the meta device, which allocates no memory."""
    import transformers

    auto = getattr(transformers, kind.facts.auto_class)
    with contextlib.suppress(Exception), quiet(), torch.device("meta"):
        network = auto.from_config(config, trust_remote_code=trust.remote_code)
        return int(sum(p.numel() for p in network.parameters()))
    return None


def _first(value: Any) -> str | None:
    listed = value if isinstance(value, list) else [value]
    return next((str(v) for v in listed if v), None)


def _languages(snapshot: Snapshot) -> tuple[str, ...]:
    value = snapshot.card.get("language")
    listed = value if isinstance(value, list) else [value] if value else []
    return tuple(str(v) for v in listed if v is not None)


def _shape(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))
