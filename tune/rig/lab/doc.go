// Package lab makes two ends on this machine: two network namespaces, a veth pair between them, and an agent process in
// each. It needs no second machine and no configuration.
//
//	this process ---- stream ---- agent near [ etn0 192.0.2.1 ]
//	      |                                      |  veth
//	      +---------- stream ---- agent far  [ etf0 192.0.2.2 ]
//
// As root the agents get their namespaces directly; otherwise both live in one user namespace, because a veth cannot be
// moved between sibling user namespaces. Nothing has a name outside of these processes: when they are gone, so is the
// lab, however it ended.
package lab
