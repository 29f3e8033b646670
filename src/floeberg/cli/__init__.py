"""The `floeberg` command, one file for each of its commands."""
