"""Continuous integration: the GitHub Action, what it asks of GitHub, and `init`."""
