"""Self-contained HTML documents: a report, the lab, the contents of a call."""
