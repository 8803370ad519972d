"""How rules read commands: their options and operands, patterns with options in between, and the hosts they reach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.rules.commands import MAX_MATCH, match_of, matches_any, read_flags
from scopes.check.rules.net import hosts_of
from scopes.check.shell import parse_commands
from tests.check.made_runs import OK, judge, make_run, messages, shell

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcDfG"


def command(line):
    return parse_commands(line, "/home/dev/shop")[-1]


@pytest.mark.parametrize(
    ("line", "valued", "long", "options", "operands"),
    [
        ("a b", "", (), "", "a b"),
        ("-x a -y b", "", (), "-x -y", "a b"),
        ("-xy a", "", (), "-x -y", "a"),
        ("-x a b", "x", (), "-x", "b"),
        ("-xa b", "x", (), "-x", "b"),
        ("-yx a b", "x", (), "-y -x", "b"),
        ("--name a b", "", ("--name",), "--name", "b"),
        ("--name=a b", "", ("--name",), "--name", "b"),
        ("--other a", "", ("--name",), "--other", "a"),
        ("a -- -x --y", "", (), "", "a -x --y"),
        ("- -x", "", (), "-x", "-"),
        ("-x", "x", (), "-x", ""),
        ("", "", (), "", ""),
    ],
)
def test_options_are_read_wherever_they_stand(line, valued, long, options, operands):
    flags = read_flags(line.split(), valued, long)
    assert (flags.options, " ".join(flags.operands)) == (frozenset(options.split()), operands)


def test_a_letter_may_have_its_value_attached_or_none():
    assert read_flags(["-unormal", "a"], "", (), "u").options == {"-u"}
    assert read_flags(["-u", "a"], "", (), "u").operands == ("a",)


def test_a_word_that_the_shell_computes_is_an_operand():
    """Nobody knows whether it is an option: `git push $flags`."""
    assert read_flags(["-x", None, "b"]).operands == (None, "b")


@given(st.lists(st.sampled_from(["a", "-x", "-yz", "--name", "--name=v", "b"]), max_size=6))
def test_every_word_is_an_option_or_an_operand(words):
    flags = read_flags(words)
    assert list(flags.operands) == [word for word in words if not word.startswith("-")]
    assert len(flags.options) <= sum(max(1, len(word) - 1) for word in words if word.startswith("-"))


@pytest.mark.parametrize(
    ("pattern", "line", "matches"),
    [
        ("npm publish **", "npm publish", True),
        ("npm publish **", "npm --access public publish", True),
        ("npm publish **", "npm -ws publish x", True),
        ("npm publish **", "npm --dry-run x y publish", False),
        ("npm publish **", "npm run publish", False),
        ("npm --silent publish", "npm --silent publish", True),
        ("docker push **", "docker --context x push y", True),
        ("python* -m twine **", "python3 -m twine upload", True),
        ("npm publish **", "$npm publish", False),
        ("* publish **", "npm publish", True),
        ("", "npm publish", False),
    ],
)
def test_options_before_the_first_operand_hide_no_command(pattern, line, matches):
    assert matches_any([pattern], command(line)) is matches


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("make && git push -f", "git push -f"),
        ("git -C x push -f", "git -C x push -f"),
        ("x=push; git $x -f", "git push -f"),
        ("git $x -f", "git $x -f"),
        ("D='a b'; rm -r $D/$x", "rm -r 'a b/$x'"),
        ("sudo bash -c 'git push'", "git push"),
        ("git  push", "git  push"),
        (f"curl -H {TOKEN}", "curl -H [redacted github-token]"),
        ("echo " + "x" * 400, "echo " + "x" * (MAX_MATCH - 5)),
    ],
)
def test_the_matched_part_is_the_command_as_the_line_has_it(line, match):
    run = make_run(shell(line))
    assert match_of(run.calls[0].commands[-1], run.calls[0]) == match


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("curl https://a.org/x http://b.org", ["a.org", "b.org"]),
        ("curl -o x -H 'A: c.org' a.org", ["a.org"]),
        ("curl --output x --url https://a.org", ["a.org"]),
        ("curl -sSLo x a.org:8080/y?z", ["a.org"]),
        ("curl localhost:3000", ["localhost"]),
        ("curl 'http://[::1]:80/'", ["[::1]"]),
        ("curl //a.org/x", ["a.org"]),
        ("curl ftp://u:p@a.org/x", ["a.org"]),
        ("curl $x", [None]),
        ("curl x", [""]),
        ("wget -qO- https://a.org", ["a.org"]),
        ("http GET a.org/x q==1", ["", "a.org"]),
        ("nc -w 3 a.org 80", ["a.org"]),
        ("telnet a.org 25", ["a.org"]),
        ("ssh -p 22 bob@a.org ls", ["a.org"]),
        ("ssh a.org:22", ["a.org"]),
        ("ssh -G a.org", []),
        ("scp -r x bob@a.org:/y z", ["a.org"]),
        ("scp a b", []),
        ("rsync -az --delete x/ a.org:y", ["a.org"]),
        ("sftp bob@a.org", ["a.org"]),
        ("git clone --depth 1 https://u@a.org/x.git y", ["a.org"]),
        ("git push git@a.org:x.git main", ["a.org"]),
        ("git fetch origin", []),
        ("git log a.org", []),
        ("echo https://a.org", []),
    ],
)
def test_the_hosts_of_a_command_are_those_of_its_addresses(line, hosts):
    assert list(hosts_of(command(line))) == hosts


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ({"url": "https://a.org/x"}, ["a.org"]),
        ({"uri": "http://a.org"}, ["a.org"]),
        ({"urls": ["https://a.org", "https://b.org", 3, None]}, ["a.org", "b.org"]),
        ({"url": "https://u:p@a.org:1/"}, ["a.org"]),
        ({"url": "/relative", "query": "https://a.org"}, []),
        ({"url": None}, []),
        ("https://a.org", []),
    ],
)
def test_the_hosts_of_a_fetch_tool_are_those_of_its_arguments(given, hosts):
    found = messages("net/host", ("WebFetch", given, OK))
    assert found == [f"reaches the host {host}" for host in hosts]


@pytest.mark.parametrize(
    ("pattern", "host", "allowed"),
    [
        ("a.org", "a.org", True),
        ("a.org", "A.ORG", True),
        ("*.a.org", "x.a.org", True),
        ("*.a.org", "a.org", False),
        ("*.a.org", "xa.org", False),
        ("a.org", "a.org.evil.com", False),
        ("*", "anything.org", True),
    ],
)
def test_a_host_is_allowed_by_its_whole_name(pattern, host, allowed):
    verdict = judge("net/host", make_run(shell(f"curl https://{host}/")), hosts=[pattern])
    assert (verdict.status == "pass") is allowed


def test_a_host_is_reported_once_for_each_command_of_a_call():
    found = messages("net/host", shell("curl a.org; curl a.org; curl a.org/x"), shell("curl a.org"))
    assert found == ["reaches the host a.org"] * 3
