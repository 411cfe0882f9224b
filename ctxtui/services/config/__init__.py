"""The settings and where each comes from, the user's folders, plug-ins, data that the package brings."""
