"""The rows of the transcript: one for each block of a context, opened, staged, found or coming in."""
