"""`extends`: a policy that takes over the settings of others, from the same source as itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.default_tests import DEFAULT_TESTS
from scopes.check.policy import Layer, Suppression, merge_layers, parse_policy
from scopes.check.policy_sources import CommittedTree, WorkingTree
from scopes.check.rules.registry import PARAMETERS
from scopes.errors import Invalid
from tests.check.sessions import run_check, write_session
from tests.check.test_hook import hook_input
from tests.check.test_hook import run as run_hook

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

TEST_RULE = "order/tests-after-last-edit"
OWN = '[[rule]]\nid = "ours/x"\nexpect = "never run({})"\n'
SUPPRESSION = '[[suppress]]\nrule = "{}"\nreason = "why"\nuntil = 2099-03-31\n'


def write(folder, **files):
    """Write policies; `__` in a name is a slash, and each gets the suffix .toml."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(folder, name="a.toml"):
    """Return the policy of a file of a working tree."""
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        return parse_policy(file.read(), path, PARAMETERS, WorkingTree(path))


def mistake(folder, name="a.toml"):
    """Return the message of the refusal of a policy, with paths relative to the folder."""
    with pytest.raises(Invalid) as caught:
        read(folder, name)
    return caught.value.message.replace(f"{folder}/", "")


def git(folder, *words):
    name = ("-c", "user.name=c", "-c", "user.email=c@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", folder, *name, *words], check=True, capture_output=True)


def test_the_extending_file_wins_and_what_it_leaves_out_is_inherited(tmp_path):
    write(
        tmp_path,
        team='preset = "strict"\nfail_on = "note"\ntests = ["make check"]\n'
        f'[rules."{TEST_RULE}"]\nlevel = "note"\npaths = ["src/**"]\nignore = ["*.md"]\n[rules."run/empty"]\nlevel = "off"\n',
        a=f'extends = "team.toml"\nfail_on = "warning"\n[rules."{TEST_RULE}"]\nlevel = "error"\npaths = ["lib/**"]\n',
    )
    policy = read(tmp_path)
    assert (policy.preset, policy.fail_on, policy.tests) == ("strict", "warning", ("make check",))
    assert policy.levels == {TEST_RULE: "error", "run/empty": "off"}
    assert policy.parameters[TEST_RULE] == {"paths": ["lib/**"], "ignore": ["*.md"]}
    assert policy.path == f"{tmp_path}/a.toml"


def test_of_several_files_the_later_one_wins_and_lists_add_up_in_their_order(tmp_path):
    tool = '[[tool_as_test]]\nname = "{}"\n'
    write(
        tmp_path,
        one='fail_on = "none"\n' + SUPPRESSION.format("run/empty") + tool.format("t1"),
        sub__two='fail_on = "note"\n' + SUPPRESSION.format("net/host") + tool.format("t2") + tool.format("t1"),
        a='extends = ["one.toml", "sub/two.toml"]\n' + SUPPRESSION.format("shell/push") + tool.format("t3"),
    )
    policy = read(tmp_path)
    assert (policy.fail_on, policy.tools_as_test) == ("note", ("t1", "t2", "t3"))
    places = [
        (each.rule, each.path and os.path.relpath(each.path, tmp_path), each.line) for each in policy.suppressions
    ]
    assert places == [("run/empty", "one.toml", 2), ("net/host", "sub/two.toml", 2), ("shell/push", None, 2)]


def test_a_path_is_relative_to_the_file_that_names_it(tmp_path):
    write(
        tmp_path,
        sub__deep__c='fail_on = "none"\n',
        sub__b='extends = "deep/c.toml"\n',
        top='preset = "strict"\n',
        sub__a='extends = ["./b.toml", "../top.toml"]\n',
    )
    git(tmp_path, "init", "-q")
    policy = read(tmp_path, "sub/a.toml")
    assert (policy.fail_on, policy.preset) == ("none", "strict")


