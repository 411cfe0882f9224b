"""Chat and Responses + validators."""
