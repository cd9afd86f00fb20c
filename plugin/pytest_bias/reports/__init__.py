"""Reports on disk, compared, and held against limits."""
