"""`ctxtui lab`."""
