"""Our numbers against plain loops written from the formulas, and against published ones."""
