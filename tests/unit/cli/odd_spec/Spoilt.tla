---- MODULE Spoilt ----
EXTENDS Tiny
A == 
====
