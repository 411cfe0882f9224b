"""Reads OpenTelemetry traces of model calls in three conventions."""
