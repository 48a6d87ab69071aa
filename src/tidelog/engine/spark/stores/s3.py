"""Conditional writes to S3: an object is replaced if it is still the one that was read.

Arrow cannot ask for them, so botocore does, with what Arrow's file system knows of the store. Some stores
with the interface of S3 take such a request and write in any case: one is asked once whether it does.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyarrow import fs

from tidelog.engine.spark.stores.lease import Lease

# A write is refused if somebody else was faster. Then `change` sees what that one wrote, and mostly raises.
_MOST_TRIES: Final = 20
_REFUSED: Final = (409, 412)
_NOT_THERE: Final = 404


def conditional_put(system: fs.FileSystem, path: str) -> "ConditionalPut | Lease":
    """Return what replaces an object; a lease if botocore is not installed."""
    try:
        import botocore.session  # noqa: F401, PLC0415 - an optional package
    except ImportError:
        return Lease(system, path, "conditional writes to S3 need botocore (pip install botocore)")
    return ConditionalPut(system, path)


class ConditionalPut:
    """Replaces an object with `If-Match`, or makes it with `If-None-Match`."""

    def __init__(self, system: fs.FileSystem, path: str) -> None:
        self._system = system
        self._path = path
        self._bucket, _, self._key = path.partition("/")
        self._made: Any = None
        self._lease: Lease | None = None

    @property
    def reason_for_lease(self) -> str | None:
        """Return why only a lease keeps others from writing. The store is asked once; raises `OSError`."""
        with self._client():
            pass
        return None if self._lease is None else self._lease.reason_for_lease

    def __call__(self, change: Callable[[bytes | None], bytes]) -> None:
        """Replace the content if nobody else does in between."""
        with self._client() as client:
            if self._lease is not None:
                self._lease(change)
                return
            for _ in range(_MOST_TRIES):
                content, tag = self._read(client)
                new = change(content)
                if self._put(client, self._key, new, tag):
                    return
                # A request whose reply was lost is sent again, and then refused.
                if self._read(client)[0] == new:
                    return
        raise OSError(f"s3://{self._path} was not written: the store refused it {_MOST_TRIES} times")

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Yield a client of the store; what it raises is raised as `OSError`."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an optional package

        try:
            if self._made is None:
                self._made = new_client(self._system)
                reason = self._reason_against(self._made)
                self._lease = None if reason is None else Lease(self._system, self._path, reason)
            yield self._made
        except (BotoCoreError, ClientError) as error:
            raise OSError(str(error)) from error
        finally:
            if self._made is not None:
                self._made.close()

    def _reason_against(self, client: Any) -> str | None:
        """Return why conditional writes cannot be relied on, or None if they can."""
        known = client.meta.service_model.operation_model("PutObject").input_shape.members
        if not {"IfMatch", "IfNoneMatch"}.issubset(known):
            return "conditional writes to S3 need a newer botocore (pip install --upgrade botocore)"
        key = f"{self._key}.probe/{uuid.uuid4().hex}"
        client.put_object(Bucket=self._bucket, Key=key, Body=b"")
        try:
            if self._put(client, key, b"probe", None) or self._put(client, key, b"probe", '"of another one"'):
                return "this store writes even if the condition of the write is not met"
            return None
        finally:
            client.delete_object(Bucket=self._bucket, Key=key)

    def _read(self, client: Any) -> tuple[bytes | None, str | None]:
        """Return the content of the object and what it is recognised by; None for both if there is none."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - an optional package

        try:
            reply = client.get_object(Bucket=self._bucket, Key=self._key)
        except ClientError as error:
            if _status(error) == _NOT_THERE:
                return None, None
            raise
        with reply["Body"] as body:
            return bytes(body.read()), str(reply["ETag"])

    def _put(self, client: Any, key: str, content: bytes, tag: str | None) -> bool:
        """Write an object if it is still this one, or none; return False if it is not."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - an optional package

        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        try:
            client.put_object(Bucket=self._bucket, Key=key, Body=content, **condition)
        except ClientError as error:
            # With `If-Match` there may be nothing any more.
            if _status(error) in {*_REFUSED, _NOT_THERE}:
                return False
            raise
        return True


def new_client(system: fs.FileSystem) -> Any:
    """Return a client of botocore for the store that a file system of Arrow reaches, with its credentials."""
    from botocore.config import Config  # noqa: PLC0415 - an optional package
    from botocore.session import Session  # noqa: PLC0415 - as above

    # What a copy of the file system is made from: the only place where it tells.
    options = system.__reduce__()[1][0]
    session = Session()
    if options["access_key"]:
        session.set_credentials(
            options["access_key"], options["secret_key"], options["session_token"] or None
        )
    endpoint = options["endpoint_override"]
    style = "virtual" if options["force_virtual_addressing"] or not endpoint else "path"
    return session.create_client(
        "s3",
        region_name=options["region"] or None,
        endpoint_url=f"{options['scheme'] or 'https'}://{endpoint}" if endpoint else None,
        verify=options["tls_ca_file_path"] or None,
        config=Config(s3={"addressing_style": style}, retries={"mode": "standard"}),
    )


def _status(error: Any) -> int:
    return int(error.response["ResponseMetadata"]["HTTPStatusCode"])
