"""Session service, configuration, packaged data and bootstrap: the one composition root."""
