"""Provider prompt-cache rules, prefix keys, simulation and explanation."""
