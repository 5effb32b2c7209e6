---- MODULE Wrong ----
EXTENDS Tiny
Stepped == member[0].electionState = "NOMINATE" => member[2].electionState = ""
====
