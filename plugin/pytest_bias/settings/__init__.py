"""Settings of a run; precedence: options, environment, settings file, defaults."""
