"""What a change of rows becomes: its files, its deletes, its operation and what the commit validates, for every engine."""
