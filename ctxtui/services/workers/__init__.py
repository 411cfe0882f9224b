"""Everything that runs in a child process."""
