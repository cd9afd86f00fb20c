"""The steps of a job of CI, on any service: what `pytest_bias.ci.provider.Provider` is for.

`prepare` (inputs to a command), `measure` (the command), `publish`, `tell` (summary, annotations,
comment), `decide` (the exit code). Each hands on values to the later ones.
"""
