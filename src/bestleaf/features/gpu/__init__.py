"""Votes of nearest neighbours on a GPU: the same votes as those of the processor, bit for bit."""

from bestleaf.features.gpu.device import DEVICES, Gpu
from bestleaf.features.gpu.votes import CudaVotes, PaddedSubsets

__all__ = ["DEVICES", "CudaVotes", "Gpu", "PaddedSubsets"]
