"""What is known of the signature of a commit; how it is checked is in `store.signatures`."""

from __future__ import annotations

from typing import Final, NamedTuple

GOOD, UNTRUSTED, UNKNOWN_KEY, BAD = "good", "untrusted key", "unknown key", "bad"
EXPIRED, EXPIRED_KEY, REVOKED_KEY, UNCHECKED = "expired", "expired key", "revoked key", "not checked"
SIGNATURE_STATES: Final = (GOOD, UNTRUSTED, UNKNOWN_KEY, BAD, EXPIRED, EXPIRED_KEY, REVOKED_KEY, UNCHECKED)


class Signature(NamedTuple):
    """What git says about the signature of a commit; only that of a `good` one is known to be true.

    state: one of SIGNATURE_STATES
    signer: to whom the key belongs, as the user's own keys say; None if they do not know it
    key: the key that is said to have signed
    """

    state: str
    signer: str | None = None
    key: str | None = None
