"""The policies that come with ctxtui, one a module."""
