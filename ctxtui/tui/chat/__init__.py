"""Chat screen = inspector + chat controllers."""
