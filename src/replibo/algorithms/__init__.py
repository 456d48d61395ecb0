"""The optimisers, one file each. The contract is `replibo.algorithms.base.Algorithm`."""
