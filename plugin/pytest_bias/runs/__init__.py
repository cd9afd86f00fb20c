"""Runs: a job from settings to the files of its output folder, its baseline first."""
