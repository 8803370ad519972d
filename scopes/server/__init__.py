"""What other programs talk to: `acp`, the proxy between an editor and an agent, and `mcp`, the server of tools.

`doctor_checks` is what `scopes doctor` says about both, about hooks and about the agents of this machine.
"""
