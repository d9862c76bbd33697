package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/ethtune/ethtune/tune/rig/agent"
	"golang.org/x/sys/unix"
)

// The two ends. The names are none that a host uses, the addresses are of RFC 5737's and RFC 4193's ranges and are
// seen by nobody else.
const (
	NearDevice = "etn0"
	FarDevice  = "etf0"
	nearIPv4   = "192.0.2.1"
	farIPv4    = "192.0.2.2"
	nearIPv6   = "fde7:4e::1"
	farIPv6    = "fde7:4e::2"
	port       = "5202"
)

// endWithin is how long the processes may take to end once their streams are closed.
const endWithin = 5 * time.Second

// Options says how the lab is made.
type Options struct {
	IPv6 bool // run the load over IPv6
	// Command starts this program as a lab agent; "near" or "far" is appended. The default is this executable with
	// "agent --lab".
	Command []string
	// Host starts an agent of the host outside of the lab, whose knobs both ends share. Empty = none.
	Host []string
}

// Open makes the lab and returns its Bench with the far end serving and no load yet. Closing the Bench ends the lab.
// Where the kernel does not permit it the error is [rig.ErrPermission] and names the gate.
func Open(ctx context.Context, o Options) (*rig.Bench, error) {
	if len(o.Command) == 0 {
		o.Command = []string{"/proc/self/exe", "agent", "--lab"}
	}
	var first error
	for _, flags := range cloneFlags() {
		b, err := open(ctx, o, flags)
		if err == nil {
			return b, nil
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, rig.ErrPermission) {
			return nil, err
		}
	}
	return nil, explain(first)
}

// cloneFlags lists the ways to get namespaces, the best first. A root that lacks CAP_SYS_ADMIN, as in a container, may
// still have user namespaces.
func cloneFlags() []uintptr {
	const plain = unix.CLONE_NEWNET | unix.CLONE_NEWNS
	const user = plain | unix.CLONE_NEWUSER
	if os.Geteuid() == 0 {
		return []uintptr{plain, user}
	}
	return []uintptr{user}
}

func open(ctx context.Context, o Options, flags uintptr) (*rig.Bench, error) {
	near, nearEnd, err := agent.StreamPair()
	if err != nil {
		return nil, err
	}
	defer nearEnd.Close()
	far, farEnd, err := agent.StreamPair()
	if err != nil {
		near.Close()
		return nil, err
	}
	defer farEnd.Close()
	p, err := start(o.Command, flags, nearEnd, farEnd)
	if err != nil {
		near.Close()
		far.Close()
		return nil, err
	}
	nearEnd.Close() // or the agents' ends would never see the end of the stream
	farEnd.Close()
	return p.bench(ctx, near, far, o)
}

// bench waits for both hellos and lets the far end serve.
func (p *process) bench(ctx context.Context, near, far net.Conn, o Options) (b *rig.Bench, err error) {
	defer func() {
		if err != nil {
			near.Close()
			far.Close()
			err = p.annotate(err)
		}
	}()
	n, err := agent.Dial(ctx, near)
	if err != nil {
		return nil, err
	}
	f, err := agent.Dial(ctx, far)
	if err != nil {
		return nil, err
	}
	peer := net.JoinHostPort(farIPv4, port)
	if o.IPv6 {
		peer = net.JoinHostPort(farIPv6, port)
	}
	if _, err := f.Drive(ctx, rig.Load{Serve: &metric.Serve{Native: peer}}); err != nil {
		return nil, err
	}
	var host rig.Rig
	if len(o.Host) > 0 {
		h, err := agent.Spawn(ctx, o.Host)
		if err != nil {
			return nil, fmt.Errorf("host: %w", err)
		}
		host = h
	}
	return rig.NewBench(&end{Remote: n, p: p}, &end{Remote: f, p: p}, host, rig.Peer{Addr: peer, Dialect: "native"}), nil
}

// end is an agent of the lab. Its Close waits until the processes are gone, once both streams are closed.
type end struct {
	*agent.Remote
	p *process
}

// Close closes the stream; the second end to be closed waits for the processes.
func (e *end) Close() error {
	err := e.Remote.Close()
	return errors.Join(err, e.p.release())
}

// process is the near agent, which has the far one as its child.
type process struct {
	cmd    *exec.Cmd
	stderr agent.LastWords
	exited chan struct{}
	err    error // of Wait, good once exited is closed

	mu   sync.Mutex
	open int // streams not yet closed
}

// start runs the near agent. It and the far one, which it starts, live in namespaces of their own.
func start(command []string, flags uintptr, near, far *os.File) (*process, error) {
	p := &process{exited: make(chan struct{}), open: 2}
	p.cmd = exec.Command(command[0], append(command[1:len(command):len(command)], "near")...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = near, near, &p.stderr
	p.cmd.ExtraFiles = []*os.File{far}
	p.cmd.WaitDelay = time.Second // a far agent that outlives the near one holds stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Setpgid: true}
	if flags&unix.CLONE_NEWUSER != 0 {
		p.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		p.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	if err := p.cmd.Start(); err != nil {
		if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS) || errors.Is(err, unix.EINVAL) {
			// ENOSPC is the kernel's word for user.max_user_namespaces, EUSERS for too many levels (clone(2)).
			return nil, fmt.Errorf("%w: new namespaces: %w", rig.ErrPermission, err)
		}
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// release counts a closed stream, and after the last waits for the agents to end by themselves.
func (p *process) release() error {
	p.mu.Lock()
	p.open--
	last := p.open == 0
	p.mu.Unlock()
	if !last {
		return nil
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(endWithin):
	}
	p.cmd.Process.Kill()
	<-p.exited
	return fmt.Errorf("the near agent did not end within %v and was killed", endWithin)
}

// annotate adds the agents' last words, which a crash leaves, to an error.
func (p *process) annotate(err error) error {
	select {
	case <-p.exited:
	case <-time.After(100 * time.Millisecond):
	}
	if words := p.stderr.String(); words != "" {
		return fmt.Errorf("%w (agent: %s)", err, words)
	}
	return err
}
