"""A package, so that what its fixtures of that scope start has ended when other tests begin."""
