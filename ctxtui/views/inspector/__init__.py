"""Contents of the panes around the transcript: composition, map, call strip, calls."""
