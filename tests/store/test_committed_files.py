"""Files of commits of the user's own repository."""

from __future__ import annotations

import subprocess

import pytest

from scopes.check.committed_files import CommittedFiles
from scopes.errors import Corrupt, NotFound


@pytest.fixture
def project(tmp_path):
    """A repository with a policy on `main`, another one on `change`, and a hook-like configuration."""

    def git(*words):
        name = ("-c", "user.name=c", "-c", "user.email=c@example.org", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "rules.toml").write_text('fail_on = "note"\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("a")
    git("add", ".")
    git("commit", "-qm", "base")
    base = git("rev-parse", "HEAD")
    git("checkout", "-qb", "change")
    (tmp_path / "rules.toml").write_text('fail_on = "none"\n')
    git("commit", "-qam", "the agent's own rules")
    git("config", "core.fsmonitor", "touch pwned; false")
    (tmp_path / ".gitattributes").write_text("*.toml filter=evil\n")
    git("config", "filter.evil.smudge", "touch pwned; cat")
    return tmp_path, base


def test_a_file_is_read_from_a_commit_and_nothing_runs(project):
    """The agent cannot change the rules that it is checked by."""
    directory, base = project
    assert CommittedFiles(str(directory), "main").read("rules.toml") == b'fail_on = "note"\n'
    assert CommittedFiles(str(directory / "sub"), base[:10]).read("rules.toml") == b'fail_on = "note"\n'
    assert CommittedFiles(str(directory), "HEAD").read("rules.toml") == b'fail_on = "none"\n'
    assert CommittedFiles(str(directory), "HEAD").read("missing.toml") is None
    assert not (directory / "pwned").exists()


def test_the_merge_base_of_a_change_is_found_and_none_without_its_history(project):
    directory, base = project
    found = CommittedFiles(str(directory), "main").find_merge_base()
    assert found is not None
    assert (found.revision, found.read("rules.toml")) == (base, b'fail_on = "note"\n')
    with pytest.raises(NotFound):
        CommittedFiles(str(directory), "origin/main")
    other = subprocess.run(
        ["git", "-C", directory, "-c", "user.name=c", "-c", "user.email=c@x", "commit-tree", "HEAD^{tree}", "-m", "x"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert CommittedFiles(str(directory), other).find_merge_base() is None


def test_an_unknown_revision_a_directory_and_no_repository_are_errors(project, tmp_path_factory):
    directory, _ = project
    with pytest.raises(NotFound, match="revision 'nowhere' is not in the repository"):
        CommittedFiles(str(directory), "nowhere").read("rules.toml")
    with pytest.raises(Corrupt, match="is not a file"):
        CommittedFiles(str(directory), "HEAD").read("sub")
    with pytest.raises(NotFound, match="is in no git repository"):
        CommittedFiles(str(tmp_path_factory.mktemp("outside")), "HEAD").read("rules.toml")
