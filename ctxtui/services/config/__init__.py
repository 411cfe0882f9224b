"""Settings, paths, plug-ins, packaged data."""
