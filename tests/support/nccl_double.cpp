// A library with the functions that NCCL 2.19 has and nothing that came later, of which only the
// version answers, LINKGAIN_NCCL_DOUBLE in NCCL's coding, 21903 without it, and what is in
// nccl_double_failure.cpp. Built without NCCL's header.
#include <cstdlib>

extern "C" {

int ncclGetVersion(int* version) {
  const char* text = std::getenv("LINKGAIN_NCCL_DOUBLE");
  *version = text != nullptr ? std::atoi(text) : 21903;
  return 0;
}

const char* ncclGetErrorString(int error) {
  constexpr int kRemoteError = 6;
  return error == kRemoteError ? "ncclRemoteError" : "an error of the double";
}
const char* ncclGetLastError(void*) { return ""; }

int ncclGetUniqueId() { return 1; }
int ncclCommInitRankConfig() { return 1; }
int ncclCommDestroy() { return 1; }
int ncclCommUserRank() { return 1; }
int ncclCommCount() { return 1; }
int ncclGroupStart() { return 1; }
int ncclGroupEnd() { return 1; }
int ncclAllReduce() { return 1; }
int ncclAllGather() { return 1; }
int ncclReduceScatter() { return 1; }
int ncclBroadcast() { return 1; }
int ncclReduce() { return 1; }
int ncclSend() { return 1; }
int ncclRecv() { return 1; }
int ncclRedOpCreatePreMulSum() { return 1; }
int ncclRedOpDestroy() { return 1; }
int ncclMemAlloc() { return 1; }
int ncclMemFree() { return 1; }
int ncclCommRegister() { return 1; }
int ncclCommDeregister() { return 1; }

}  // extern "C"
