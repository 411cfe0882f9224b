"""One module for each program that is led to a relay in a way of its own, and nothing else."""
