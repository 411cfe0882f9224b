"""Contents of Home: columns and rows, their order, totals, the preview of a session."""
