package tune

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tune/internal/kernel"
	"github.com/ethtune/ethtune/tune/internal/kernel/kerneltest"
	"github.com/ethtune/ethtune/tune/knob"
)

func fake(host *kerneltest.Host) *Tuner { return New(kernel.NewDevice(host, kerneltest.Dev)) }

func set(text string) knob.Setting {
	s, err := knob.ParseSetting(text)
	if err != nil {
		panic(err)
	}
	return s
}

func plan(texts ...string) (p knob.Plan) {
	for _, t := range texts {
		p = append(p, set(t))
	}
	return p
}

func apply(t *testing.T, tuner *Tuner, p ...knob.Setting) []knob.Result {
	t.Helper()
	results, err := tuner.Apply(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(p) {
		t.Fatalf("%d results for %d settings", len(results), len(p))
	}
	return results
}

func states(t *testing.T, tuner *Tuner) map[string]knob.State {
	t.Helper()
	list, err := tuner.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]knob.State)
	for _, s := range list {
		m[string(s.Side)+":"+s.Knob] = s
	}
	return m
}

// sameStates compares everything that a Read tells.
func sameStates(t *testing.T, want, got map[string]knob.State) {
	t.Helper()
	for k, w := range want {
		if g := got[k]; g.Value != w.Value || g.Wanted != w.Wanted {
			t.Errorf("%s: found %q wanted %q, now %q wanted %q", k, w.Value, w.Wanted, g.Value, g.Wanted)
		}
	}
}

func changes(list []knob.Change) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, knob.Short(c.Knob)+" "+c.From+">"+c.To)
	}
	return strings.Join(parts, ", ")
}

func undoText(p knob.Plan) string {
	var parts []string
	for _, s := range p {
		parts = append(parts, knob.Short(s.Knob)+"="+s.Value)
	}
	return strings.Join(parts, " ")
}

