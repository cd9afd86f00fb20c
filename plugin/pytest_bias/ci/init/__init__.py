"""``pytest-bias init``: from three questions, or from flags, to a settings file and a workflow."""
