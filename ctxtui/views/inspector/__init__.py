"""What the panes round the transcript show: composition, map, call strip, this call, next call."""
