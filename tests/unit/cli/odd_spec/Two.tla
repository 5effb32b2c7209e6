---- MODULE Two ----
Double == 2
====
