"""Small epochs of a stratum in one kernel: what the vector path does batch by batch, row by row."""
