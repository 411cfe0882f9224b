"""Drawing primitives: spans, cells, numbers, bars."""