def test_a_rule_of_the_same_id_replaces_the_inherited_one_in_its_place(tmp_path):
    """As in ESLint the later definition counts; within one file two equal ids stay a mistake."""
    other = OWN.replace("ours/x", "ours/y")
    write(tmp_path, team=OWN.format("a") + other.format("b"), a='extends = "team.toml"\n' + OWN.format("c"))
    rules = read(tmp_path).own_rules
    assert [(each.id, each.expect, each.path, each.line) for each in rules] == [
        ("ours/x", "never run(c)", None, 2),
        ("ours/y", "never run(b)", f"{tmp_path}/team.toml", 4),
    ]
    write(tmp_path, a=OWN.format("a") + OWN.format("b"))
    assert "there is another rule 'ours/x'" in mistake(tmp_path)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ('extends = "team.toml"\n[rules."ours/x"]\nlevel = "off"\n', ["off"]),
        ('extends = "team.toml"\n[rules."ours/x"]\n', ["error"]),
        ('extends = "middle.toml"\n', ["warning"]),
        ('extends = "middle.toml"\n[rules."ours/x"]\nlevel = "note"\n', ["note"]),
        ('extends = "middle.toml"\n' + OWN.format("ls"), ["error"]),
        (OWN.format("ls") + '[rules."ours/x"]\nlevel = "off"\n', ["off"]),
    ],
)
def test_the_level_of_an_own_rule_is_set_as_that_of_any_other(tmp_path, text, levels):
    middle = 'extends = "team.toml"\n[rules."ours/x"]\nlevel = "warning"\n'
    write(tmp_path, team=OWN.format("ls"), middle=middle, a=text)
    assert [rule.level for rule in read(tmp_path).own_rules] == levels


def test_settings_of_an_own_rule_have_only_a_level_and_need_the_rule(tmp_path):
    write(tmp_path, team=OWN.format("ls"), a='extends = "team.toml"\n[rules."ours/x"]\npaths = ["a"]\n')
    assert mistake(tmp_path) == "a.toml:3:1: ours/x has no parameter 'paths'"
    write(tmp_path, a='extends = "team.toml"\n[rules."ours/y"]\nlevel = "off"\n')
    assert mistake(tmp_path) == "a.toml:2:9: there is no rule 'ours/y'"
    write(tmp_path, team='[rules."ours/x"]\nlevel = "off"\n', a='extends = "team.toml"\n' + OWN.format("ls"))
    assert mistake(tmp_path) == "team.toml:1:9: there is no rule 'ours/x'"


def test_a_file_that_is_reached_twice_counts_once_where_it_is_reached_last(tmp_path):
    write(
        tmp_path,
        base='fail_on = "none"\npreset = "strict"\n' + SUPPRESSION.format("run/empty"),
        b='extends = "base.toml"\nfail_on = "note"\n',
        c='extends = "base.toml"\n',
        a='extends = ["b.toml", "c.toml"]\n',
    )
    policy = read(tmp_path)
    assert (policy.fail_on, policy.preset, len(policy.suppressions)) == ("none", "strict", 1)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": 'extends = "a.toml"\n'}, "a.toml:1:1: a policy extends itself: a.toml -> a.toml"),
        (
            {"a": '\n  extends = ["b.toml"]\n', "b": 'extends = "c.toml"\n', "c": 'preset = "strict"\nextends = "./b.toml"\n'},
            "c.toml:2:1: a policy extends itself: b.toml -> c.toml -> b.toml",
        ),
        ({"a": '\n  extends = ["b.toml"]\n'}, "a.toml:2:3: there is no policy b.toml"),
        ({"a": 'extends = "b.toml"\n', "b": '\n[rules."run/emty"]\n'}, "b.toml:2:9: there is no rule 'run/emty'"),
        ({"a": 'extends = "b.toml"\n', "b": "x = \n"}, "b.toml:1:5: Invalid value"),
        ({"a": "extends = 1\n"}, "a.toml:1:1: extends is not a path or a list of paths"),
        ({"a": 'extends = ["b", 1]\n'}, "a.toml:1:1: extends is not a path or a list of paths"),
        ({"a": 'extends = ""\n'}, "a.toml:1:1: extends '' is not the path of a file"),
        ({"a": 'extends = "/etc/b.toml"\n'}, "a.toml:1:1: extends '/etc/b.toml' is not a relative path"),
        ({"a": 'extends = "~/b.toml"\n'}, "a.toml:1:1: extends '~/b.toml' is not a relative path"),
        ({"a": 'extends = "../b.toml"\n'}, "a.toml:1:1: extends '../b.toml' is outside the repository"),
        ({"a": 'extends = "sub/../../b.toml"\n'}, "a.toml:1:1: extends 'sub/../../b.toml' is outside the repository"),
        ({"a": 'extends = "https://x.org/b.toml"\n'}, "a.toml:1:1: extends 'https://x.org/b.toml' is not the path of a file"),
        ({"a": 'extends = "C:b.toml"\n'}, "a.toml:1:1: extends 'C:b.toml' is not the path of a file"),
        ({"a": 'extends = "b\\u0000"\n'}, "a.toml:1:1: extends 'b\\x00' is not the path of a file"),
        ({"a": 'extends = "sub"\n', "sub__b": ""}, "a.toml:1:1: cannot read sub: it is a directory"),
    ],
)  # fmt: skip
@pytest.mark.cases(16)
def test_a_mistake_about_an_extended_policy_has_its_place(tmp_path, files, message):
    folder = tmp_path / "project"
    write(folder, **files)
    assert mistake(folder) == message


