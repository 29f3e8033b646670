"""Bytes to records and back: metadata files, manifests, manifest lists, Puffin files, deletion vectors."""
