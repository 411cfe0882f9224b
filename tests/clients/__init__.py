"""Real clients as tests."""
