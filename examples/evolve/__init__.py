"""A search over programs that one model leads, generation by generation, run on ctxtui's agent from Python."""
