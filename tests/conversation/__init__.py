"""Tests of the verbs, one file each; a package, so that its file names may occur in other folders too."""
