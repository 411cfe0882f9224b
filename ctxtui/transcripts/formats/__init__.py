"""One module (or package) per format and nothing else."""
