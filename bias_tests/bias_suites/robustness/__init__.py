"""Suites of robustness: changed inputs, other domains, and the shortcuts a model leans on."""
