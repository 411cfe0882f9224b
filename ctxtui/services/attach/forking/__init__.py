"""A program run again from a recorded call: which answers are given again, and where it is live."""
