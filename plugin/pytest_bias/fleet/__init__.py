"""Many models, on one machine or on many.

A fleet does with each model what `run` does with one: `steps` looks at it, measures its parts and
finishes its report; `store` is where all of that lies; `course` says what follows what; `local` and
`on_ray` are the engines that do the steps; `command` is the front end.
"""
