#!/bin/sh
# Stands in for mpirun: `mpirun -np N [option]... program...`. Ranks get Open MPI's variables and, as there, a session
# of their own, so that signals to the launcher's group do not reach them.
[ "$1" != --version ] || { echo "mpirun (Fake MPI) 1.0" && exit; }
while :; do
  case $1 in
    -np) np=$2 && shift 2 ;;
    --bind-to) shift 2 ;;
    --mca) shift 3 ;;
    -*) shift ;;
    *) break ;;
  esac
done
pids=
trap 'kill -TERM $pids; exit 143' TERM
rank=0
while [ "$rank" -lt "$np" ]; do
  OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=$np setsid "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
code=0
for pid in $pids; do
  wait "$pid" || code=$?
done
exit "$code"
