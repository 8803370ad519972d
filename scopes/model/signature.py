"""The signature of a commit, as git has checked it; `store.signatures` does that."""

from __future__ import annotations

from typing import Final, NamedTuple

GOOD, UNTRUSTED, UNKNOWN_KEY, BAD = "good", "untrusted key", "unknown key", "bad"
EXPIRED, EXPIRED_KEY, REVOKED_KEY, UNCHECKED = "expired", "expired key", "revoked key", "not checked"
SIGNATURE_STATES: Final = (GOOD, UNTRUSTED, UNKNOWN_KEY, BAD, EXPIRED, EXPIRED_KEY, REVOKED_KEY, UNCHECKED)


class Signature(NamedTuple):
    """Git's verdict about the signature of a commit; the other fields are only reliable if it is `good`.

    state: one of SIGNATURE_STATES
    signer: the owner of the key, from the user's own keys; None if they do not have it
    key: the key that the signature claims to be made with
    """

    state: str
    signer: str | None = None
    key: str | None = None
