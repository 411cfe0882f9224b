"""Contents of the panes around the transcript: composition, map, call strip, this call, next call."""
