"""Results about remotes, one of each kind, for the tests of the renderers."""

from __future__ import annotations

from scopes.result import Note
from scopes.sync.accept import FetchedBranch, FetchedConversation, RenamedBranch, ReplacedValue
from scopes.sync.bundles import BundleCreated, BundledConversation, BundleVerified
from scopes.sync.change_remotes import RemoteChanged, RemoteList, RemoteRow
from scopes.sync.clone import Cloned
from scopes.sync.delete_on_remote import DeletedName, DeletedOnRemote
from scopes.sync.edit_remotes import RemoteShown
from scopes.sync.fetch import Fetched, ListChanges
from scopes.sync.fetch_manifests import ManifestsFetched
from scopes.sync.pull import Pulled, PulledBranch
from scopes.sync.pushed import Pushed, PushedConversation, ReplacedBranch
from scopes.sync.remote_conversations import RemoteConversation, RemoteConversationList
from scopes.sync.source_push import PushedSources
from scopes.sync.unmerged import UnmergedBranch

_ROOT = "5d41402abc4b2a76b9719d911017c592a1b2c3d4"
_ADDRESS = "git@example.org:team/talks.git"
_OPERATION = "opkx3q2mf5a7b2c4d6e2f3g4h5"
_NEW = FetchedConversation(
    _ROOT, "conv-003", "new", "Login fails on Safari",
    (FetchedBranch("fix", "fix", "created", 12), FetchedBranch("main", "main", "created", 9)), metadata=True,
)  # fmt: skip
_UPDATED = FetchedConversation(
    _ROOT[::-1], "conv-001", "updated", None,
    (
        FetchedBranch("a/b", "a-b", "created", 1), FetchedBranch("gone", None, "deleted", 2, 1),
        FetchedBranch("main", "main", "diverged", 3), FetchedBranch("next", "next", "moved", 4),
        FetchedBranch("longer", "longer", "grown", 5), FetchedBranch("same", "same", "same", 6),
        FetchedBranch("top", "top", "ahead", 7),
    ),
    metadata=True, replaced=(ReplacedValue(None, "Login", "Logout"), ReplacedValue("v1", "ab" * 20, None)),
    renamed=(RenamedBranch("mine", "next", own=True, active=False),),
)  # fmt: skip
_DELETED = FetchedConversation("ab" * 20, None, "deleted", "Old")
_REFUSED = FetchedConversation("cd" * 20, "conv-002", "refused", "Both", reason="metadata was changed on both sides")
_BAD = FetchedConversation(
    "ef" * 20, None, "unacceptable", None, reason="the remote sent an object that is not allowed"
)
_FETCHED = Fetched(
    remote="origin", address=_ADDRESS, conversations=(_NEW, _UPDATED, _DELETED, _REFUSED, _BAD), unchanged=7,
    operation=_OPERATION, notes=(Note("1 branch differs from origin: conv-001/main", "merge it: scopes merge"),),
)  # fmt: skip

_MANIFESTS = ManifestsFetched(
    remote="origin", address=_ADDRESS, total=10_000, new=3, refused={"ef" * 20: "its manifest names another project"},
    notes=(Note("1 manifest of the remote is not acceptable: efefefefefef", "see who wrote it to the remote"),),
)  # fmt: skip

_LONG_REASON = "2 possible secrets would leave the store: message abcd1234, line 3: github-token (6073df6d); the title: jwt (513ff0aa)"

