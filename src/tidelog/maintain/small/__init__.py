"""Small epochs in one kernel: it does row by row what the sweeps do batch by batch."""
