"""Other tools' recordings <-> calls: readers that take bytes and give events, chosen by content (sans-IO)."""
