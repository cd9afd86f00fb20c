"""The steps of a CI job, on any service that implements `pytest_bias.ci.provider.Provider`.

`prepare` (inputs to a command), `measure` (the command), `publish`, `tell` (summary, annotations,
comment), `decide` (the exit code). Each passes values to the later ones.
"""
