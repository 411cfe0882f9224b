"""Curate, repair, export, share, pins, scrub."""
