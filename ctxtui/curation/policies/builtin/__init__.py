"""The policies that come with ctxtui, one per module."""
