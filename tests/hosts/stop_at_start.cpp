// Preloaded into a rank: on the host that STOP_ON names it is stopped where MPI would start.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

extern "C" {

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided);

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const char* stopped = std::getenv("STOP_ON");
  if (stopped && std::string_view(stopped) == host) {
    sleep(1);  // what runs beside gets so far
    raise(SIGSTOP);
  }
  return PMPI_Init_thread(argc, argv, required, provided);
}
}
