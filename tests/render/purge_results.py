"""Results of purges, and redactions, one of each kind, for the tests of the renderers."""

from __future__ import annotations

from scopes.model.operation import Signature
from scopes.purge.decline import PurgeDeclined
from scopes.purge.offers import CHOOSE
from scopes.purge.on_remotes import RemoteCopy
from scopes.purge.proof import CopiedIn
from scopes.purge.purge import PurgedMessage, PurgeDone, PurgePlanned
from scopes.purge.purge_offers import OfferedConversation, OfferedMessage, PurgeOffer, PurgeOffers
from scopes.purge.redact import ConversationRedacted
from scopes.result import Note

_MESSAGE, _OTHER = "k3x9abcdefghijklmnopqrstuv", "m4y8abcdefghijklmnopqrstuv"
_OPERATION = "opkx3q2mf5a7b2c4d6e2f3g4h5"
_REMOTE = RemoteCopy(
    "origin", "git@github.com:team/talks.git", 2, "scopes push origin --purged",
    "ask GitHub Support to run garbage collection and to delete cached views, and delete forks",
)  # fmt: skip
_FILE = "/home/carol/.claude/projects/-home-carol-shop/0a1b2c3d.jsonl"
_OUTSIDE = Note(f"1 file outside of the store may still have it: {_FILE}", "delete them yourself, or change them")

PURGE_SAMPLES = {
    "planned": PurgePlanned(
        messages=(
            PurgedMessage("conv-001", _MESSAGE, "the password is hunter2"),
            PurgedMessage("conv-001", _OTHER, "I read the settings.", 2),
        ),
        conversations=("conv-002",), commits=12, operations=7, remotes=(_REMOTE,), notes=(_OUTSIDE,),
    ),
    "planned-alone": PurgePlanned(
        messages=(PurgedMessage("conv-001", _MESSAGE, "no"),), conversations=(), commits=1, operations=0, remotes=()
    ),
    "done": PurgeDone(
        messages=2, conversations=1, operation=_OPERATION, objects=1204, files=61, left=(),
        copies=(CopiedIn("conv-003", _OTHER),), remotes=(_REMOTE,), files_kept=(_FILE,), notes=(_OUTSIDE,),
    ),
    "done-alone": PurgeDone(
        messages=1, conversations=0, operation=_OPERATION, objects=9, files=20, left=(), copies=(), remotes=(), files_kept=()
    ),
    "not-all": PurgeDone(
        messages=0, conversations=1, operation=None, objects=9, files=20, left=("/s.git/copy.pack", "object 5d41402a"),
        copies=(), remotes=(), files_kept=(),
    ),
}  # fmt: skip
OFFER_SAMPLES = {
    "offers": PurgeOffers(
        offers=(
            PurgeOffer(
                "origin", "3f2a91c07b1d", "2026-05-06T07:08:09Z", Signature("good", "dave@example.com", "SHA256:x"), 12,
                (
                    OfferedConversation(
                        "conv-001", 6, "undecided", "Login", tuple(OfferedMessage(_MESSAGE, f"key \x1b[2J{n}") for n in range(6))
                    ),
                    OfferedConversation("conv-002", None, "declined", "Out\x1b[2J"),
                ),
            ),
            PurgeOffer(
                "origin", "0123456789ab", None, None, 60000, (OfferedConversation("conv-003", 1, "undecided"),)
            ),
        ),
        notes=(Note("what is undecided stays here, and is not removed by itself", CHOOSE),),
    ),
    "no-offers": PurgeOffers(offers=()),
    "declined": PurgeDeclined(messages=2, conversations=1, listed=12, operation=_OPERATION),
    "declined-nothing-here": PurgeDeclined(messages=0, conversations=0, listed=3, operation=None),
}  # fmt: skip
REDACT_SAMPLES = {
    "redacted": ConversationRedacted(
        source="conv-001", conversation="conv-004", branches=2, messages=3, secrets=1,
        map_ref=f"refs/scopes/local/redacted/{'5d41402abc4b2a76b9719d911017c592a1b2c3d4'}", operation=_OPERATION,
        notes=(Note("the original is as it was", "remove it for good: scopes purge conv-001"),),
    ),
}  # fmt: skip
