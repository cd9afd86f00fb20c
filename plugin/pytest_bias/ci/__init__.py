"""Continuous integration: the steps of a job, GitHub, GitLab, and the command ``init``."""
