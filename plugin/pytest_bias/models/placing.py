"""Placement and precision of a model: on one device, or spread over several."""

from collections import Counter
from importlib.util import find_spec
from typing import Any, Final

import torch

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.models.devices import ALL, listed

DTYPES: Final = {
    "float32": torch.float32,
    "tf32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
AWAY: Final = {"cpu": "in main memory", "disk": "on the disk"}
"""Where a device map puts layers that do not fit on a GPU."""


def placed(
    config: Any, device: str, dtype: str, device_map: str | None = None
) -> tuple[torch.device, str]:
    """Return the device and precision for a model with this configuration; needs no weights.

    With a `device_map` only the type of the device matters.

    Raises
    ------
    UsageError
        If the device does not exist, or does not support the precision.
    """
    if device_map and find_spec("accelerate") is None:
        raise UsageError(
            f"--device-map {device_map} needs the package accelerate.",
            "pip install 'pytest-bias[models]'",
        )
    place = _device(device)
    return place, _dtype(dtype, place, config)


def shared(devices: str) -> tuple[str, ...]:
    """Return the devices of ``--devices``: ``all``, or a list such as ``cuda:0,cuda:1``.

    Raises
    ------
    UsageError
        If a device does not exist, or they are of different types.
    """
    names = listed(devices)
    if ALL in names:
        if len(names) > 1:
            raise UsageError(f"--devices {devices}: all cannot be combined.", f"--devices {ALL}")
        if not torch.cuda.is_available():
            raise UsageError(f"--devices {ALL}: this PyTorch sees no GPU.", "--device cpu")
        return gpus()
    kinds = {_device(name, "--devices", ("cpu", "cuda:0")).type for name in names}
    if len(kinds) != 1:
        raise UsageError(
            f"--devices {devices!r}: {'they must be of one kind' if kinds else 'none is named'}.",
            f"--devices {ALL}, or --devices cuda:0,cuda:1",
        )
    return names


def gpus() -> tuple[str, ...]:
    """Return every GPU that PyTorch sees."""
    return tuple(f"cuda:{n}" for n in range(torch.cuda.device_count()))


def moved(network: Any, place: torch.device) -> Any:
    """Move a network to a device, and make that the current device of this process."""
    if place.index is not None and place.type == "cuda":
        # Otherwise the pinned memory of every process would use the first GPU.
        torch.cuda.set_device(place)
    return network.to(place)


def share_threads(n: int) -> None:
    """Reduce the threads of this process to those of one of `n` that share the CPU."""
    torch.set_num_threads(max(1, torch.get_num_threads() // n))


def devices_of(network: Any) -> dict[str, str]:
    """Return the devices on which a network computes, each with its name."""
    found = {p.device for p in network.parameters() if p.device.type != "meta"}
    return {str(d): _name(d) for d in sorted({*found, input_device(network)}, key=str)}


def input_device(network: Any) -> torch.device:
    """Return the device to which token ids are copied."""
    if hasattr(network, "hf_device_map"):
        # For an offloaded embedding the hook that loads it knows the device.
        hook = getattr(network.get_input_embeddings(), "_hf_hook", None)
        device = getattr(hook, "execution_device", None)
        if device is not None:
            return torch.device(device)
    places = (torch.device(p.device) for p in network.parameters())
    return next(place for place in places if place.type != "meta")


def notices_of(network: Any, device_map: str | None) -> tuple[str, ...]:
    """Return notices about the layers that a device map did not place on a GPU."""
    if device_map is None:
        return ()
    said = []
    lying = Counter(map(str, getattr(network, "hf_device_map", {}).values()))
    away = dict(AWAY)
    if not torch.cuda.is_available():
        said.append(f"--device-map {device_map}: this PyTorch sees no GPU, the CPU computes.")
        del away["cpu"]
    said += [
        f"--device-map {device_map}: {lying[name]} of {lying.total()} parts of the model are "
        f"{where} and are loaded for every batch, which is slow."
        for name, where in away.items()
        if lying[name]
    ]
    return tuple(said)


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def _device(
    name: str, option: str = "--device", known: tuple[str, ...] = ("auto", "cpu", "cuda", "cuda:0")
) -> torch.device:
    if name == "auto" and name in known:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(name)
    except RuntimeError:
        raise UnknownName.among("device", name, known) from None
    if place.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            f"{option} {name}: this PyTorch sees no GPU.", "--device cpu, or --device auto"
        )
    if place.type == "cuda" and (place.index or 0) >= torch.cuda.device_count():
        raise UsageError(f"{option} {name}: there are {torch.cuda.device_count()} GPUs.")
    return place


def _dtype(name: str, place: torch.device, config: Any) -> str:
    if name == "auto":
        own = str(getattr(config, "dtype", None)).removeprefix("torch.")
        return own if place.type == "cuda" and own in DTYPES else "float32"
    if name not in DTYPES:
        raise UnknownName.among("dtype", name, ["auto", *DTYPES])
    if name == "tf32" and place.type != "cuda":
        raise UsageError("--dtype tf32 is a mode of GPUs.", "--dtype float32")
    return name
