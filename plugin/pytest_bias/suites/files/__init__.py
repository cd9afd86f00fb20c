"""Suite files: suites that are data, as ``*.bias.yaml``."""