func TestTurns(t *testing.T) {
	bad := errors.New("device says no")
	for _, tt := range []struct {
		name    string
		host    func(*kerneltest.Host)
		first   knob.Plan // turned before, not judged
		turn    string
		outcome knob.Outcome
		got     string
		reason  string
		also    string
		undo    string
	}{
		{name: "applied", turn: "gro=off", outcome: knob.Applied, got: "off", undo: "gro=on"},
		{name: "unchanged", turn: "gro=on", outcome: knob.Unchanged, got: "on"},
		{name: "fixed", turn: "lro=on", outcome: knob.Refused, got: "off", reason: "fixed by driver"},
		{name: "number", turn: "txqlen=500", outcome: knob.Applied, got: "500", undo: "txqlen=1000"},
		{name: "kernel's words", turn: "mtu=1", outcome: knob.Refused, got: "1500", reason: "mtu less than device minimum"},
		{name: "refused", host: func(h *kerneltest.Host) { h.Refuse = map[string]error{"features": bad} },
			turn: "tso=off", outcome: knob.Refused, got: "on", reason: "device says no"},
		{name: "lied to", host: func(h *kerneltest.Host) { h.Lie = map[string]bool{"features": true} },
			turn: "gro=off", outcome: knob.Refused, got: "on", reason: "the kernel took the request and kept gro on"},
		{name: "failed and done", host: func(h *kerneltest.Host) { h.Fail = map[string]error{"mtu": bad} },
			turn: "mtu=9000", outcome: knob.Applied, got: "9000", reason: "device says no", undo: "mtu=1500"},
		{name: "cascade", turn: "tx=off", outcome: knob.Applied, got: "off",
			also: "tso on>off, tx-tcp-segmentation on>off, tx-tcp6-segmentation on>off, " +
				"tx-tcp-ecn-segmentation on>off, uso on>off",
			undo: "tx-checksum-ip-generic=on tx-tcp-segmentation=on tx-tcp6-segmentation=on " +
				"tx-tcp-ecn-segmentation=on uso=on"},
		{name: "cascade from the size", host: func(h *kerneltest.Host) { h.SmallTSO = 1500 },
			turn: "mtu=9000", outcome: knob.Applied, got: "9000",
			also: "tso on>off, tx-tcp-segmentation on>off, tx-tcp6-segmentation on>off, tx-tcp-ecn-segmentation on>off",
			undo: "mtu=1500 tx-tcp-segmentation=on tx-tcp6-segmentation=on tx-tcp-ecn-segmentation=on"},
		{name: "kept off", first: plan("tx=off", "feature.tx-tcp-segmentation=off"), turn: "feature.tx-tcp-segmentation=on",
			outcome: knob.Refused, got: "off", undo: "tx-tcp-segmentation=off",
			reason: "tx-tcp-segmentation is requested on, kept off by the kernel: tx is off"},
		{name: "only the request moves", first: plan("tx=off"), turn: "feature.tx-tcp-segmentation=off",
			outcome: knob.Applied, got: "off", undo: "tx-tcp-segmentation=on"},
		{name: "partial group", first: plan("tx=off", "tso=off"), turn: "tso=on", outcome: knob.Partial, got: "off",
			reason: "tx-tcp-segmentation is requested on, kept off by the kernel: tx is off",
			undo: "tx-tcp-segmentation=off tx-tcp6-segmentation=off tx-tcp-ecn-segmentation=off " +
				"tx-tcp-mangleid-segmentation=off tx-tcp-accecn-segmentation=off"},
		{name: "gso needs sg", first: plan("sg=off", "gso=off"), turn: "gso=on", outcome: knob.Refused, got: "off",
			reason: "gso is requested on, kept off by the kernel: sg is off", undo: "gso=off"},
		{name: "bit without a document", turn: "feature.a-bit-nobody-knows=on", outcome: knob.Applied, got: "on",
			undo: "a-bit-nobody-knows=off"},
		{name: "bit this kernel lacks", turn: "feature.no-such-bit=on", outcome: knob.Refused, reason: "not supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := kerneltest.New()
			tuner := fake(host)
			apply(t, tuner, tt.first...)
			if tt.host != nil {
				tt.host(host)
			}
			writes := host.Writes()
			r := apply(t, tuner, set(tt.turn))[0]
			if r.Outcome != tt.outcome || r.Got != tt.got || r.Reason != tt.reason {
				t.Errorf("outcome %s, got %q, reason %q; want %s, %q, %q", r.Outcome, r.Got, r.Reason, tt.outcome, tt.got, tt.reason)
			}
			if got := changes(r.Also); got != tt.also {
				t.Errorf("also %s\nwant %s", got, tt.also)
			}
			if got := undoText(r.Undo); got != tt.undo {
				t.Errorf("undo %s\nwant %s", got, tt.undo)
			}
			if needless := tt.outcome == knob.Unchanged || tt.reason == "fixed by driver" || tt.reason == "not supported"; needless && host.Writes() != writes {
				t.Error("written without need")
			}
		})
	}
}

func TestTurnUndoPutsBackTheTurn(t *testing.T) {
	for _, turn := range []string{"tx=off", "sg=off", "tso=off", "mtu=9000", "gro=off", "feature.tx-tcp-mangleid-segmentation=on"} {
		host := kerneltest.New()
		host.SmallTSO = 1500
		tuner := fake(host)
		found := states(t, tuner)
		r := apply(t, tuner, set(turn))[0]
		apply(t, tuner, r.Undo...)
		sameStates(t, found, states(t, tuner))
	}
}

func TestBadValueIsNotWritten(t *testing.T) {
	host := kerneltest.New()
	r := apply(t, fake(host), knob.Setting{Knob: "feature.rx-gro", Value: "7"})[0]
	if r.Outcome != knob.Refused || r.Reason != "gro takes on or off, not 7" || host.Writes() != 0 {
		t.Errorf("%s %q after %d writes", r.Outcome, r.Reason, host.Writes())
	}
}

