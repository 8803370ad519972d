"""The one place that asks the network for anything: `tokens fetch`, when somebody typed it."""

from __future__ import annotations

import urllib.error
import urllib.request

from scopes.errors import Inaccessible

_SECONDS = 30
_LARGEST_BYTES = 64 << 20


def download(url: str) -> bytes:
    """Return what a web address sends; a server that says nothing for 30 seconds is given up.

    Raises:
        Inaccessible: it cannot be reached, or sends no file.
    """
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as response:  # noqa: S310  the address is one of our own
            data: bytes = response.read(_LARGEST_BYTES)
    except (urllib.error.URLError, OSError) as error:
        hint = "check the network, or: pip install 'scopes-ai[tokens]', which includes the data"
        raise Inaccessible(f"cannot download {url}: {getattr(error, 'reason', error)}", hint=hint) from error
    return data
