"""Does the checking check? Mutants of the core, corrupted runs, and what has to catch them."""
