// Built instead of the tests under mpirun where the build has no MPI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "parallelism/comm/mpi/session.h"

namespace parabench::comm {
namespace {

TEST(WithoutMpi, ASessionSaysWhatToInstall) {
  EXPECT_FALSE(mpi_available());
  EXPECT_EQ(MpiSession::library_version(), "none");
  int argc = 0;
  char** argv = nullptr;
  try {
    MpiSession session(&argc, &argv);
    FAIL() << "a session without MPI";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_THAT(error.what(), testing::HasSubstr("libopenmpi-dev"));
  }
}

}  // namespace
}  // namespace parabench::comm
