"""Talk to a remote with the git program, in a quarantine: list, fetch and push refs.

The user's git configuration applies (credentials, proxies, ssh), that of the store does not. No hook of a directory
remote runs, no redirect is followed, and only the transport of the checked address is allowed. The options keep a
hostile server or a hostile directory from running or writing anything here; each of them has a test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import Corrupt, Inaccessible, NotFound, ScopesError
from scopes.ids import Oid, is_oid
from scopes.regular_file import MAX_CONFIG_BYTES
from scopes.sanitize import clean_line
from scopes.store.git_program import Quarantine, find_git
from scopes.sync.addresses import Address
from scopes.sync.credential_cache import helper_of
from scopes.sync.failure_causes import Cause, find_cause
from scopes.sync.git_process import Finished, Limits, Progress, describe_failure, server_lines, start_limited
from scopes.sync.refspecs import Places
from scopes.sync.served_directory import find_git_directory, link_directory
from scopes.sync.special_files import require_no_special_files

INCOMING: Final = "refs/new/"
_KEPT: Final = frozenset({
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
})  # fmt: skip
_ENVIRONMENT: Final = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}
_ALLOWED: Final = "https:ssh:file"
_ALLOW_PROTOCOL: Final = "GIT_ALLOW_PROTOCOL"
_OPTIONS: Final = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null", "protocol.version=2", "transfer.fsckObjects=true", "fetch.fsckObjects=true",
    "transfer.bundleURI=false", "fetch.bundleURI=", "fetch.uriProtocols=", "transfer.credentialsInUrl=die",
    "fetch.recurseSubmodules=false", "submodule.recurse=false", "push.recurseSubmodules=no", "fetch.prune=false",
    "fetch.pruneTags=false", "fetch.writeCommitGraph=false", "push.followTags=false", "push.gpgSign=false",
    "push.default=nothing", "gc.auto=0", "maintenance.auto=false", "core.bigFileThreshold=16m", "fetch.unpackLimit=1",
    "http.followRedirects=false", "http.lowSpeedLimit=1", "http.lowSpeedTime=120",  # seconds of silence
    "core.packedGitWindowSize=32m", "core.packedGitLimit=256m", "pack.threads=4",
    "core.fsync=none",  # what is in the quarantine is synced once it was checked
    "core.warnAmbiguousRefs=false",  # else git looks for six refs with the name of each object that is pushed
)  # fmt: skip
_UNCHECKED: Final = ("-c", "transfer.fsckObjects=false", "-c", "fetch.fsckObjects=false")
# For the git that serves a directory, see `sync.served_directory`; it gets none of the options above. It reads
# `uploadpack.packObjectsHook` from the user's configuration only, and an empty value would be run.
_SERVER_OPTIONS: Final = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.alternateRefsCommand=true",
    "gc.recentObjectsHook=", "gc.auto=0", "receive.autogc=false", "maintenance.auto=false", "receive.procReceiveRefs=",
)  # fmt: skip
_SETTINGS: Final = r"^(protocol\.(.*\.)?allow$|(fetch\.)?fsck\.)"  # of connections, and of checks
_CHECK_SETTINGS: Final = ("fsck.", "fetch.fsck.")
_FETCH_HEAD: Final = "FETCH_HEAD"
_MAX_FETCH_HEAD: Final = 256 << 20
_FETCHED: Final = re.compile(
    r"(?P<oid>[0-9a-f]{40})\t(?:not-for-merge)?\t"
    r"(?:(?P<kind>branch|tag|remote-tracking branch) )?'(?P<name>[^ ]+)' of .*"
)
_FOLDERS: Final = {"branch": "refs/heads/", "tag": "refs/tags/", "remote-tracking branch": "refs/remotes/", None: ""}
_REF: Final = re.compile(r"refs/[^\s\x00-\x1f\x7f]{1,500}")
_STATUS: Final = re.compile(r"(?P<flag>[ +*=!-])\t(?P<source>[^\t:]*):(?P<ref>[^\t]+)\t(?P<summary>.*)")
_REASON: Final = re.compile(r"\[[^\]]*\] \((?P<reason>.*)\)")
_LOCATION: Final = re.compile(rb"Recv header[^\n]*? [Ll]ocation: ([^\r\n]{1,500})")
_ANSWER: Final = re.compile(rb"Recv header")
_CONNECTING: Final = frozenset({"ls-remote", "fetch", "push"})
_LOCKED: Final = "cannot lock ref"
_MOVED: Final = (
    "stale info",
    "fetch first",
    "non-fast-forward",
    "needs force",
    "already exists",
    "failed to lock",
    _LOCKED,
    "incorrect old value",
)
_WHOLE: Final = ("pre-receive hook declined", "atomic", "failed to push some refs")
_UP_TO_DATE: Final = "="
_BAD_OBJECT: Final = "fsck error in packed object"
_BUNDLES: Final = (b"# v2 git bundle\n", b"# v3 git bundle\n")
_HEADER_BYTES: Final = 16
_CONVERSATIONS: Final = "refs/scopes/v1/c/*"
_PURGED: Final = "refs/scopes/v1/purged/*"
_SOURCES: Final = "refs/scopes/v1/s/*"
_HEADS: Final = "refs/heads/"
_OURS: Final = "refs/scopes/v1/"
_HOSTILE: Final = "it may be hostile"
_UNREADABLE: Final = "unreadable"  # no name of a setting: each has a section
_READ: Final = (0, 1)  # exit codes of `git config`: found, not found
_TRACE: Final = "curl-trace"
_MAX_TRACE: Final = 1 << 20


class RefUpdate(NamedTuple):
    """A ref of the remote that is to move from `old` (None: it is new) to `new` (None: it is deleted)."""

    ref: str
    old: Oid | None
    new: Oid | None


class PushStatus(NamedTuple):
    """Result of one update: `reason` is None if the remote accepted it.

    moved: the remote had another value than `old`
    with_others: it may have been refused because of another ref of the same push
    had_it: the remote already had the new value, and nothing was sent
    """

    update: RefUpdate
    reason: str | None = None
    moved: bool = False
    with_others: bool = False
    had_it: bool = False


class GitTransport:
    """Runs git for one remote, in a quarantine.

    environ: the environment of the user
    terminal: whether git may ask for a password on the terminal
    on_wait: called once per command with a text such as `connecting to ADDRESS` if git says nothing for half a second
    credential_cache: see `sync.credential_cache`
    settings: a cache for the user's settings about kinds of connections and about checks (`fetch.fsck.*`)
    """

    def __init__(
        self,
        quarantine: Quarantine,
        address: Address,
        environ: Mapping[str, str],
        *,
        terminal: bool = False,
        limits: Limits = Limits(),  # noqa: B008 - it is immutable
        on_progress: Progress | None = None,
        on_wait: Callable[[str], None] | None = None,
        credential_cache: str | None = None,
        settings: dict[str, str] | None = None,
    ) -> None:
        program = find_git()
        if program is None:
            raise Inaccessible("the git program is not installed", hint="install git; it talks to remotes")
        self._program = program
        self._quarantine = quarantine
        self._address = address
        self._terminal = terminal
        self._limits = limits
        self._on_progress = on_progress
        self._on_wait = on_wait
        self._options = list(_OPTIONS)
        if credential_cache is not None and address.transport in {"http", "https"}:
            self._options.append(f"credential.helper={helper_of(program, credential_cache)}")
        self._environment = transport_environment(environ, address, terminal=terminal)
        self._settings: dict[str, str] = {} if settings is None else settings
        self._has_left_out = False
        self._served: str | None = None
        self._trace = os.path.join(quarantine.path, _TRACE)
        if address.transport in {"http", "https"}:  # only to name the address of a redirect that is not followed
            self._environment |= {"GIT_TRACE_CURL": self._trace, "GIT_TRACE_CURL_NO_DATA": "1", "GIT_TRACE_REDACT": "1"}

    def list_refs(self, *patterns: str) -> dict[str, Oid]:
        """Return the refs of the remote that match a pattern such as `refs/scopes/v1/c/*`, or one of several.

        Raises:
            Inaccessible: the remote does not answer, or refuses.
            Corrupt: its answer is damaged.
        """
        words = ["ls-remote", "--refs", *self._server("upload-pack"), "--", self._address.text]
        done = self._run([*words, *map(self._to_remote, patterns)])
        if done.code != 0:
            raise self._failure("read from", done)
        found: dict[str, Oid] = {}
        for line in done.output.decode("utf-8", "surrogateescape").splitlines():
            oid, _, ref = line.partition("\t")
            if not is_oid(oid) or not _REF.fullmatch(ref):
                raise Corrupt("the remote sent a list of refs that is damaged", hint=_HOSTILE)
            found[self._from_remote(ref)] = Oid(oid)
        return found

    def list_foreign_branches(self) -> list[str]:
        """Return the branches of the remote that are no conversations; raises as `list_refs`."""
        found = self.list_refs(f"{_HEADS}*")
        return sorted(ref.removeprefix(_HEADS) for ref in found if ref.startswith(_HEADS))

    def fetch(self, refspecs: Sequence[str]) -> dict[str, Oid]:
        """Fetch refs of the remote into the quarantine; return their values by the names after the colons.

        Git writes all names into one file, FETCH_HEAD. A refspec with a pattern also makes refs in the quarantine, each
        of which is a file, unless the quarantine has it already with that value.

        Raises:
            NotFound: the remote lacks one of them.
            Inaccessible: the remote does not answer, refuses, or sent what git does not accept.
            Corrupt: its list of refs is damaged.
        """
        words = ["fetch", "--no-tags", "--no-auto-maintenance", "--no-recurse-submodules"]
        words += ["--progress"] if self._on_progress is not None else []
        words += ["--stdin", *self._server("upload-pack"), "--", self._address.text]
        places = Places(refspecs)
        patterns = {source: f":{place}" for source, place in places.patterns.items()}
        lines = "".join(f"+{self._to_remote(source)}{patterns.get(source, '')}\n" for source in places.by_source)
        done = self._run(words, lines.encode("utf-8", "surrogateescape"))
        if done.code != 0:
            raise self._failure("fetch from", done)
        return self._read_fetched(places)

    def list_times(self, refspecs: Sequence[str]) -> dict[str, int]:
        """Fetch only the newest commits of refs, unchecked, and return their times in seconds since 1970.

        The quarantine cannot be used afterwards: it has no history. A commit without a valid time is left out.

        Raises:
            NotFound, Inaccessible: as `fetch`.
        """
        lines = "".join(f"{self._to_remote(each)}\n" for each in refspecs)
        words = ["fetch", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--stdin"]
        words += ["--no-recurse-submodules", *self._server("upload-pack"), "--", self._address.text]
        done = self._run([*_UNCHECKED, *words], lines.encode("utf-8", "surrogateescape"))
        if done.code != 0:
            raise self._failure("fetch from", done)
        listed = self._run(["for-each-ref", "--format=%(refname)%09%(committerdate:unix)", INCOMING])
        pairs = (line.partition("\t") for line in listed.output.decode("utf-8", "surrogateescape").splitlines())
        return {ref: int(time) for ref, _, time in pairs if time.isdecimal()}

    def unpack_bundle(self) -> None:
        """Fetch all conversations and lists of a bundle into refs of the same names; their objects are not checked.

        Raises:
            Corrupt: git cannot read the bundle.
        """
        words = ["fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"]
        words += ["--progress"] if self._on_progress is not None else []
        specs = [f"{refs}:{refs}" for refs in (_CONVERSATIONS, _PURGED, _SOURCES)]
        done = self._run([*_UNCHECKED, *words, "--", self._address.text, *specs])
        if done.code != 0:
            problem = f"the bundle {self._address.text} cannot be read: {describe_failure(done.errors)}"
            raise Corrupt(problem, hint="have it made again: scopes push FILE.bundle")

    def fetch_alone(self, commits: Sequence[Oid]) -> None:
        """Fetch commits that refs of the remote name, without those below them; no ref is made.

        Raises:
            Inaccessible: as `fetching_alone`.
        """
        with self.fetching_alone(commits) as finish:
            finish()

    @contextmanager
    def fetching_alone(self, commits: Sequence[Oid]) -> Iterator[Callable[[], None]]:
        """Start `fetch_alone`, and yield a function that waits for its end; it is killed at the end of the block.

        Raises:
            Inaccessible: the remote does not answer, refuses, or sent what git does not accept.
        """
        words = ["fetch", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]
        words += ["--progress"] if self._on_progress is not None else []
        words += ["--no-recurse-submodules", "--stdin", *self._server("upload-pack"), "--", self._address.text]
        with self._start(words, "".join(f"{each}\n" for each in commits).encode("ascii")) as wait:

            def finish() -> None:
                done = wait()
                if done.code != 0:
                    raise self._failure("fetch from", done)

            yield finish

    def _read_fetched(self, places: Places) -> dict[str, Oid]:
        with open(os.path.join(self._quarantine.path, _FETCH_HEAD), "rb") as file:
            data = file.read(_MAX_FETCH_HEAD + 1)
        if len(data) > _MAX_FETCH_HEAD:
            raise Inaccessible(f"the remote sent more than {_MAX_FETCH_HEAD >> 20} MiB of names", hint=_HOSTILE)
        return parse_fetched(data, places, self._from_remote)

    def changes_checks(self) -> bool:
        """Return True if the user's configuration may make git accept objects that it refuses otherwise."""
        settings = self._read_settings()
        return _UNREADABLE in settings or any(name.startswith(_CHECK_SETTINGS) for name in settings)

    def _read_settings(self) -> Mapping[str, str]:
        """Return the user's settings about kinds of connections and about checks, read once."""
        if not self._settings:
            done = self._run(["config", "--null", "--get-regexp", _SETTINGS])
            lines = (each.partition("\n") for each in done.output.decode("utf-8", "replace").split("\0"))
            self._settings.update({name: value for name, _, value in lines})  # the last one counts, and "" is there
            self._settings |= {} if done.code in _READ else {_UNREADABLE: ""}
        return self._settings

    def push(self, updates: Sequence[RefUpdate]) -> list[PushStatus]:
        """Push refs, each only if the remote still has its old value; return the result of each, in the same order.

        A new ref needs no lease: git refuses it if the remote has a value that the new one does not follow. git
        compares each lease with all refs of the remote, which takes long in a first push of thousands.

        Raises:
            Inaccessible: the remote does not answer, or refuses all access; it may have accepted some of the refs.
        """
        leases = [f"--force-with-lease={self._to_remote(each.ref)}:{each.old}" for each in updates if each.old]
        words = ["push", "--porcelain", "--no-verify", "--no-signed"]
        words += ["--progress"] if self._on_progress is not None else []
        words += [*leases, *self._server("receive-pack"), "--", self._address.text]
        done = self._run([*words, *(f"{each.new or ''}:{self._to_remote(each.ref)}" for each in updates)])
        statuses = _read_statuses(done.output.decode("utf-8", "replace"))
        found = {self._from_remote(ref): status for ref, status in statuses}
        if not found and done.code != 0:
            raise self._failure("push to", done)
        return [_status_of(each, found.get(each.ref), done) for each in updates]

    def delete(self, ref: str, old: Oid) -> None:
        """Delete a ref of the remote if it still has the value `old`; a refusal is ignored."""
        ref = self._to_remote(ref)
        words = ["push", "--porcelain", "--no-verify", "--no-signed", f"--force-with-lease={ref}:{old}"]
        self._run([*words, *self._server("receive-pack"), "--", self._address.text, f":{ref}"])

    def _to_remote(self, name: str) -> str:
        """Return the name of a ref on the remote, or the first part of a refspec."""
        return _HEADS + name.removeprefix("refs/") if self._address.as_branches and name.startswith(_OURS) else name

    def _from_remote(self, ref: str) -> str:
        """Return the name below refs/scopes of a ref of the remote, which may store conversations as branches."""
        is_branch = self._address.as_branches and ref.startswith(_HEADS + _OURS.removeprefix("refs/"))
        return "refs/" + ref.removeprefix(_HEADS) if is_branch else ref

    def _leave_out_forbidden(self) -> None:
        """Remove kinds of connections that the user's configuration forbids: GIT_ALLOW_PROTOCOL would override that."""
        self._has_left_out = True
        found, allowed = self._read_settings(), self._environment[_ALLOW_PROTOCOL].split(":")
        kept = [each for each in allowed if found.get(f"protocol.{each}.allow", found.get("protocol.allow")) != "never"]
        self._environment[_ALLOW_PROTOCOL] = ":".join(kept)

    def _run(self, words: Sequence[str], stdin: bytes = b"") -> Finished:
        with self._start(words, stdin) as finish:
            return finish()

    def _start(self, words: Sequence[str], stdin: bytes = b"") -> AbstractContextManager[Callable[[], Finished]]:
        if not self._has_left_out and _CONNECTING.intersection(words):
            self._leave_out_forbidden()
        options = [word for option in self._options for word in ("-c", option)]
        return start_limited(
            [self._program, "--no-pager", f"--git-dir={self._quarantine.path}", *options, *words],
            directory=self._quarantine.path,
            environment=self._environment,
            limits=self._limits,
            stdin=stdin,
            lock=self._quarantine.lock,
            own_session=not self._terminal,
            on_progress=self._on_progress,
            on_wait=self._report_wait if _CONNECTING.intersection(words) else None,
        )

    def _report_wait(self) -> None:
        """Report that git waits for the server, unless that has answered: then git may be asking for a password."""
        if self._on_wait is not None and not self._read_trace(_ANSWER):
            verb = "waiting for" if self._address.transport == "directory" else "connecting to"
            self._on_wait(f"{verb} {self._address.text}")

    def _server(self, name: str) -> list[str]:
        """Return the option that names the program which serves a directory, so that no hook of it runs."""
        if self._address.transport != "directory":
            return []
        if is_bundle(self._address.text):
            if name == "receive-pack":
                hint = "write a new one: scopes push FILE.bundle"
                raise Inaccessible(f"{self._address.text} is a bundle, which is only read", hint=hint)
        elif not os.path.isdir(self._address.text):
            hint = f"check the path; for a new one: git init --bare {quote(self._address.text)}"
            raise NotFound(f"there is no directory {self._address.text}", hint=hint)
        else:
            self._served = self._served or self._link_directory()
        options = " ".join(f"-c {option}" for option in _SERVER_OPTIONS)
        command = f"exec {quote(self._program)} {options} {name} {quote(self._served or self._address.text)}"
        return [f"--{name}=sh -c {quote(command)} --"]  # git adds the address, which is not served

    def _link_directory(self) -> str:
        """Create the directory that git serves in place of that of the remote, see `sync.served_directory`."""
        path = self._address.text
        directory = find_git_directory(path)
        require_no_special_files(directory or path)
        if directory is None:
            hint = f"check the path, or make it one: git init --bare {quote(path)}"
            raise Inaccessible(f"{path} does not appear to be a git repository", hint=hint)
        listed = self._list_settings(f"{directory}/config")
        lines = (line.partition("\n") for line in listed.decode("utf-8", "surrogateescape").split("\0") if line)
        settings = [(name, value if has_value else "true") for name, has_value, value in lines]
        return link_directory(directory, settings, self._quarantine.path)

    def _list_settings(self, path: str) -> bytes:
        """Return the settings of a configuration file, each as NAME, LF, VALUE, NUL; empty if there is no file."""
        if not os.path.exists(path):
            return b""
        hint = f"see: git config --file {quote(path)} --list"
        if os.path.getsize(path) > MAX_CONFIG_BYTES:
            raise Inaccessible(f"{path} is larger than {MAX_CONFIG_BYTES >> 20} MiB", hint=hint)
        listed = self._run(["config", f"--file={path}", "--no-includes", "--null", "--list"])
        if listed.code:
            raise Inaccessible(f"cannot read {path}: {describe_failure(listed.errors)}", hint=hint)
        return listed.output

    def _failure(self, what: str, done: Finished) -> ScopesError:
        reason = describe_failure(done.errors)
        if "couldn't find remote ref" in done.errors:
            return NotFound("the remote does not have this conversation", hint="list what it has: scopes remote list")
        if _BAD_OBJECT in done.errors:
            hint = "nothing of it was taken; see who wrote it to the remote"
            return Corrupt(f"the remote sent an object that is not allowed: {reason}", hint=hint)
        cause = find_cause(done.errors, self._address.text)
        redirected = self._find_redirect()
        if redirected is not None:
            reason = f"it redirects to {redirected}"
            cause = Cause("redirects are not followed: add that address if you trust it", retryable=False)
        error = Inaccessible(f"cannot {what} {self._address.text}: {reason}", hint=cause.hint)
        error.retryable = cause.retryable
        return error

    def _find_redirect(self) -> str | None:
        found = self._read_trace(_LOCATION)
        return clean_line(found[-1].decode("utf-8", "replace").strip()) if found else None

    def _read_trace(self, pattern: re.Pattern[bytes]) -> list[bytes]:
        """Return the matches of a pattern in the trace of the HTTP connection that git writes."""
        try:
            with open(self._trace, "rb") as file:
                return pattern.findall(file.read(_MAX_TRACE))
        except OSError:
            return []


