"""List screens: one ListScreen base, one file each with its commands."""
