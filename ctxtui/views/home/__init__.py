"""What Home shows: its columns and rows, their order, totals, the preview of a session."""
