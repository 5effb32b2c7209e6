"""Proofs without bounds: Z3 shows that lemmas of an abstract module are inductive.

TLC checks ``Cluster.tla`` within bounds. The safety of ``Cluster.tla`` rests on two small abstract
modules in ``spec/``: ``Ballots``, the votes and terms, and ``Log``, the replicated log of the
hardened protocol. Each names its ``Lemmas`` and its ``Safety``. If the lemmas hold in the initial
states, if each action keeps them, and if they imply the safety properties, then the properties hold
in every behaviour, for any number of members, terms and entries.

TLC and Z3 read the same module. TLC checks a finite instance of it, and that ``Cluster`` refines
it. For Z3, SANY parses the module and exports it as XML, `sany` reads the XML as a tree, `smt`
translates the tree, and `prove` discharges the obligations. The translation knows a small part of
TLA+ and refuses everything else.

A proof rests on SANY, on the translation, on Z3, and on two facts: integers with ``<`` are a total
order, and two quorums have a member in common. It says nothing of liveness. Whether ``Cluster``
does what the modules say is checked by TLC within bounds.

Errors that a user can cause are `ModuleError`. The extra ``prove`` installs Z3.
"""
