"""What is proved: the record of it, its words, and a checker that needs neither of them."""

from bestleaf.proof.record import Certificate
from bestleaf.proof.verify import Verdict, verify

__all__ = ["Certificate", "Verdict", "verify"]
