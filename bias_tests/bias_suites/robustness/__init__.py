"""Robustness suites: changed inputs, other domains, and shortcuts that a model relies on."""
