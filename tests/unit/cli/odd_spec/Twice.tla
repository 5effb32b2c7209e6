---- MODULE Twice ----
EXTENDS Tiny, One, Two
====
