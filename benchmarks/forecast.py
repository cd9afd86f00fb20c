"""How long a run takes on this machine, as the engine foresees it; random weights of real shapes.

    python benchmarks/forecast.py [bert-base gpt2 llama-1b llama-7b] [--device auto] [--dtype auto]

For every model and both profiles the seconds that are printed before the first suite, for all
suites that apply and whose data need no consent. Nothing is measured.
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch
from crows import DATA
from random_models import MODELS

from pytest_bias.engine import session
from pytest_bias.engine.events import Event, Forecast
from pytest_bias.runs.job import prepare
from pytest_bias.settings.settings import Settings


class Foreseen(BaseException):
    """The forecast is there; no error of a suite's stands for it."""


def forecast_first(settings: Settings) -> tuple[Forecast, float]:
    """Return what the engine foresees, and the seconds until it is known."""

    def listener(event: Event) -> None:
        if isinstance(event, Forecast):
            raise Foreseen(event)

    start = time.perf_counter()
    try:
        session.run(prepare(settings, listener, claims=False).session)
    except Foreseen as found:
        return found.args[0], time.perf_counter() - start
    raise SystemExit("nothing was forecast_first")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["bert-base", "gpt2"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--data-dir", type=Path, default=DATA.parent.parent)
    options = parser.parse_args()
    gpu = torch.cuda.is_available() and options.device != "cpu"
    print(torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads")
    print("model       standard s   quick s   until known s")
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            MODELS[name](DATA, Path(folder))
            settings = Settings(
                model=folder,
                device=options.device,
                dtype=options.dtype,
                data_dir=options.data_dir,
                out=Path(folder) / "out",
            )
            found, known = forecast_first(settings)
        unknown = f"  without {', '.join(found.unknown)}" if found.unknown else ""
        print(
            f"{name:12}{found.seconds:10.0f}{found.quick:10.0f}{known:16.0f}{unknown}", flush=True
        )


if __name__ == "__main__":
    main()
