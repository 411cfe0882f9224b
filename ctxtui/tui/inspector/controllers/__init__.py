"""The inspector's controllers, one for each job."""
