"""Other tools' session files to calls; one file per format."""
