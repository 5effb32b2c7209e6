---- MODULE Early ----
EXTENDS Tiny, TLC
Failing == Assert(FALSE, "the script stops") /\ Init
====
