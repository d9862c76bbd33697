package main

// jsonHelp documents the JSON lines; the names are stable.
const jsonHelp = `ethtune run --json writes one JSON object a line. A field that was not measured is missing, never 0.

start     schema (1), version, host, kernel, cpus, dialect,
          asked (the load: proto, mode, streams, rate_bps, size, near, far (of the sockets), near_calls, far_calls (batch,
          gso, gro, affinity, copy, skip_copy, precise), probe),
          granted (what the kernel gave: dialect, size, near and far sndbuf, rcvbuf as the kernel reports them, doubled,
          congestion, mss; fixed: what the dialect cannot change, and why), congestion (near, far),
          knobs (knob, side, value, wanted, fixed, offers, min, max)
interval  one for each direction that carries load:
  t, span         end of the interval in seconds since traffic flowed (monotonic), and its length
  time            wall clock at its end, RFC 3339
  dir             out (near to far) or in
  tx_bps          bit/s acknowledged (TCP) or sent (UDP)
  rx_bps          bit/s that arrived
  tx_span, rx_span    seconds that tx_bps and rx_bps are of, by the clock of the end that counted; a late report makes them
                  longer than span, and bytes are rate x these; iperf3 and iperf tell of UDP that arrived when a test ends
  jitter_ms       RFC 3550 estimator at the end of the interval, from kernel receive stamps
  jitter_p50_ms, jitter_p99_ms, jitter_max_ms    of |D|, the change of transit time from packet to packet
  jitter_from     load (UDP) or probe (TCP); jitter_clock is "user" where the kernel gave no stamps
  lost, packets, loss_pct, loss_from    packets that did not arrive, of those that should have; load or probe
  lost_at         where: sender (its own stack), path, socket (the receiver's buffer), nic (the receiving host)
  reordered, reorder_extent, duplicates    UDP: behind a later one; by how many at most so far; arrived again
  lag_p50_ms, lag_max_ms    how long UDP datagrams lay in the receiver's socket: how the receiver is run, not the path
  tx_mode, rx_mode    how UDP is sent and received now: write, sendmmsg N, gso N; read, recvmmsg N, gro N
  epoch           number of the setting that produced the latest UDP datagram that arrived
  missed          datagrams of a UDP schedule (rate_bps above 0) that were never sent: the sender was not run in time
  softnet_drops   packets the receiving host dropped because a processor's backlog was full, of all its traffic
  retransmits     TCP segments sent again
  min_rtt_ms      TCP: the smallest round trip of the last minutes, as the sending kernel has it
  cwnd_bytes      TCP: congestion windows of all streams together
  delivery_bps    TCP: rate of the kernel's last delivery samples, of all streams together
  limited         TCP: rwnd_pct, sndbuf_pct: share of the time with something to send in which the receiver's window was
                  full, or the send buffer held too little
  tx_cpus, rx_cpus    processors that the traffic threads of the sending and the receiving end last ran on
  rtt_ms, rtt_from    round trip; probe (without the far end's own time) or tcp
  cpu             busy share of all processors of the near host, percent
  self_cpu        share of one processor that the near agent used beside its traffic threads, percent
  late            sampling ticks that came late
  suspect         why rx_bps cannot be right for two seconds now: more than the link's speed, or than the interface counted
  host            what else the near host did, in the first direction of an interval only, as it is of none. A group that is
                  missing was not measured; in one that is there, a counter that is missing did not move
    softnet       processed, dropped, squeezed: of all processors
    nic           dev, rx_bytes, rx_packets, rx_errors, rx_dropped (missed included), tx_bytes, tx_packets, tx_errors,
                  tx_dropped: of the traffic's interface
    slow          read once a second, or less often where that is dear; its counters are of its own span:
      span        seconds since the reading before
      cpus        cpu (-1 where more than 256 are one), usr, sys, idle, softirq, irq, steal in percent, processed, dropped,
                  squeezed
      irqs        irq, name, cpus (interrupts of each processor): of the interface's device
      qdiscs      kind, handle, parent, drops, overlimits, requeues, backlog (packets, at the end): of the interface
      driver      the driver's own counters of drops, errors and the like, by its own names
      mib         counters of the network namespace, such as Tcp.RetransSegs, TcpExt.TCPBacklogDrop, Udp.RcvbufErrors
      top         name, pid, pct of one processor: of the three processes that used most
      rx_missed   packets for which the interface's device had no buffer
      link_bps, numa_node    of the interface's device, where it has them
note      t, time, text: what happened to the load
mark      n, t, time, knob, side (near, far, host), from, asked, got (read again after the write),
          outcome (applied, adjusted, refused, partial, unchanged), also (knob, from, to: what moved with it), reason,
          denied (for want of a right)
verdict   mark, with (marks too close to tell apart), knob, side, a, b, metric (rx_bps, jitter_ms, loss_pct),
          before, after (medians; for loss_pct the pooled percentage), delta_pct (b against a), ci95 [low, high],
          answer (better, worse, no-change, unsure), reason, pairs
end       t, totals (per direction: span, tx_bytes, rx_bytes, tx_span, rx_span, means of the rates, sums of the counters),
          restored (knob, side, from, got, outcome, reason), error
`
