"""Many models, on one machine or on many.

A fleet does with each model what `run` does with one. `asks` has what is asked of a machine and
what it answers, `steps` and `finishing` do it, and `store` with `parts` is where all of that lies;
`course` says what follows what, `local` and `on_ray` are the engines that have the steps done, and
`command` is the front end.
"""
