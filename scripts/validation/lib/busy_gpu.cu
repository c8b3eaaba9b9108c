// A neighbour for measure-neighbours: multiplies matrices on the first GPU until it is ended, or
// whoever started it ends. Prints "busy" when the first product is done.

#include <sys/prctl.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kTile = 32;
constexpr int kWidth = 4096;

/// Computes c = a b of square matrices; a block of kTile * kTile threads for each tile of c.
__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < kWidth; first += kTile) {
    a_tile[threadIdx.y][threadIdx.x] = a[row * kWidth + first + threadIdx.x];
    b_tile[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * kWidth + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
  }
  c[row * kWidth + column] = sum;
}

void check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "busy_gpu: %s\n", cudaGetErrorString(result));
  std::exit(1);
}

}  // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr std::size_t kBytes = sizeof(float) * kWidth * kWidth;
  float* memory = nullptr;
  check(cudaMalloc(&memory, 3 * kBytes));
  check(cudaMemset(memory, 0, 3 * kBytes));
  float* const b = memory + kWidth * kWidth;
  float* const c = b + kWidth * kWidth;
  const dim3 blocks(kWidth / kTile, kWidth / kTile);
  for (long products = 0;; ++products) {
    multiply<<<blocks, dim3(kTile, kTile)>>>(memory, b, c);
    check(cudaGetLastError());
    // A few are under way at any time, so that the GPU is never idle, and not more.
    if (products % 4 == 3) check(cudaDeviceSynchronize());
    if (products == 3) {
      std::puts("busy");
      std::fflush(stdout);
    }
  }
}
