"""The data files: the manifest, and fetching and verifying what it lists."""
