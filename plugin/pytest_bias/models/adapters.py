"""Adapters (peft), merged into their base model.

The result of `merged` is a plain model: the same layers with other weights.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final

from pytest_bias.errors import BiasError, ModelError
from pytest_bias.models.kind_table import ModelKind
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.snapshot import PICKLE, SAFETENSORS, Snapshot, fetch_weights, locate
from pytest_bias.models.tokens import Tokens
from pytest_bias.records.identity import AdapterIdentity
from pytest_bias.records.report import canonical_json, sha256

CONFIG: Final = "adapter_config.json"
WEIGHTS: Final = ("adapter_model.safetensors", "adapter_model.bin")
ABOUT_THE_MAKING: Final = (
    *("base_model_name_or_path", "revision", "inference_mode", "auto_mapping", "peft_version"),
)
"""Keys of adapter_config.json that describe its origin, not its effect."""

NOT_MERGED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "CPT"),
        "puts learned vectors in front of every text",
    ),
    "CARTRIDGE": "puts learned vectors in front of every text",
    "ADAPTION_PROMPT": "adds learned vectors to the attention of every text",
    "XLORA": "chooses among other adapters text by text",
    "POLY": "chooses among its parts task by task",
}
"""Types of adapters that cannot be merged into weights, and what they do instead."""

_IN_PEFT: Final = "base_model.model."
_NAME: Final = "default"


@dataclass(frozen=True)
class Adapter:
    """An adapter's files, including its weights."""

    snapshot: Snapshot

    @cached_property
    def config(self) -> dict[str, Any]:
        """Content of adapter_config.json."""
        return self.snapshot.table(CONFIG)

    @property
    def base(self) -> str | None:
        """Name of its base model, as its author wrote it."""
        named = self.config.get("base_model_name_or_path")
        return str(named) if named else None

    def check(self, kind: ModelKind) -> None:
        """Raise `ModelError` if it cannot be merged into this kind of model; reads no weights."""
        what = str(self.config.get("peft_type"))
        if what in NOT_MERGED:
            raise ModelError(
                f"{self.snapshot.ref} is an adapter of type {what}, which {NOT_MERGED[what]}: it "
                "cannot be merged into the weights, and only merged adapters are measured.",
                "LoRA and its relatives can be.",
            )
        task = self.config.get("task_type")
        if task and task not in kind.facts.adapter_tasks:
            raise ModelError(
                f"{self.snapshot.ref} is an adapter for the task {task}, and its base is measured "
                f"as a {kind} model."
            )
        if find_spec("peft") is None:
            raise ModelError(
                f"{self.snapshot.ref} is an adapter, which peft loads, and peft is not installed.",
                "pip install 'pytest-bias[adapters]'",
            )

    def identity(self, *, allow_pickle: bool) -> AdapterIdentity:
        """Return its identity; downloads its weights, which are small."""
        fetch_weights(self.snapshot, allow_pickle=allow_pickle)
        return self.identity_with(self.snapshot.weights_sha256(allow_pickle=allow_pickle))

    def identity_with(self, weights_sha256: str) -> AdapterIdentity:
        """Return its identity, given the digest of its weights."""
        kept = {k: v for k, v in self.config.items() if k not in ABOUT_THE_MAKING}
        return AdapterIdentity(
            reference=self.snapshot.ref.name,
            revision=self.snapshot.revision,
            weights_sha256=weights_sha256,
            config_sha256=sha256(canonical_json(kept)),
        )

    def weights(self, *, allow_pickle: bool) -> dict[str, Any]:
        """Return its weights by name, on the CPU; pickles are read without running code."""
        import torch
        from safetensors.torch import load_file

        (path,) = self.snapshot.weights(allow_pickle=allow_pickle)
        if path.suffix == ".safetensors":
            return load_file(path)
        return dict(torch.load(path, map_location="cpu", weights_only=True))


def located(ref: ModelRef, *, offline: bool) -> tuple[Snapshot, Adapter | None, tuple[str, ...]]:
    """Find a model, its adapter if there is one, and notices for the user."""
    snapshot = locate(ref, offline=offline)
    if ref.adapter:
        adapter = Adapter(_as_adapter(locate(ref.adapter, offline=offline)))
        notices: tuple[str, ...] = ()
        if adapter.base and _last(adapter.base) != _last(ref.name):
            notices = (f"{ref.adapter} was made for {adapter.base}, and is applied to {ref.name}.",)
    elif _has_adapter(snapshot):
        adapter = Adapter(_as_adapter(snapshot))
        ref = replace(_base_of(adapter), adapter=ref)
        snapshot = locate(ref, offline=offline)
        notices = (f"{ref.adapter} is an adapter: measured on its base, {adapter.base}.",)
    else:
        return snapshot, None, _told(snapshot)
    if _has_adapter(snapshot):
        raise ModelError(f"{ref.name}, the base of {ref.adapter}, is an adapter itself.")
    return snapshot, adapter, (*notices, *_told(snapshot), *_told(adapter.snapshot))


