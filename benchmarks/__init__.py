"""Named workloads, where their facts come from, and how long engines and their peers take."""
