"""Spark: partners in its Python workers run the local engine's kernels."""
