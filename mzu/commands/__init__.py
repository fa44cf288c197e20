"""One file per `mzu NAME`: arguments and printing, nothing else."""
