"""``pytest-bias init``: write a settings file and a workflow from three questions or flags."""
