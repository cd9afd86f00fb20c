"""Configuration files of users: parsing with line numbers, and validation of keys."""
