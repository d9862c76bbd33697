package engine

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// How long BenchmarkPeers takes: pairs of runs, and whole seconds of each run, since iperf3 takes no other.
const (
	pairsEnv   = "ETHTUNE_BENCH_PAIRS"
	secondsEnv = "ETHTUNE_BENCH_SECONDS"
)

// contest is one load, carried by us and by others in turn.
type contest struct {
	name  string
	spec  func(*metric.Spec)
	peers []program
	tell  func(b *testing.B, ours []result, theirs map[string][]result)
}

// BenchmarkPeers runs this engine and iperf3 and iperf by turns over the same veth pair, each end a process of its own in a
// namespace of its own, all with cubic. It reports and judges nothing: what is measured on a busy machine is no verdict.
//
//	go test ./engine -run '^$' -bench Peers
func BenchmarkPeers(b *testing.B) {
	need(b, os.Geteuid() == 0, "needs root for network namespaces")
	for _, tool := range []string{"ip", "nsenter", "iperf3", "iperf"} {
		_, err := exec.LookPath(tool)
		need(b, err == nil, "needs "+tool)
	}
	pairs, seconds := fromEnv(b, pairsEnv, 3), fromEnv(b, secondsEnv, 1)
	w := newWire(b, seconds)
	setup := fmt.Sprintf("%s; %s; cubic; %d pairs of %d s", version("iperf3"), version("iperf"), pairs, seconds)

	iperf3 := func(name string, args ...string) program {
		return program{name, func() result { return w.iperf3(b, args...) }}
	}
	tcp := func(name string, args ...string) program { return iperf3(name, append(args, "-C", "cubic")...) }
	iperf := func(name string, args ...string) program {
		return program{name, func() result { return w.iperf(b, args...) }}
	}
	udp := func(rate int64, calls metric.Calls) func(*metric.Spec) {
		return func(s *metric.Spec) {
			s.Proto, s.Size, s.RateBps, s.NearCalls, s.FarCalls = metric.UDP, 1448, rate, calls, calls
		}
	}
	flood := []program{iperf3("iperf3", "-u", "-b", "0", "-w", "4M", "-l", "1448")}
	contests := []contest{
		{"TCP", func(*metric.Spec) {}, []program{tcp("iperf3")}, tellRates},
		{"TCPCopyless", func(s *metric.Spec) { s.NearCalls.Copy, s.FarCalls.SkipCopy = metric.Vmsplice, true },
			[]program{tcp("iperf3"), tcp("iperf3-Z", "-Z")}, tellRates},
		{"TCPParallel4", func(s *metric.Spec) { s.Streams = 4 },
			[]program{tcp("iperf3", "-P", "4"), iperf("iperf", "-P", "4")}, tellRates},
		{"UDPMessage", udp(0, metric.Calls{GSO: 1, GRO: metric.Off}), flood, tellRates},
		{"UDPTrains", udp(0, metric.Calls{}), flood, tellRates},
	}
	for _, rate := range []string{"400M", "1G"} {
		contests = append(contests, contest{"UDP" + rate, udp(parseRate(rate), metric.Calls{}),
			[]program{iperf3("iperf3", "-u", "-b", rate, "-l", "1448")}, tellLoss})
	}
	for _, rate := range []string{"100M", "400M", "1G"} {
		contests = append(contests,
			contest{"RateError/UDP" + rate, udp(parseRate(rate), metric.Calls{}),
				[]program{iperf3("iperf3", "-u", "-b", rate, "-l", "1448")}, tellError(rate)},
			contest{"RateError/TCP" + rate, func(s *metric.Spec) { s.RateBps = parseRate(rate) },
				[]program{tcp("iperf3", "-b", rate)}, tellError(rate)})
	}
	for _, c := range contests {
		b.Run(c.name, func(b *testing.B) {
			spec := metric.DefaultSpec()
			spec.Near.Congestion, spec.Far.Congestion, spec.Probe = "cubic", "cubic", 0
			c.spec(&spec)
			var ours []result
			theirs := make(map[string][]result)
			for b.Loop() {
				for i := range pairs {
					if i%2 == 0 {
						ours = append(ours, w.ethtune(b, spec))
					}
					for _, p := range c.peers {
						theirs[p.name] = append(theirs[p.name], p.run())
					}
					if i%2 == 1 {
						ours = append(ours, w.ethtune(b, spec))
					}
				}
			}
			b.Log(setup)
			b.ReportMetric(0, "ns/op") // it is the pairs' and means nothing
			c.tell(b, ours, theirs)
		})
	}
}

