"""Forecasts what a call will read from the prompt cache, and explains why a call read less."""
