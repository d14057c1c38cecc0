"""One large problem on many ranks: the operator, the multigrid cycle and the loop of `auto` over pieces of a grid."""
