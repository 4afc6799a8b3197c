// A tile that is stored and multiplied reaches shared memory through registers. Where a loop's last trip stands behind it, there is no trip whose
// tile would be brought there: such a store was emitted all the same, and the check counted it as one of the program's.
// RUN: fattn-opt -nvidia-pipeline="target=nvidia:sm_89 stages=1 warps=1 schedule=2 check-order=true" %S/../../differential/programs/store-past-the-last-trip.mlir -o /dev/null
// RUN: fattn-opt -nvidia-pipeline="target=nvidia:sm_89 stages=2 warps=4 schedule=7 check-order=true" %S/../../differential/programs/store-past-the-last-trip.mlir -o /dev/null
