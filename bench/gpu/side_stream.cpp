#include "linkgain/gpu/side_stream.hpp"

namespace linkgain::gpu {

void SideStream::fork(const Stream& main) {
  forked_.record(main);
  forked_.hold(stream_);
}

void SideStream::join(const Stream& main) {
  joined_.record(stream_);
  joined_.hold(main);
}

}  // namespace linkgain::gpu
