// An NVML that starts, counts its GPUs and hands out handles, and has no other function: what a
// very old driver would look like.
extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlShutdown() { return 0; }

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** handle) {
  static int devices[2];
  if (index >= 2) {
    return 2;
  }
  *handle = &devices[index];
  return 0;
}

}  // extern "C"
