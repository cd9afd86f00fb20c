"""GitHub: the runner of the Action, and comments, artifacts and branches by the REST API."""
