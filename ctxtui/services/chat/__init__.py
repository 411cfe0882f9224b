"""Hosting an agent."""