def test_no_symbolic_link_leads_out_of_the_repository(tmp_path):
    folder = tmp_path / "project"
    write(tmp_path, outside='fail_on = "none"\n')
    write(folder, a='extends = "link.toml"\n', inside='fail_on = "note"\n', b='extends = "sub/outside.toml"\n')
    (folder / "link.toml").symlink_to(tmp_path / "outside.toml")
    (folder / "sub").symlink_to(tmp_path)
    assert mistake(folder) == "a.toml:1:1: link.toml is a symbolic link out of the repository"
    assert "is a symbolic link out of the repository" in mistake(folder, "b.toml")
    (folder / "link.toml").unlink()
    (folder / "link.toml").symlink_to("inside.toml")
    assert read(folder).fail_on == "note"


def test_levels_and_files_have_limits(tmp_path):
    write(tmp_path, **{f"p{number}": f'extends = "p{number + 1}.toml"\n' for number in range(11)}, p11="")
    assert mistake(tmp_path, "p0.toml") == "p10.toml:1:1: policies extend each other over more than 10 levels"
    assert read(tmp_path, "p1.toml").path == f"{tmp_path}/p1.toml"
    write(tmp_path, near='extends = ["p1.toml"]\n', twice='extends = ["p1.toml", "near.toml"]\n')
    assert "over more than 10 levels" in mistake(tmp_path, "twice.toml")
    write(tmp_path, **{f"f{number}": "" for number in range(101)})
    for count in (100, 101):
        write(tmp_path, a=f"extends = {[f'f{number}.toml' for number in range(count)]}\n")
        if count == 100:
            assert read(tmp_path).levels == {}
        else:
            assert mistake(tmp_path) == "a.toml:1:1: a policy extends more than 100 files"


def test_many_paths_between_few_files_take_no_time(tmp_path):
    for level in range(10):
        names = [f"q{level + 1}-{number}.toml" for number in range(9)]
        for number in range(9):
            (tmp_path / f"q{level}-{number}.toml").write_text(f"extends = {names}\n" if level < 9 else "")
    assert read(tmp_path, "q0-0.toml").levels == {}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose committed policy extends another, and a working tree in which an agent changed that."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, **{"scopes-check": 'extends = "rules/team.toml"\n', "rules__team": OWN.format("make **")})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "rules")
    write(tmp_path, rules__team="")
    write_session(tmp_path / "agent.jsonl", ("Bash", {"command": "make deploy"}, 0), "Done.")
    return tmp_path


def test_a_policy_of_a_commit_extends_files_of_that_commit_and_not_of_the_working_tree(project, capsys):
    """The agent must not be able to change what a trusted policy extends."""
    assert run_check(capsys, "agent.jsonl")[0] == 0
    code, output = run_check(capsys, "agent.jsonl", "--rules", "HEAD:")
    assert (code, "ours/x" in output, "HEAD:rules/team.toml, line 1" in output) == (1, True, True), output
    (project / "rules" / "team.toml").unlink()
    assert run_check(capsys, "agent.jsonl", "--rules", "HEAD:")[0] == 1
    code, output = run_check(capsys, "agent.jsonl")
    assert (code, "scopes-check.toml:1:1: there is no policy rules/team.toml" in output) == (2, True)


def test_the_hook_reads_extended_policies_from_the_same_commit(project):
    data = hook_input(cwd=str(project), given={"command": "make"})
    assert run_hook(data)[1] == {}
    assert "ours/x" in json.dumps(run_hook(data, "--rules", "HEAD:")[1])
    write(project, rules__team=OWN.format("make **"))
    assert "ours/x" in json.dumps(run_hook(data)[1])
    write(project, rules__team='extends = "../scopes-check.toml"\n')
    assert "a policy extends itself" in json.dumps(run_hook(data)[1])


def test_a_commit_has_no_links_and_nothing_above_its_top(project, capsys):
    (project / "rules" / "team.toml").unlink()
    (project / "rules" / "team.toml").symlink_to("other.toml")
    write(project, rules__other="")
    git(project, "add", ".")
    git(project, "commit", "-qm", "link")
    code, output = run_check(capsys, "agent.jsonl", "--rules", "HEAD:")
    assert (code, "HEAD:scopes-check.toml:1:1: rules/team.toml of 'HEAD' is not a file" in output) == (2, True), output
    source = CommittedTree("scopes-check.toml", "HEAD", lambda _: b"")
    with pytest.raises(Invalid, match="is outside the repository"):
        source.locate("sub/a.toml", "../../b.toml")


