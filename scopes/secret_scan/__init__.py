"""Find secrets in everything that is stored, in any form that one decoding undoes, and keep them from leaving."""
