"""A provider on loopback with no model behind it: strict, free, cache-accurate. A test double for agents."""
