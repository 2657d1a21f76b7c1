# Sourced: parabench with the stand-ins of tests/suite for its ranks and for mpirun, so that nothing is trained.
# SCRATCH has to be an empty folder, FAKE_RANK_PROGRAM and FAKE_MPIRUN the stand-ins.
mkdir -p "$SCRATCH/bin"
ln -sf "$FAKE_MPIRUN" "$SCRATCH/bin/mpirun"
export PATH="$SCRATCH/bin:$PATH" PARABENCH_RANK="$FAKE_RANK_PROGRAM" XDG_CACHE_HOME="$SCRATCH/cache" \
  TMPDIR="$SCRATCH" FAKE_LOG="$SCRATCH/log"
