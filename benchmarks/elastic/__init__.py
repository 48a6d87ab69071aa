"""The figures of the study of elastic incrementalization, for every strategy."""
