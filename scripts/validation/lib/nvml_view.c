/* NVML as a machine would have it whose driver does not count NVLink's traffic, or, with HIDE_LINKS, that has no
   NVLink. check-paths compiles it; linkgain loads it by LINKGAIN_NVML_LIBRARY. All other functions are the driver's. */
#define _GNU_SOURCE
#include <dlfcn.h>

enum { kNotSupported = 3, kByNvlink = 2, kNoPeer = 5, kFirstThroughput = 138, kLastThroughput = 141 };

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
};

static void* driver(const char* name) {
  return dlsym(dlopen("libnvidia-ml.so.1", RTLD_LAZY), name);
}

int nvmlDeviceGetFieldValues(void* device, int count, struct FieldValue* values) {
  int (*const read)(void*, int, struct FieldValue*) =
      (int (*)(void*, int, struct FieldValue*))driver("nvmlDeviceGetFieldValues");
  const int result = read(device, count, values);
  for (int i = 0; i < count; ++i) {
#ifndef HIDE_LINKS
    if (values[i].field < kFirstThroughput || values[i].field > kLastThroughput) continue;
#endif
    values[i].result = kNotSupported;
  }
  return result;
}

#ifdef HIDE_LINKS
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  (void)device, (void)link, (void)active;
  return kNotSupported;
}

int nvmlDeviceGetP2PStatus(void* device, void* peer, int capability, int* status) {
  int (*const read)(void*, void*, int, int*) =
      (int (*)(void*, void*, int, int*))driver("nvmlDeviceGetP2PStatus");
  const int result = read(device, peer, capability, status);
  if (capability == kByNvlink) *status = kNoPeer;
  return result;
}
#endif