REMOTE_SAMPLES = {
    "added": RemoteChanged(name="origin", address=_ADDRESS, change="added", conversations=2, default=True),
    "added-empty": RemoteChanged(name="origin", address=_ADDRESS, change="added", conversations=0, default=True),
    "added-unasked": RemoteChanged(name="backup", address="/srv/talks.git", change="added", default=True),
    "added-second": RemoteChanged(name="backup", address="/srv/talks.git", change="added", conversations=0),
    "renamed": RemoteChanged(name="usb", address="/srv/talks.git", change="renamed", before="backup"),
    "set-url": RemoteChanged(
        name="origin", address=_ADDRESS, change="moved", before="/srv/talks.git", conversations=3, default=True
    ),
    "shown": RemoteShown(
        name="origin", address=_ADDRESS, transport="ssh", as_branches=False, default=True, conversations=1234, here=12,
        not_shared=1,
    ),
    "shown-second": RemoteShown(
        name="backup", address="/srv/talks.git", transport="directory", as_branches=True, default=False,
        conversations=0, here=0, not_shared=2,
    ),
    "removed": RemoteChanged(name="backup", address="/srv/talks.git", change="removed"),
    "list": RemoteList(
        remotes=(RemoteRow("backup", "/srv/talks.git", "directory", 0), RemoteRow("origin", _ADDRESS, "ssh", 1234, True))
    ),
    "list-without-default": RemoteList(
        remotes=(RemoteRow("a", "/srv/a.git", "directory", 0), RemoteRow("b", "/srv/b.git", "directory", 0))
    ),
    "empty-list": RemoteList(remotes=()),
    "pushed": Pushed(
        remote="origin", address=_ADDRESS, unchanged=3,
        conversations=(
            PushedConversation("conv-001", _ROOT, "new", 2, 12),
            PushedConversation("conv-002", _ROOT[::-1], "updated", 3, 1, ("main", "fix")),
            PushedConversation("conv-004", "cd" * 20, "unchanged", 1, behind=("fix",)),
            PushedConversation("conv-003", "ab" * 20, "refused", 1, reason="hook declined: no talks on Fridays"),
        ),
    ),
    "pushed-by-force": Pushed(
        remote="origin", address=_ADDRESS, unchanged=0,
        conversations=(
            PushedConversation("conv-001", _ROOT, "updated", 2, 3, replaced=(ReplacedBranch("main", 2),)),
            PushedConversation("conv-002", "ab" * 20, "updated", 2, 1, reason="1 message is not sent", unsent=("fix",)),
            PushedConversation(
                "conv-003", "cd" * 20, "refused", 1, reason="origin has 2 messages by dave",
                unmerged=(UnmergedBranch("main", 2, ("dave",)),),
            ),
        ),
    ),
    "pushed-files": Pushed(
        remote="origin", address=_ADDRESS, unchanged=0,
        conversations=(PushedConversation("conv-001", _ROOT, "new", 2, 12),),
        sources=(
            PushedSources("conv-001", "new", 3),
            PushedSources("conv-002", "refused", reason="a possible secret would leave the store"),
        ),
    ),
    "push-preview": Pushed(
        remote="origin", address=_ADDRESS, unchanged=3, dry_run=True,
        conversations=(
            PushedConversation("conv-001", _ROOT, "new", 2, 12),
            PushedConversation("conv-003", "ab" * 20, "refused", 1, reason=_LONG_REASON),
        ),
    ),
    "many-refused": Pushed(
        remote="origin", address=_ADDRESS, unchanged=0,
        conversations=tuple(
            PushedConversation(f"conv-{number:03}", _ROOT, "refused", 1, reason=f"hook declined: {number}")
            for number in range(1, 23)
        ),
    ),
    "pushed-nothing": Pushed(remote="origin", address=_ADDRESS, conversations=(), unchanged=1),
    "pushed-none": Pushed(remote="origin", address=_ADDRESS, conversations=(), unchanged=0),
    "deleted-there": DeletedOnRemote(
        remote="origin", address=_ADDRESS, names=(
            DeletedName("conv-001", _ROOT, "deleted"),
            DeletedName("conv-002/fix", _ROOT[::-1], "refused", "the remote has something newer: see it first"),
            DeletedName("conv-003", "ab" * 20, "absent"),
        ),
        notes=(Note("stores that have fetched it keep it", "to remove content for good: scopes purge"),),
    ),
    "fetched-but-one": Fetched(
        remote="origin", address=_ADDRESS, conversations=(), unchanged=7, operation=None, refused_before=(_ROOT,),
    ),
    "fetched": _FETCHED,
    "fetched-nothing": Fetched(remote="origin", address=_ADDRESS, conversations=(), unchanged=7, operation=None),
    "fetched-list": Fetched(
        remote="origin", address=_ADDRESS, conversations=(), unchanged=7, operation=None, listed=ListChanges(2, 1, 0)
    ),
    "pulled": Pulled(
        fetched=_FETCHED,
        branches=(
            PulledBranch("conv-001", "main", "origin/main", "merged", 3),
            PulledBranch("conv-001", "fix", "origin/fix", "conflict", 1, 2),
            PulledBranch("conv-001", "idea", "origin/idea", "rebased", 2),
            PulledBranch("conv-002", "main", "origin/main", "refused", reason="this merge is already in progress"),
        ),
    ),
    "pulled-nothing": Pulled(
        fetched=Fetched(remote="origin", address=_ADDRESS, conversations=(), unchanged=7, operation=None), branches=()
    ),
    "bundled": BundleCreated(
        path="/media/usb/talks.bundle", size_bytes=123_456,
        conversations=(
            BundledConversation("conv-001", _ROOT, "included", "Login fails on Safari", 2, 12),
            BundledConversation("conv-002", _ROOT[::-1], "refused", None, 1, 3, "a possible secret would leave the store"),
            BundledConversation("conv-003", "ab" * 20, "included", "Growing", 1, 3),
        ),
        sources=(PushedSources("conv-001", "new", 3),),
    ),
    "bundled-nothing": BundleCreated(
        path="/media/usb/talks.bundle", size_bytes=None,
        conversations=(BundledConversation("conv-002", _ROOT[::-1], "refused", None, 1, 3, "a possible secret"),),
    ),
    "verified": BundleVerified(
        path="/media/usb/talks.bundle",
        conversations=(
            BundledConversation("conv-001", _ROOT, "known", "Login fails on Safari", 2, 12),
            BundledConversation(None, _ROOT[::-1], "new", None, 1, 3),
        ),
    ),
    "verified-bad": BundleVerified(
        path="/media/usb/talks.bundle",
        conversations=(BundledConversation(None, "ef" * 20, "unacceptable", reason="an object is not allowed"),),
    ),
    "verified-empty": BundleVerified(path="/media/usb/code.bundle", conversations=()),
    "cloned": Cloned(path="/home/carol/talks", fetched=_FETCHED),
    "manifests-fetched": _MANIFESTS,
    "manifests-cloned": Cloned(path="/home/carol/talks", listed=_MANIFESTS),
    "remote-conversations": RemoteConversationList(
        conversations=(
            RemoteConversation("origin", _ROOT, "conv-003", "Login fails on Safari", 2, 12, "2026-01-02T09:30:00Z", "title"),
            RemoteConversation("origin", _ROOT[::-1], None, "Pay by card", 1, 1234, "2026-01-01T00:00:00Z", "title"),
            RemoteConversation("origin", "cd" * 20, "conv-002", "Hi, the tests", 1, 9, "2026-01-01T00:00:00Z", "prompt"),
            RemoteConversation("backup", "ab" * 20, None, None, 1, 0, "1970-01-01T00:00:00Z"),
        ),
        seen={"origin": "2026-01-03T00:00:00Z", "backup": "2025-12-01T00:00:00Z"},
        more=9997,
    ),
    "remote-titles-nothing": RemoteConversationList(
        conversations=(), seen={"origin": "2026-01-03T00:00:00Z"}, words=("pay",)
    ),
}  # fmt: skip
