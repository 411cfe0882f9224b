"""The figures of an open session, computed in the background."""
