"""The model that is none."""
