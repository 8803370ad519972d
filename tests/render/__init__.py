"""Tests of the text renderings; a package, so that its file names may occur in other folders too."""
