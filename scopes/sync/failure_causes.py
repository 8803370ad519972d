"""Hints for failed connections, by what git printed: what to do, and whether it helps to try again."""

from __future__ import annotations

from typing import Final, NamedTuple

from scopes.lazy_patterns import compile_lazily


class Cause(NamedTuple):
    """The hint for a failure, and whether the same command may succeed a little later."""

    hint: str
    retryable: bool


UNKNOWN: Final = Cause("check the address, the network and your rights, and try again", retryable=False)
# The first pattern that is found counts: what git adds at the end, such as that the other side hung up, comes last.
_CAUSES: Final = (
    (
        compile_lazily(r"hash algorithm|mismatched algorithms"),
        Cause(
            "the repository there has SHA-256 ids, and scopes has SHA-1 ids: use one that was made with "
            "git init --bare --object-format=sha1",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"Host key verification failed|HOST IDENTIFICATION HAS CHANGED|[Nn]o matching host key"),
        Cause(
            "ssh does not know the key of the host, or it has changed: compare it with what the owner of the host "
            "says, then connect once with ssh to accept it",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"[Cc]ould not resolve|Name or service not known|unable to look up|in name resolution"),
        Cause("the name of the host was not found: check its spelling and the network (DNS), and try again", True),
    ),
    (
        compile_lazily(r"timed? ?out|took longer|Operation too slow"),
        Cause("the server does not answer in time: check the network, VPN and proxy, and try again", True),
    ),
    (
        compile_lazily(r"No route to host|[Nn]etwork is unreachable"),
        Cause("there is no route to the host: check the network and VPN, and try again", True),
    ),
    (
        compile_lazily(r"Connection refused|[Cc]ouldn't connect to server|Failed to connect"),
        Cause("no server listens there: check host and port, and whether the server runs, and try again", True),
    ),
    (
        compile_lazily(r"certificate"),
        Cause(
            "git does not trust the certificate of the host: check the address and your clock; an authority of your "
            "own is named in git's setting http.sslCAInfo",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"SSL|TLS|gnutls"),
        Cause("no encrypted connection could be made: check that the address is one of https, and any proxy", True),
    ),
    (
        compile_lazily(r"Authentication failed|could not read (?:Username|Password)|error: 401|prompts disabled"),
        Cause(
            "the server wants a name and a password or token: git takes them from its credential helper (git config "
            "credential.helper) or asks on a terminal; a token may have expired",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"transport '[^']*' not allowed"),
        Cause(
            "git's own configuration forbids this kind of connection: see git config --show-origin --get-regexp "
            "'^protocol'; use another address, such as one of https or ssh",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"error: 413|(?i:(?:request entity|payload|content) too large)"),
        Cause(
            "the push is too large for the server: its owner can raise the limit (nginx: client_max_body_size); or "
            "share over ssh, or push fewer conversations at once",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"remote: [^\n]*(?:No space left on device|[Qq]uota exceeded)"),
        Cause("the disk of the server is full: its owner has to make space", retryable=False),
    ),
    (
        compile_lazily(r"No space left on device|[Qq]uota exceeded"),
        Cause("a disk is full, here or where the address leads: make space and do it again", retryable=False),
    ),
    (
        compile_lazily(r"access denied or repository not exported"),  # of git daemon, which knows no accounts
        Cause(
            "check the path in the address; the owner of the server has to let git daemon serve it (the file "
            "git-daemon-export-ok), and take pushes (git config daemon.receivepack true); or use ssh or https",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"error: 403|Permission to .* denied|(?i:access denied|not authorized|not allowed to push)"),
        Cause(
            "the server knows who you are, and you may not do this: ask its owner for the right to write; git's "
            "credential helper (git config credential.helper) decides which account is used",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"return code 22|git-http-push failed"),
        Cause(
            "the server answered with an error of http, such as 403 or 405: it takes no pushes at this address, or not "
            "from you; its owner has to let git http-backend take them (git config http.receivepack true); or use ssh",
            retryable=False,
        ),
    ),
    (
        compile_lazily(r"Permission denied \(|Too many authentication failures"),
        Cause("the host does not take your ssh key: add its public part there, or load it with ssh-add", False),
    ),
    (
        compile_lazily(r"not found|error: 404|does not appear to be a git repository"),
        Cause("check the path in the address; a host also says this to those who may not read the repository", False),
    ),
    (
        compile_lazily(r"error: (?:429|5[0-9][0-9])|Too many requests"),
        Cause("the server is overloaded or has an internal error: try again later", True),
    ),
    (
        compile_lazily(r"early EOF|hung up|RPC failed|Connection reset|Broken pipe|unexpected disconnect|closed by"),
        Cause("the connection was lost: try again; what was confirmed before is kept", True),
    ),
)  # fmt: skip


def find_cause(text: str, address: str) -> Cause:
    """Return the hint for what git wrote when it failed; the address in that text is ignored."""
    written = text.replace(address, "")
    return next((cause for pattern, cause in _CAUSES if pattern.search(written)), UNKNOWN)