func TestUndo(t *testing.T) {
	host := kerneltest.New()
	tuner := fake(host)
	apply(t, tuner, plan("tx=off", "tso=off")...) // asked off while already kept off: only the requests move
	tuner = fake(host)                            // finds a card with requests beside its values
	found := states(t, tuner)
	apply(t, tuner, plan("tx=on", "tso=on", "mtu=9000", "gro=off", "mtu=4000", "gro=on")...)
	results, err := tuner.Undo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sameStates(t, found, states(t, tuner))
	if len(results) == 0 || slices.ContainsFunc(results, func(r knob.Result) bool { return r.Outcome != knob.Applied }) {
		t.Errorf("results %+v", results)
	}
	if slices.ContainsFunc(results, func(r knob.Result) bool { return r.Knob == "feature.rx-gro" }) {
		t.Error("gro stood as it was found and is told as put back")
	}
	writes := host.Writes()
	if results, err := tuner.Undo(t.Context()); results != nil || err != nil || host.Writes() != writes {
		t.Errorf("the second undo: %v, %v, %d writes", results, err, host.Writes()-writes)
	}
}

func TestUndoSaysWhatIsLeftAndTriesAgain(t *testing.T) {
	host := kerneltest.New()
	tuner := fake(host)
	found := states(t, tuner)
	apply(t, tuner, plan("mtu=9000", "gro=off")...)
	host.Refuse = map[string]error{"mtu": errors.New("device or resource busy")}
	_, err := tuner.Undo(t.Context())
	if err == nil {
		t.Fatal("a refused undo says nothing")
	}
	if !errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), "mtu=1500 (device or resource busy)") {
		t.Errorf("error %v", err)
	}
	if strings.Contains(err.Error(), "gro") {
		t.Errorf("%v: gro is back", err)
	}
	host.Refuse = nil
	if results, err := tuner.Undo(t.Context()); err != nil || len(results) != 1 {
		t.Errorf("second try: %v, %v", results, err)
	}
	sameStates(t, found, states(t, tuner))
}

func TestCancelLeavesTheRest(t *testing.T) {
	host := kerneltest.New()
	ctx, cancel := context.WithCancel(t.Context())
	host.OnWrite = func(what string) {
		if what == "mtu" {
			cancel()
		}
	}
	tuner := fake(host)
	found := states(t, tuner)
	results, err := tuner.Apply(ctx, plan("gro=off", "mtu=9000", "txqlen=1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 || results[1].Outcome != knob.Applied {
		t.Errorf("the one under way is told: %+v", results)
	}
	if r := results[2]; r.Outcome != knob.Refused || r.Reason != "not tried: context canceled" || r.Got != "1000" {
		t.Errorf("the rest: %+v", r)
	}
	host.OnWrite = nil
	if _, err := tuner.Undo(t.Context()); err != nil {
		t.Error(err)
	}
	sameStates(t, found, states(t, tuner))
}

func TestOneTurnAtATime(t *testing.T) {
	host := kerneltest.New()
	entered, leave := make(chan struct{}), make(chan struct{})
	host.OnWrite = func(string) {
		entered <- struct{}{}
		<-leave
	}
	tuner := fake(host)
	done := make(chan knob.Outcome, 2)
	turn := func(text string) {
		results, err := tuner.Apply(t.Context(), plan(text))
		if err != nil {
			t.Error(err)
		}
		done <- results[0].Outcome
	}
	go turn("gro=off")
	<-entered
	go turn("mtu=9000")
	select {
	case <-entered:
		t.Error("a write began while another was under way")
	default:
	}
	leave <- struct{}{}
	<-entered
	leave <- struct{}{}
	if a, b := <-done, <-done; a != knob.Applied || b != knob.Applied {
		t.Errorf("outcomes %s, %s", a, b)
	}
}
