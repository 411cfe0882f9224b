"""Run a program again from a recorded call: recorded answers up to the fork, live ones after it."""
