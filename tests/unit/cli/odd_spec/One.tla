---- MODULE One ----
Double == 1
====