def _told(snapshot: Snapshot) -> tuple[str, ...]:
    return (snapshot.notice,) if snapshot.notice else ()


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _has_adapter(snapshot: Snapshot) -> bool:
    if snapshot.gguf or not (snapshot.folder / CONFIG).is_file():
        return False
    whole = {n for name in (SAFETENSORS, PICKLE) for n in (name, f"{name}.index.json")}
    if whole & snapshot.names:
        # Whether transformers combines them depends on whether peft is installed.
        raise ModelError(
            f"{snapshot.ref} holds the weights of a whole model and an adapter ({CONFIG}).",
            "Put the adapter into a folder of its own, and measure MODEL+ADAPTER.",
        )
    return True


def _as_adapter(snapshot: Snapshot) -> Snapshot:
    if not (snapshot.folder / CONFIG).is_file():
        raise ModelError(
            f"{snapshot.ref} is not an adapter: it has no {CONFIG}.",
            "An adapter is what save_pretrained of a peft model writes: MODEL+ADAPTER.",
        )
    return replace(snapshot, weight_names=WEIGHTS)


def _base_of(adapter: Adapter) -> ModelRef:
    hint = f"Name it yourself: BASE+{adapter.snapshot.ref}"
    if adapter.base is None:
        raise ModelError(f"{adapter.snapshot.ref} is an adapter that names no base model.", hint)
    revision = adapter.config.get("revision")
    try:
        base = ModelRef.parse(adapter.base + (f"@{revision}" if revision else ""))
    except BiasError as error:
        raise ModelError(
            f"the base model of the adapter {adapter.snapshot.ref} cannot be found: "
            f"{error.message}",
            hint,
        ) from None
    if base.adapter:
        raise ModelError(f"the base of {adapter.snapshot.ref} is an adapter itself: {base}.")
    return base


def merged(network: Any, adapter: Adapter, tokens: Tokens, *, allow_pickle: bool) -> Any:
    """Return a network with an adapter merged into its weights.

    Embeddings are resized to the size of the adapter's own.

    Raises
    ------
    ModelError
        If the adapter does not fit the network, or cannot be merged.
    """
    from peft import PeftConfig, get_peft_model

    name = str(adapter.snapshot.ref)
    weights = adapter.weights(allow_pickle=allow_pickle)
    try:
        # peft warns about missing weights; they are an error below.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _resize(network, weights)
            config = PeftConfig.from_pretrained(str(adapter.snapshot.folder))
            config.inference_mode = True
            peft = get_peft_model(network, config, _NAME, autocast_adapter_dtype=False)
            found = peft.load_adapter(
                str(adapter.snapshot.folder),
                _NAME,
                torch_device="cpu",
                autocast_adapter_dtype=False,
                key_mapping=getattr(network, "_checkpoint_conversion_mapping", None),
            )
    except Exception as error:
        raise _misfit(adapter, " ".join(str(error).split())[:300]) from error
    absent = [*found.missing_keys, *_not_saved(config, weights)]
    if absent or found.unexpected_keys:
        few = ", ".join(sorted([*absent, *found.unexpected_keys])[:3])
        raise _misfit(
            adapter,
            f"{len(absent)} of its weights are missing and {len(found.unexpected_keys)} have no "
            f"place in the model ({few})",
        )
    try:
        with warnings.catch_warnings():
            # An adapter's own embeddings need not be tied, even if the base's are.
            warnings.simplefilter("ignore")
            plain = peft.merge_and_unload(safe_merge=True)
    except Exception as error:
        raise ModelError(f"the adapter {name} cannot be merged: {error}") from error
    n_tokens, n_rows = len(tokens.tokenizer), plain.get_input_embeddings().weight.shape[0]
    if n_tokens > n_rows and adapter.snapshot.tokenizer_sha256:
        raise ModelError(
            f"the tokenizer of the adapter {name} has {n_tokens} tokens, and the model embeds "
            f"{n_rows}.",
            "Save the adapter with its embeddings: "
            "save_pretrained(folder, save_embedding_layers=True).",
        )
    return plain


def provided(adapter: Adapter | None, *, allow_pickle: bool) -> frozenset[str]:
    """Return the names of the model's weights that an adapter replaces, such as a head."""
    if adapter is None:
        return frozenset()
    names = adapter.weights(allow_pickle=allow_pickle)
    return frozenset(n.removeprefix(_IN_PEFT) for n in names if n.startswith(_IN_PEFT))


def _resize(network: Any, weights: Mapping[str, Any]) -> None:
    embeddings = network.get_input_embeddings()
    for name, module in network.named_modules():
        if module is embeddings:
            for key in (f"{_IN_PEFT}{name}.weight", f"{_IN_PEFT}{name}.base_layer.weight"):
                if key in weights and len(weights[key]) != embeddings.num_embeddings:
                    network.resize_token_embeddings(len(weights[key]), mean_resizing=False)
                    return


def _not_saved(config: Any, weights: Mapping[str, Any]) -> list[str]:
    """Return the modules that should have been saved completely and were not."""
    return [
        module
        for module in getattr(config, "modules_to_save", None) or ()
        if not any(f".{module}." in key for key in weights)
    ]


def _misfit(adapter: Adapter, why: str) -> ModelError:
    made_for = f" It was made for {adapter.base}." if adapter.base else ""
    return ModelError(f"the adapter {adapter.snapshot.ref} does not fit its base: {why}.{made_for}")
