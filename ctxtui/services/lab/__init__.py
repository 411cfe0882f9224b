"""Run sessions through the lab: choose, count and price variants, also in a child process."""