def parse_fetched(data: bytes, places: Places, from_remote: Callable[[str], str]) -> dict[str, Oid]:
    """Parse FETCH_HEAD: return the values of fetched refs by their places.

    from_remote: returns the name below refs/scopes of a ref of the remote

    Raises:
        Corrupt: a line has another form or an unexpected ref, or two lines have one place.
    """
    found: dict[str, Oid] = {}
    for line in data.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        fields = _FETCHED.fullmatch(line)
        name = "" if fields is None else _FOLDERS[fields["kind"]] + fields["name"]
        place = places.find(from_remote(name))
        if fields is None or not _REF.fullmatch(name) or not place or place in found:
            raise Corrupt("the remote sent a list of refs that is damaged", hint=_HOSTILE)
        found[place] = Oid(fields["oid"])
    return found


def is_bundle(path: str) -> bool:
    """Return True if a path is a file that begins as git's bundles do."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(_HEADER_BYTES).startswith(_BUNDLES)
    except OSError:
        return False


def transport_environment(environ: Mapping[str, str], address: Address, *, terminal: bool) -> dict[str, str]:
    """Return the environment for a git that talks to a remote: of all GIT_* variables only those about connections."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
    allowed = f"{_ALLOWED}:{address.transport}" if address.transport in {"http", "git"} else _ALLOWED
    asking = {} if terminal else {"GIT_TERMINAL_PROMPT": "0"}
    return kept | _ENVIRONMENT | asking | {_ALLOW_PROTOCOL: allowed}


def _read_statuses(output: str) -> list[tuple[str, tuple[str, str]]]:
    """Read the lines of `git push --porcelain`: ref, flag and summary of each."""
    found = (_STATUS.fullmatch(line) for line in output.splitlines())
    return [(each["ref"], (each["flag"], each["summary"])) for each in found if each is not None]


def _status_of(update: RefUpdate, found: tuple[str, str] | None, done: Finished) -> PushStatus:
    if found is None:
        return PushStatus(update, "the remote did not say whether it took it", with_others=True)
    flag, summary = found
    if flag != "!":
        return PushStatus(update, had_it=flag == _UP_TO_DATE)
    match = _REASON.search(summary)
    reason = clean_line(match["reason"] if match is not None else summary)
    lines = "; ".join(server_lines(done.errors))
    is_locked = _LOCKED in lines and update.ref.rpartition("/")[2] in lines  # by a push at the same time
    return PushStatus(
        update,
        f"{reason}: {lines}" if lines else reason,
        moved=is_locked or any(each in summary for each in _MOVED),
        with_others=any(each in summary for each in _WHOLE),
    )
