"""Planning: manifests as columns, pruned to the files to read, with the deletes that apply to them."""
