"""The page and the tables of many models."""
