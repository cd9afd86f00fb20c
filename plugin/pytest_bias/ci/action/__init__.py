"""The GitHub Action: its steps, in the order of action.yml.

`wheels` (where to install), `prepare` (inputs to a command), `measure` (the command), `publish`,
`tell` (summary, annotations, comment), `decide` (the exit code).
"""