// tellRates reports what arrived, and the processor time that it took, as ratios to each peer of the same pair. With
// several peers of one program the ratio to the better one is what counts, so that is there too.
func tellRates(b *testing.B, ours []result, theirs map[string][]result) {
	rate, cpu := func(r result) float64 { return r.rx }, func(r result) float64 { return r.cpu }
	b.ReportMetric(median(each(ours, rate))/1e9, "Gb/s")
	b.ReportMetric(median(each(ours, cpu)), "cpu-s/GB")
	b.ReportMetric(median(each(ours, func(r result) float64 { return r.loss })), "loss-%")
	for name, rs := range theirs {
		b.ReportMetric(median(each(rs, rate))/1e9, name+"-Gb/s")
		b.ReportMetric(median(each(rs, cpu)), name+"-cpu-s/GB")
		tellRatio(b, "x-"+name, quotients(each(ours, rate), each(rs, rate)))
		b.ReportMetric(median(quotients(each(ours, cpu), each(rs, cpu))), "cpu-x-"+name)
	}
	if plain, z := theirs["iperf3"], theirs["iperf3-Z"]; z != nil {
		best := each(plain, rate)
		for i := range best {
			best[i] = max(best[i], z[i].rx)
		}
		tellRatio(b, "x-best-iperf3", quotients(each(ours, rate), best))
	}
}

func tellRatio(b *testing.B, name string, ratio []float64) {
	b.ReportMetric(median(ratio), name)
	b.ReportMetric(slices.Min(ratio), name+"-min")
	b.ReportMetric(slices.Max(ratio), name+"-max")
}

// tellLoss reports the losses at the rate asked for, and how many runs had none.
func tellLoss(b *testing.B, ours []result, theirs map[string][]result) {
	theirs["ethtune"] = ours
	for name, rs := range theirs {
		loss := each(rs, func(r result) float64 { return r.loss })
		b.ReportMetric(median(loss), name+"-loss-%")
		b.ReportMetric(slices.Max(loss), name+"-worst-loss-%")
		clean := slices.DeleteFunc(slices.Clone(loss), func(v float64) bool { return v > 0 })
		b.ReportMetric(float64(len(clean))/float64(len(loss)), name+"-lossless-share")
	}
}

// tellError reports how far the rate was from the rate asked for.
func tellError(rate string) func(*testing.B, []result, map[string][]result) {
	return func(b *testing.B, ours []result, theirs map[string][]result) {
		theirs["ethtune"] = ours
		for name, rs := range theirs {
			off := each(rs, func(r result) float64 { return 100 * math.Abs(r.rate/float64(parseRate(rate))-1) })
			b.ReportMetric(median(off), name+"-off-%")
			b.ReportMetric(slices.Max(off), name+"-worst-off-%")
		}
	}
}

func each(rs []result, f func(result) float64) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = f(r)
	}
	return out
}

// quotients divides pair by pair.
func quotients(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// fromEnv is a whole number that the environment may set.
func fromEnv(b *testing.B, name string, def int) int {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s=%q: a whole number from 1", name, text)
	}
	return n
}

// parseRate reads "400M" or "1G" as iperf3 does.
func parseRate(text string) int64 {
	unit := int64(1e6)
	if strings.HasSuffix(text, "G") {
		unit = 1e9
	}
	var n int64
	_, _ = fmt.Sscan(text[:len(text)-1], &n) // one of our own
	return n * unit
}

// version is the first line of what a program says of itself; iperf says it on its standard error.
func version(program string) string {
	out, _ := exec.Command(program, "--version").CombinedOutput() // iperf ends with 1
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
