// SPDX-License-Identifier: Apache-2.0
// Settings of the host device that no other device has.
#ifndef FATTN_HOST_H
#define FATTN_HOST_H

namespace fattn::host {

/// Threads a launch on the host uses, the calling one among them. At first FATTN_NUM_THREADS where it is set, else the
/// number of cores this process may run on.
int numThreads();
/// Changes it for launches that begin later: 1 to 1024; 1 runs everything on the calling thread. Throws
/// Error{InvalidArgument} outside that range. Where the system refuses more threads, numThreads() says how many there are.
void setNumThreads(int threads);

}  // namespace fattn::host

#endif
