"""The panes round the transcript."""
