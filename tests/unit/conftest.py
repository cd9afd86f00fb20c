"""Settings of property tests: the same examples in every run, no clock."""

from hypothesis import settings

settings.register_profile("tests", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("tests")
