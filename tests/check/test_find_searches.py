"""What `find` finds and deletes or changes is judged by its tests, in `check` and in the hook."""

from __future__ import annotations

import pytest

from tests.check.made_runs import judge, make_run, shell
from tests.check.test_hook import decide

PROTECTED = "files/protected"
HITS = [
    "find .github -name '*.yml' -delete",
    "find .github -type f -exec rm {} +",
    "find .github .circleci -type f | xargs rm",
    "find x .github -type f -print0 | xargs -0 rm -f",
    "find .github -type f | grep yml | xargs rm",
    "find .github -mtime +3 -exec rm {} \\;",
    "find . -name ci.yml -delete",
    "find . -name '*.yml' -exec rm -f {} +",
    "find . -name .github -exec rm -rf {} +",
    "find . -path './.github/*' -delete",
    "find . -iname 'CI.*' -type f | xargs rm",
    "find . -type f -delete",
    "find . -not -name '*.py' -type f -delete",
    "find . \\( -name '*.bak' -o -name '*.yaml' \\) -delete",
    "find .github -type f -exec sed -i s/a/b/ {} +",
    "find . -name Jenkinsfile | xargs sed -i s/a/b/",
    "cd .github && find . -name '*.yml' -delete",
    "find .github/workflows/old -name 'a*' -delete",
]
MISSES = [
    "find . -name '*.pyc' -delete",
    "find . -name __pycache__ -exec rm -rf {} +",
    "find . -type d -name __pycache__ -prune -exec rm -rf {} +",
    "find . -name __pycache__ | xargs rm -rf",
    "find . \\( -name '*.orig' -o -name '*.rej' \\) -delete",
    "find . -type d -empty -delete",
    "find . -name 'ci.y*ml' -not -path './.*' -delete",
    "find . -path ./.github -prune -o -name 'ci.*' -exec rm {} +",
    "find . -path './src/*' -name '*.yml' -delete",
    "find . -maxdepth 1 -name '*.yml' -type d -exec rm -rf {} +",
    "find src -name '*.yml' -delete",
    "find . -name '*.py' -exec sed -i s/a/b/ {} +",
    "find . -regex '.*\\.\\(pyc\\|pyo\\)' -delete",
    "find .git -name '*.lock' -delete",
    "find .git -name index.lock -exec rm {} +",
    "find .github -name '*.yml' | xargs grep -l x",
    "find .github -name '*.yml'; rm x",
    "find .claude/worktrees/a -name '*.md' -delete",
    "find .github -name '*.yml' -exec grep -q x {} \\; -print",
]


@pytest.mark.parametrize(("line", "status"), [*((h, "fail") for h in HITS), *((m, "pass") for m in MISSES)])
def test_files_that_find_deletes_or_changes_are_protected_if_its_tests_may_find_them(line, status):
    assert judge(PROTECTED, make_run(shell(line))).status == status


@pytest.mark.parametrize("line", HITS[:4])
def test_the_hook_denies_it(line):
    decision = decide(given={"command": line})
    assert (decision.action, PROTECTED in decision.reason) == ("deny", True)


def test_the_message_names_where_find_starts():
    (finding,) = judge(PROTECTED, make_run(shell("find .github -type f -delete"))).findings
    assert finding.message == "changes files in .github, in which .github/workflows/** is protected"


@pytest.mark.parametrize(("name", "status"), [("*.py", "fail"), ("*.pyc", "pass"), ("*.md", "fail")])
def test_a_pattern_of_the_policy_protects_all_files_below_it_but_litter(name, status):
    run = make_run(shell(f"find . -name '{name}' -delete"))
    assert judge(PROTECTED, run, paths=["src/core/**"]).status == status
