"""Cline's sessions, a folder of JSON files each; also written, for Cline to resume."""
