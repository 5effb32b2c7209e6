---------------------------- MODULE MCLogHazard1 -----------------------------
\* The steps of MCHazard1 as steps of Log.tla.
EXTENDS MCHazard1, FollowsLog
=============================================================================
