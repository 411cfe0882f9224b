"""The part of each call's recorded context that its model read, according to the reports."""
