"""Run a program again from a recorded call: recorded answers up to it, live ones after it."""
