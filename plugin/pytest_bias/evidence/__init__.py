"""Evidence: reports verified, reproduced and published, and models locked."""
