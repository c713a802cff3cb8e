// Who reserved what over one tick: fills in the reservations of the processes that ran, so that static energy can go by them.
//
// What an allocation reserved goes to those in it by their CPU time, memory by what they hold; where none of them ran, to a row
// without a process, so that the cgroup, pod or job carries it all the same. An accelerator is reserved by the job it was given to,
// else by those who hold it, in proportion to their use of it.
//
// Invariant: the rows of one allocation have its share between them, no more.
#pragma once

#include "ledger/attribution/node_accounts.h"
#include "watch/reservations.h"

namespace joulery {

// `tick` has its components and processes. May add rows at its end.
void add_reservations(Reservations& reservations, NodeTick& tick);

}  // namespace joulery
