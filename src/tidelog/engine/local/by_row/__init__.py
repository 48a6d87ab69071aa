"""Rules followed one binding at a time inside a kernel, for changes of a few rows."""
