"""Screens: Home and the Inspector."""
