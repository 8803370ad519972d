"""Tests of the JSON renderings; a package, so that its file names may occur in other folders too."""
