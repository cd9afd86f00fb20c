"""What the GitHub Action asks of GitHub: comments, artifacts and branches, by the REST API."""
