#pragma once

namespace linkgain {

/// Throws MachineError where the stack may not grow as far as this program needs: it would be ended
/// by SIGSEGV somewhere in its work. To be called before anything is made.
void require_stack();

}  // namespace linkgain
