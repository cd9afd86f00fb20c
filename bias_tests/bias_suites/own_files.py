"""The YAML files that come with the built-in suites."""

from importlib.resources import files
from typing import Any

import yaml

# All of them are read at every start: libyaml needs a sixteenth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def own_file(folder: str, name: str) -> Any:
    """Read ``FOLDER/NAME.yaml``."""
    path = files("bias_suites").joinpath(folder, f"{name}.yaml")
    return yaml.load(path.read_text(encoding="utf-8"), _LOADER)
