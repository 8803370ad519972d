"""The configuration of other programs: entries of scopes in it, which come and go, while everything else stays."""
