"""Bundled models with planted, exactly known behaviour: two checkpoints, and a responder."""
