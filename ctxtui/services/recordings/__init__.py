"""Finds recordings, opens and reads them, and follows those that grow."""
