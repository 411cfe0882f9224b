"""Figures over many sessions."""
