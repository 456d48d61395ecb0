"""The black-box functions, one file per family. The contract is `replibo.problems.base.Problem`."""
