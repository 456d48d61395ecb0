"""One run: built from the config, carried through, journalled, written."""
