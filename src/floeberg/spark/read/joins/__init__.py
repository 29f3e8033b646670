"""Keys of a small table that a join lets planning read: they leave out files and rows of the large one."""
