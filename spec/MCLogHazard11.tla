---------------------------- MODULE MCLogHazard11 ----------------------------
\* The steps of MCHazard11 as steps of Log.tla.
EXTENDS MCHazard11, FollowsLog

RivalsAndCopies(n) == Rivals \o Each(Copies, <<3, 4>>) \o Dies(1)

MCLogInit == StoryInit /\ auxFaults = 0

CanvassesAreReadLater == PlaysStory \/ CanvassesAreRead

MCLogNext ==
    IF Settled /\ ~PlaysStory THEN TENextOrRest /\ UNCHANGED history
    ELSE StoryNext /\ UNCHANGED auxFaults
=============================================================================
