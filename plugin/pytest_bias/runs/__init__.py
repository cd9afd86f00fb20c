"""A job from settings to the files of its output folder, with its baseline first."""
