"""What pipelines cost, from sources to published tables."""
