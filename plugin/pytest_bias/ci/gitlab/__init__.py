"""GitLab: the variables of its jobs, and by the REST API notes and artifacts."""
