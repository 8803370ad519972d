"""Download a file for `tokens fetch`. This is the only module that uses the network."""

from __future__ import annotations

import urllib.error
import urllib.request

from scopes.errors import Inaccessible

_TIMEOUT_SECONDS = 30
_MAX_BYTES = 64 << 20


def download(url: str) -> bytes:
    """Download a file of at most 64 MiB; fail if the server sends nothing for 30 seconds.

    Raises:
        Inaccessible: the server cannot be reached or refuses the request.
    """
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310  the address comes from our own table
            data: bytes = response.read(_MAX_BYTES)
    except (urllib.error.URLError, OSError) as error:
        hint = "check the network, or: pip install 'scopes-ai[tokens]', which includes the data"
        raise Inaccessible(f"cannot download {url}: {getattr(error, 'reason', error)}", hint=hint) from error
    return data
