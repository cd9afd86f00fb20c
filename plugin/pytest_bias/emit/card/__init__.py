"""The section of a model card, and the metadata of a README.md."""