def test_reports_notes_and_explanations_name_the_extended_file(project, capsys):
    write(
        project,
        rules__team=OWN.format("make **") + SUPPRESSION.format("net/host") + '[rules."run/empty"]\nlevel = "note"\n',
    )
    code, output = run_check(capsys, "agent.jsonl", "--report", "sarif=s.sarif")
    assert (code, "see the rule in rules/team.toml, line 1" in output) == (1, True)
    assert "the suppression of net/host in rules/team.toml, line 4, covers no finding" in output
    places = re.findall(r'"uri": ?"(rules/team.toml)"', (project / "s.sarif").read_text())
    assert places
    assert "set in rules/team.toml:1" in run_check(capsys, "--list", "ours/x")[1]
    assert "set in rules/team.toml:8" in run_check(capsys, "--list", "run/empty")[1]
    assert "set in" not in run_check(capsys, "--list", "run/failed")[1]


RULES, LISTED = st.sampled_from(["run/empty", "net/host", TEST_RULE]), st.lists(st.sampled_from("abc"), max_size=2)


@st.composite
def layers(draw, path):
    """Return what a file may set."""
    levels = draw(st.dictionaries(RULES, st.sampled_from(["error", "note", "off"])))
    parameters = draw(st.dictionaries(RULES, st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3))))
    return Layer(
        path=path,
        preset=draw(st.none() | st.sampled_from(["strict", "read-only"])),
        fail_on=draw(st.none() | st.sampled_from(["note", "none"])),
        tests=draw(st.none() | LISTED.map(tuple)),
        levels=levels,
        parameters=parameters,
        lines={rule: draw(st.integers(1, 9)) for rule in (*levels, *parameters)},
        suppressions=tuple(
            Suppression(rule, None, "why", date(2099, 1, 1), line) for line, rule in enumerate(draw(st.lists(RULES, max_size=2)), 1)
        ),
        tools_as_test=tuple(draw(LISTED)),
    )  # fmt: skip


STACKS = st.integers(1, 5).flatmap(lambda count: st.tuples(*(layers(f"{number}.toml") for number in range(count))))


@given(STACKS)
def test_the_last_file_that_gives_a_value_decides_it(stack):
    policy = merge_layers(stack)
    for key, default in (("preset", "recommended"), ("fail_on", "error"), ("tests", DEFAULT_TESTS)):
        values = [getattr(layer, key) for layer in stack if getattr(layer, key) is not None]
        assert getattr(policy, key) == (values[-1] if values else default)
    for rule in {rule for layer in stack for rule in layer.levels}:
        assert policy.levels[rule] == next(layer.levels[rule] for layer in reversed(stack) if rule in layer.levels)
    for rule, given_values in policy.parameters.items():
        for name, value in given_values.items():
            holders = [each.parameters[rule] for each in stack if name in each.parameters.get(rule, {})]
            assert value == holders[-1][name]
    for rule, line in policy.lines.items():
        layer = next(each for each in reversed(stack) if rule in each.lines)
        assert (line, policy.paths.get(rule, policy.path)) == (layer.lines[rule], layer.path)


@given(STACKS)
def test_no_suppression_is_lost_and_each_keeps_file_and_line(stack):
    policy = merge_layers(stack)
    found = [(each.path or policy.path, each.line, each.rule) for each in policy.suppressions]
    assert found == [(layer.path, each.line, each.rule) for layer in stack for each in layer.suppressions]
    assert policy.tools_as_test == tuple(dict.fromkeys(name for layer in stack for name in layer.tools_as_test))


@given(STACKS)
def test_an_empty_file_changes_nothing_but_the_name(stack):
    merged, extended = merge_layers(stack), merge_layers((*stack, Layer("empty.toml")))
    for key in ("preset", "fail_on", "tests", "levels", "parameters", "lines", "tools_as_test"):
        assert getattr(merged, key) == getattr(extended, key)
    assert merge_layers((Layer("empty.toml"), *stack)) == merged


@given(STACKS, st.data())
def test_an_earlier_file_decides_nothing_that_a_later_one_gives(stack, data):
    """To repeat a file earlier has no effect on what is set."""
    repeated = data.draw(st.sampled_from(stack))
    merged, again = merge_layers(stack), merge_layers((repeated, *stack))
    for key in ("preset", "fail_on", "tests", "levels", "parameters", "lines", "paths"):
        assert getattr(merged, key) == getattr(again, key)
