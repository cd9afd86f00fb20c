"""Applications as models: functions in the user's environment, from prompt to text."""
