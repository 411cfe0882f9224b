"""What of each call's recorded context its model read, as the reports show."""
