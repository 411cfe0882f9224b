"""Continue's sessions, one JSON each; also written, for its CLI to resume."""
