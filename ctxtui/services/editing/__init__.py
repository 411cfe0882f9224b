"""Overlay, staging, next request, export, repair."""
