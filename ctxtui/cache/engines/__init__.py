"""The caches of the providers, one file each, behind one protocol (`simulate.Engine`)."""
