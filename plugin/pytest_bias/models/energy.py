"""Energy consumption of the GPUs of a run, from the counters of their driver (NVML)."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

JOULES: Final = 3.6e6
"""Joules per kilowatt-hour."""

WORLD_PUE: Final = 1.8
"""Power usage effectiveness of data centres; world mean (Noor)."""

WORLD_GRID: Final = 475.0
"""Grams of CO2e per kilowatt-hour; world electricity mix (Noor)."""


@dataclass
class GpuEnergy:
    """Energy since construction, over all processes that use these devices.

    Parameters
    ----------
    devices : sequence of str
        Devices of the model; without a GPU nothing is measured.
    """

    devices: Sequence[str] = ()
    _start: list[int] | str = field(init=False)

    def __post_init__(self) -> None:
        self.devices = [d for d in self.devices if d.startswith("cuda")]
        self._start = _millijoules(self.devices)

    def cost(self, assumed: Mapping[str, float]) -> dict[str, Any]:
        """Return kWh and grams of CO2e so far, None if unknown, and the assumptions.

        kWh are those of the GPUs times the PUE; CO2e is kWh times the grid's emission factor.
        `assumed` may have ``pue`` (at least 1) and ``grid_g_per_kwh``; by default world means.
        """
        pue = assumed.get("pue", WORLD_PUE)
        grid = assumed.get("grid_g_per_kwh", WORLD_GRID)
        now = _millijoules(self.devices)
        if isinstance(now, str) or isinstance(self._start, str):
            why = self._start if isinstance(self._start, str) else now
            return {"energy_kwh": None, "co2e_g": None, "energy": {"reason": why}}
        gpus = sum(b - a for a, b in zip(self._start, now, strict=True)) / 1000 / JOULES
        return {
            "energy_kwh": gpus * pue,
            "co2e_g": gpus * pue * grid,
            "energy": {"gpu_kwh": gpus, "pue": pue, "grid_g_per_kwh": grid},
        }


def _millijoules(devices: Sequence[str]) -> list[int] | str:
    """Return the counter of every device, or the reason why there is none."""
    if not devices:
        return "no GPU took part; the energy of a processor is not measured"
    try:
        import pynvml
    except ImportError:
        return "nvidia-ml-py is not installed: pip install 'pytest-bias[gpu]'"
    try:
        pynvml.nvmlInit()
        try:
            return [
                int(pynvml.nvmlDeviceGetTotalEnergyConsumption(_handle(pynvml, device)))
                for device in devices
            ]
        finally:
            with contextlib.suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return f"the driver tells no energy: {error}"


def _handle(pynvml: Any, device: str) -> Any:
    # By UUID: PyTorch numbers only the visible devices, the driver all of them.
    identity = torch.cuda.get_device_properties(device).uuid
    return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{identity}")
