"""`scopes acp`: a proxy between an editor and an agent that speaks the Agent Client Protocol (ACP).

Lines are passed on unchanged and recorded on the side; the command line, which starts it, is in `scopes.cli`.
"""
