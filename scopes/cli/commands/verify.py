"""`scopes verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.agents.damage import walk_agent_defects
from scopes.cli.invocation import Invocation
from scopes.code_links.record_fsck import walk_commit_record_defects
from scopes.conversation.verify import verify as run_verify
from scopes.errors import Invalid
from scopes.facts.damage import walk_fact_defects
from scopes.importers.formats.registry import FORMATS
from scopes.importers.verify_source import verify_source
from scopes.purge.damage import walk_purge_defects
from scopes.secrets.damage import walk_allowed_defects

# what reads the refs of which `conversation` knows nothing
MORE_CHECKS = (
    walk_agent_defects,
    walk_fact_defects,
    walk_commit_record_defects,
    walk_allowed_defects,
    walk_purge_defects,
)


def verify(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="FILE", help="Check instead that all of this transcript is in the store"),
    ] = None,
    signatures: Annotated[
        bool, typer.Option("--signatures", help="Check instead the signature of every signed commit, with git")
    ] = False,
    require_signatures: Annotated[
        bool,
        typer.Option(
            "--require-signatures", help="As --signatures; also fail if a merge, decision or resolution is not signed"
        ),
    ] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="Signatures are required from this time on")
    ] = None,
) -> int:
    """Check the whole store, or one imported transcript.

    Checks every object, ref, operation, agent and fact, and prints each defect with the message that it affects.
    Changes nothing. The exit code is 7 if data is damaged.

    With --source, compares a transcript on disk with its import and prints what every byte became: part of a message, a
    state record, or a record that is stored without being interpreted. If the file has changed since the import, prints
    where the difference starts. The exit code is 0 if all of the file is in the store, 1 if not, and 4 if it was never
    imported.

    With --signatures, prints every signed commit with git's verdict about the signature: good, untrusted key, unknown
    key, bad, expired, expired key, revoked key, or not checked. git uses your keys: the keyring of gpg, and for ssh the
    file in gpg.ssh.allowedSignersFile. The exit code is 1 if a signature is not good. The row also has the author named
    by the commit, who may be somebody else than the signer, and the id of the message. If commit.gpgSign is on, scopes
    signs merges, resolutions and decisions by people; it does not sign imported messages and messages of agents. A
    merge loses its signature when a purge or a rebase rewrites it.

    With --require-signatures, also prints the merges, the decisions and resolutions by people, and the lists of what
    was purged that are not signed; the exit code is 1 if there are any. With --since, unsigned commits before that time
    are accepted, unless a commit in their history has a later time.

    Examples:
      scopes verify
      scopes verify --signatures
      scopes verify --require-signatures --since 2026-01-31
      scopes verify --json
      scopes verify --source ~/.claude/projects/-home-carol-shop/7c1e.jsonl
      scopes verify --source rollout.jsonl.zst --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if since is not None and not require_signatures:
        raise Invalid("--since needs --require-signatures", hint="add --require-signatures")
    if signatures or require_signatures:
        if source is not None:
            raise Invalid("--signatures and --source cannot be combined", hint="leave out one of them")
        from scopes.conversation.verify import verify_signatures

        return invocation.show(verify_signatures(repository, invocation.cwd, required=require_signatures, since=since))
    if source is not None:
        return invocation.show(verify_source(repository, source, FORMATS))
    return invocation.show(run_verify(repository, MORE_CHECKS))
