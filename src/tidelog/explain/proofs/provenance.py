"""What a session keeps for proofs: iterations, or heights."""

HEIGHT = "height"


def check_provenance(provenance: object) -> None:
    """Raise if a session is asked to keep something that is not a metric."""
    if isinstance(provenance, str):
        from tidelog.explain.proofs.metric import named_metric  # noqa: PLC0415 - only who asks pays

        named_metric(provenance)
