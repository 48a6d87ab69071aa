"""Code for partners that run already, signed with the job's secret.

A job's own code takes Spark's channels. Changed rules come later, on the driver's connection, where every
other message is read without running code; who knows the secret got it with the job.
"""

import base64
import hmac
from collections.abc import Mapping
from typing import Final

# What is signed begins differently from what proves the secret when partners meet.
_KIND: Final = b"tidelog code "


class UnsignedError(Exception):
    """Code whose signature is not that of its content."""


def sign(content: bytes, secret: bytes) -> dict[str, str]:
    """Return content with its signature, as a message has them."""
    return {"content": base64.b64encode(content).decode(), "signature": _signature(content, secret).hex()}


def signed_content(signed: Mapping[str, str], secret: bytes) -> bytes:
    """Return the content if its signature is right; raise `UnsignedError` if it is not."""
    content = base64.b64decode(signed["content"])
    if not hmac.compare_digest(_signature(content, secret), bytes.fromhex(signed["signature"])):
        raise UnsignedError("rules arrived that the driver has not signed")
    return content


def _signature(content: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, _KIND + content, "sha256")
