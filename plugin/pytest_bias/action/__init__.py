"""``python -m pytest_bias.action``: entry point of action.yml's steps (`pytest_bias.ci.github`)."""
