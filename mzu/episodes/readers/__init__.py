"""One reader per format of stored episodes, and how each writes its own."""
