"""Which of the processes of one training this is, on this host: ranks on a host share its joules, so one of them tells them."""

import os

# (rank on this host, ranks on this host), as torchrun, Open MPI, MPICH/Intel MPI, MVAPICH and Slurm say it.
_NAMES = (
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)


def _number(text):
    try:
        return int(text)
    except (TypeError, ValueError):
        return None


def local_rank():
    """This process' number among those of its host, 0 where nothing says that there are others."""
    for rank, _ in _NAMES:
        value = _number(os.environ.get(rank))
        if value is not None:
            return value
    return 0


def local_ranks():
    """How many processes of the training this host has, 1 where nothing says that there are others."""
    for rank, size in _NAMES:
        if _number(os.environ.get(rank)) is not None:
            return max(_number(os.environ.get(size)) or 1, 1)
    return 1
