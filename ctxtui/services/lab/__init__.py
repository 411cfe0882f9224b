"""Run sessions through the lab: choose, count and price variants, here or in a child process."""
