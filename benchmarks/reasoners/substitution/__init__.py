"""Semi-naive evaluation by substitution, and delete/rederive, over an index structure of choice."""
