"""Settings and their origins, the user's folders, plug-ins, and package data."""
