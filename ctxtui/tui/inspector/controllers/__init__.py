"""One controller per job, each with its commands and its own state."""
