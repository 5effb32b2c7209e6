---- MODULE Clock ----
EXTENDS Integers
VARIABLE hour
Tick == hour' = (hour + 1) % 4
Spec == hour = 0 /\ [][Tick]_hour
Early == hour < 1
====
