"""Energy and CO2e of a run, from counters of the driver, and how their absence is told."""

import sys
from types import SimpleNamespace

import pytest

from made import report
from pytest_bias.emit.costs import cost, duration
from pytest_bias.errors import BiasError
from pytest_bias.models import energy
from pytest_bias.models.energy import GpuEnergy
from pytest_bias.settings.settings import read_settings


@pytest.fixture
def counters(monkeypatch):
    """Two GPUs, whose counters in millijoules a test may raise."""
    counts = {"GPU-first": 5_000, "GPU-second": 7_000}
    uuids = {"cuda:0": "first", "cuda:1": "second"}
    nvml = SimpleNamespace(
        NVMLError=OSError,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByUUID=lambda name: name,
        nvmlDeviceGetTotalEnergyConsumption=counts.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    properties = {device: SimpleNamespace(uuid=uuid) for device, uuid in uuids.items()}
    monkeypatch.setattr(energy.torch.cuda, "get_device_properties", properties.__getitem__)
    return counts


def test_energy_is_that_of_the_gpus_times_the_pue(counters):
    meter = GpuEnergy(("cuda:0", "cuda:1", "cpu"))
    # One hour at 470 W with a PUE of 1.1 is 517 Wh (Noor).
    counters["GPU-first"] += 400 * 3600 * 1000
    counters["GPU-second"] += 70 * 3600 * 1000
    found = meter.cost({"pue": 1.1, "grid_g_per_kwh": 56})
    assert found["energy_kwh"] == pytest.approx(0.517)
    assert found["co2e_g"] == pytest.approx(0.517 * 56)
    assert found["energy"] == {
        "gpu_kwh": pytest.approx(0.47),
        "pue": 1.1,
        "grid_g_per_kwh": 56,
    }


def test_only_the_gpus_of_the_model_count(counters):
    meter = GpuEnergy(("cuda:1",))
    counters["GPU-first"] += 10**9
    counters["GPU-second"] += 3_600_000
    found = meter.cost({})
    assert found["energy_kwh"] == pytest.approx(0.001 * 1.8)
    assert found["co2e_g"] == pytest.approx(0.001 * 1.8 * 475)


def test_what_is_not_measured_is_null_with_a_reason(monkeypatch):
    assert GpuEnergy(("cpu",)).cost({})["energy_kwh"] is None
    assert "no GPU took part" in GpuEnergy().cost({})["energy"]["reason"]
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found = GpuEnergy(("cuda:0",)).cost({})
    assert (found["energy_kwh"], found["co2e_g"]) == (None, None)
    assert "pytest-bias[gpu]" in found["energy"]["reason"]


def test_a_driver_that_tells_nothing(counters):
    meter = GpuEnergy(("cuda:0",))
    sys.modules["pynvml"].nvmlDeviceGetTotalEnergyConsumption = lambda _: refuse()
    assert meter.cost({})["energy"]["reason"] == "the driver tells no energy: Not Supported"


def refuse():
    raise OSError("Not Supported")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("energy: {pue: 0.9}", "from 1 up"),
        ("energy: {grid_g_per_kwh: -1}", "from 0 up"),
        ("energy: {pue: high}", "must be a number from 1 up, not 'high'"),
        ("energy: {grid: 56}", "grid_g_per_kwh"),
    ],
)
def test_what_is_said_of_a_place_is_checked(tmp_path, given, told):
    (tmp_path / "pytest-bias.yaml").write_text(given)
    with pytest.raises(BiasError) as caught:
        read_settings({}, environment={}, folder=tmp_path)
    assert told in str(caught.value)


def test_a_place_is_read_from_the_settings_file(tmp_path):
    (tmp_path / "pytest-bias.yaml").write_text("energy: {pue: 1.1, grid_g_per_kwh: 56}")
    found = read_settings({}, environment={}, folder=tmp_path).energy
    assert dict(found) == {"pue": 1.1, "grid_g_per_kwh": 56}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.96, "10.0 s"),
        (26.4, "26 s"),
        (100, "1 min 40 s"),
        (313, "5 min 13 s"),
        (600, "10 min"),
        (6060, "1 h 41 min"),
    ],
)
def test_times_in_words(seconds, words):
    assert duration(seconds) == words


def test_the_cost_of_a_run_in_words():
    spent = {"wall_s": 26.4, "model_s": 12.0, "tokens": 740116, "energy_kwh": None}
    made = report(run={"cost": spent})
    assert cost(made) == "Took 26 s, 12 s of it in the model (740,116 tokens)."
    about = {"pue": 1.8, "grid_g_per_kwh": 475}
    spent = spent | {"energy_kwh": 0.0123, "co2e_g": 5.84, "energy": about}
    assert cost(report(run={"cost": spent})) == (
        "Took 26 s, 12 s of it in the model (740,116 tokens); 0.012 kWh, 5.8 g CO2e "
        "(GPUs, PUE 1.8, 475 g/kWh)."
    )
    assert cost(report(run={})) == ""
