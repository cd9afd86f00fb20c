"""``python -m pytest_bias.action``: the steps of action.yml, which `pytest_bias.ci.github` runs."""
