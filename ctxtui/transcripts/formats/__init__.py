"""One module or package for each format of recordings, and nothing else."""
