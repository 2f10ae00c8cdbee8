"""The live board: nodes as a grid, each cell coloured by what its daemon pod is doing, and the rollout's progress."""
