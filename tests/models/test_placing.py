"""Where a model lies: a device map, parts that lie elsewhere, and mistakes."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import ours
from pytest_bias.errors import UsageError
from pytest_bias.models import describe, load
from pytest_bias.models.devices import in_words
from pytest_bias.models.placing import input_device, placed
from pytest_bias.records.report import records_digest

Tiny = Callable[[str], Path]

SUITES = {"bert": "template_association", "gpt2": "gendered_pair_entropy", "encoder": "seat"}


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize(("name", "suite"), SUITES.items())
def test_a_map_without_a_gpu_is_the_plain_model_and_says_so(name, suite, tiny: Tiny):
    items = ours.items(suite, "en")[:120]
    plain, mapped = load(str(tiny(name))), load(str(tiny(name)), device_map="auto")
    expected = records_digest(ours.records(suite, plain, items))
    assert records_digest(ours.records(suite, mapped, items)) == expected
    assert plain.notices == ()
    assert mapped.notices == ("--device-map auto: this PyTorch sees no GPU, the CPU computes.",)
    assert in_words(mapped.body.devices) == "cpu"


@pytest.mark.parametrize(("name", "suite"), SUITES.items())
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_parts_on_the_disk_are_fetched_and_counted(name, suite, tiny: Tiny):
    """What lies elsewhere is known by hooks: the same as with layers on several GPUs."""
    items = ours.items(suite, "en")[:120]
    plain = load(str(tiny(name)))
    size = 4 * sum(p.numel() for p in plain.body.network.parameters())
    model = load(str(tiny(name)), device_map="auto", max_memory={"cpu": size // 2})
    lying = list(model.body.network.hf_device_map.values())
    assert "disk" in lying
    said = f"{lying.count('disk')} of {len(lying)} parts of the model are on the disk"
    assert said in model.notices[1]
    assert input_device(model.body.network) == torch.device("cpu")
    assert list(model.body.devices) == ["cpu"]
    expected = {r.item: r for r in ours.records(suite, plain, items)}
    for record in ours.records(suite, model, items):
        other = expected[record.item]
        assert record.status == other.status
        # Without the packed layers of the plain model: another kernel.
        assert record.value == pytest.approx(other.value, abs=1e-5)


def test_a_map_needs_accelerate(tiny: Tiny, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pytest_bias.models.placing.find_spec", lambda name: None)
    config = describe(str(tiny("bert"))).config
    assert placed(config, "auto", "auto") == (torch.device("cpu"), "float32")
    with pytest.raises(UsageError, match="needs the package accelerate") as error:
        placed(config, "auto", "auto", "auto")
    assert error.value.hint == "pip install 'pytest-bias[models]'"
