"""GitHub: the runner of the Action, and by the REST API comments, artifacts and branches."""
