"""GitLab: the variables of its jobs, and notes and artifacts by the REST API."""
