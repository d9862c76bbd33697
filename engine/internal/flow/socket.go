package flow

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// DefaultTCPSize is the bytes of one write(2) and read(2), iperf3's default.
	DefaultTCPSize = 128 << 10
	// defaultUDPBuf is asked of the kernel for UDP receivers, which grants what net.core.rmem_max allows. With the usual
	// default of 208 KiB a receiver that is run late loses 5 to 30 % at 400 Mbit/s.
	defaultUDPBuf = 4 << 20
	// forcedUDPBuf is the buffer of a UDP receiver where the process may go beyond net.core.rmem_max and that is not what
	// bounds it. At 50 Gbit/s in trains it bridges 10 ms in which the receiver is not run; 4 MiB are over within one time
	// slice of another process. Where rmem_max grants less than [defaultUDPBuf] it is left alone: whoever turns it wants to
	// see what it does.
	forcedUDPBuf = 32 << 20
	// turn bounds a blocked call of a traffic thread. The kernel rounds it up to its tick, 1 to 10 ms.
	turn = time.Millisecond
)

// sockaddr turns a into the kernel's form and its family.
func sockaddr(a netip.AddrPort) (int, unix.Sockaddr, error) {
	ip := a.Addr().Unmap()
	if ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}, nil
	}
	sa := &unix.SockaddrInet6{Port: int(a.Port()), Addr: ip.As16()}
	if z := ip.Zone(); z != "" {
		if n, err := strconv.ParseUint(z, 10, 32); err == nil {
			sa.ZoneId = uint32(n)
		} else if ifi, err := net.InterfaceByName(z); err == nil {
			sa.ZoneId = uint32(ifi.Index)
		} else {
			return 0, nil, fmt.Errorf("address %s: no interface %s: %w", a, z, err)
		}
	}
	return unix.AF_INET6, sa, nil
}

// DialTCP opens a blocking TCP connection to peer with what o asks set before the handshake. local may be the zero AddrPort,
// which is the kernel's choice. The descriptor is the caller's.
func DialTCP(local, peer netip.AddrPort, o metric.Socket, timeout time.Duration) (int, error) {
	family, sa, err := sockaddr(peer)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := ConfigureTCP(fd, o); err != nil {
		return -1, closeOn(fd, err)
	}
	if local.IsValid() {
		_, lsa, err := sockaddr(local)
		if err == nil {
			err = unix.Bind(fd, lsa)
		}
		if err != nil {
			return -1, closeOn(fd, fmt.Errorf("bind tcp %s: %w", local, err))
		}
	}
	// connect(2) keeps to the send timeout and then says EINPROGRESS.
	if err := setTimeout(fd, unix.SO_SNDTIMEO, timeout); err != nil {
		return -1, closeOn(fd, err)
	}
	if err := retry(func() error { return unix.Connect(fd, sa) }); err != nil && err != unix.EISCONN {
		if err == unix.EINPROGRESS || err == unix.EALREADY {
			err = unix.ETIMEDOUT
		}
		return -1, closeOn(fd, fmt.Errorf("connect %s: %w", peer, err))
	}
	if err := setTimeout(fd, unix.SO_SNDTIMEO, 0); err != nil {
		return -1, closeOn(fd, err)
	}
	return fd, nil
}

// ConfigureTCP sets on a TCP socket what o asks. A refusal has the kernel's words. TCP_MAXSEG of a connection that is
// there already changes nothing, and [Granted] shows that.
func ConfigureTCP(fd int, o metric.Socket) error {
	if err := setBuffers(fd, o); err != nil {
		return err
	}
	if o.MSS != 0 {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, o.MSS); err != nil {
			return fmt.Errorf("set maximum segment to %d bytes: %w", o.MSS, err)
		}
	}
	return retuneTCP(fd, o)
}

// retuneTCP sets what a running connection takes of o.
func retuneTCP(fd int, o metric.Socket) error {
	if o.Congestion != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, o.Congestion); err != nil {
			return fmt.Errorf("set congestion control %s: %w", o.Congestion, err)
		}
	}
	delay := 0
	if o.NoDelay {
		delay = 1
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, delay); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	return setTOS(fd, o.TOS)
}

// setTOS sets the type of service of what leaves fd. A socket of IPv6 that speaks IPv4 has both.
func setTOS(fd, tos int) error {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return os.NewSyscallError("getsockopt SO_DOMAIN", err)
	}
	err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, tos)
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
	}
	if err != nil {
		return fmt.Errorf("set type of service %#x: %w", tos, err)
	}
	return nil
}

func setBuffers(fd int, o metric.Socket) error {
	for _, b := range []struct {
		name   string
		opt, v int
	}{{"send", unix.SO_SNDBUF, o.SndBuf}, {"receive", unix.SO_RCVBUF, o.RcvBuf}} {
		if b.v == 0 {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, b.opt, b.v); err != nil {
			return fmt.Errorf("set %s buffer to %d bytes: %w", b.name, b.v, err)
		}
	}
	return nil
}

// DialUDP opens a connected UDP socket with what o asks, receive stamps on and blocking calls bounded. With a valid
// local the socket is bound to it, where it has a port beside others of the same port. The descriptor is the caller's.
func DialUDP(local, peer netip.AddrPort, o metric.Socket) (int, error) {
	family, sa, err := sockaddr(peer)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	own := o.RcvBuf == 0
	if own {
		o.RcvBuf = defaultUDPBuf
	}
	if err := configureUDP(fd, family, o); err != nil {
		return -1, closeOn(fd, err)
	}
	if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF); own && err == nil && got >= 2*defaultUDPBuf {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, forcedUDPBuf) // not permitted to everyone
	}
	if local.IsValid() {
		_, lsa, err := sockaddr(local)
		// Of sockets that share theirs the kernel may give the port of another to one that asks for any.
		if err == nil && local.Port() != 0 {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}
		if err == nil {
			err = unix.Bind(fd, lsa)
		}
		if err != nil {
			return -1, closeOn(fd, fmt.Errorf("bind udp %s: %w", local, err))
		}
	}
	if err := retry(func() error { return unix.Connect(fd, sa) }); err != nil {
		return -1, closeOn(fd, fmt.Errorf("connect udp %s: %w", peer, err))
	}
	return fd, nil
}

func configureUDP(fd, family int, o metric.Socket) error {
	if err := setBuffers(fd, o); err != nil {
		return err
	}
	if err := setTOS(fd, o.TOS); err != nil {
		return err
	}
	for _, opt := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := setTimeout(fd, opt, turn); err != nil {
			return err
		}
	}
	// Without this the kernel hides from UDP that its own queue refused a datagram (net/ipv4/udp.c, udp_send_skb).
	level, opt := unix.IPPROTO_IP, unix.IP_RECVERR
	if family == unix.AF_INET6 {
		level, opt = unix.IPPROTO_IPV6, unix.IPV6_RECVERR
	}
	if err := unix.SetsockoptInt(fd, level, opt, 1); err != nil {
		return os.NewSyscallError("setsockopt IP_RECVERR", err)
	}
	// Where neither form is known the receiver stamps in user space and says so.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_OLD, 1)
	}
	return nil
}

func setTimeout(fd, opt int, d time.Duration) error {
	tv := unix.NsecToTimeval(int64(d))
	return os.NewSyscallError("setsockopt timeout", unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, opt, &tv))
}

// DatagramSize is the payload that fits the path's MTU in one packet on the connected UDP socket fd.
func DatagramSize(fd int, peer netip.AddrPort) (int, error) {
	mtu, headers := 0, 28
	var err error
	if peer.Addr().Unmap().Is4() {
		mtu, err = unix.GetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU)
	} else {
		headers = 48
		mtu, err = unix.GetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU)
	}
	if err != nil {
		return 0, fmt.Errorf("ask the MTU towards %s: %w", peer, err)
	}
	return min(max(mtu-headers, metric.MinUDPSize), metric.MaxUDPSize), nil
}

// Granted reads back what the kernel gave the socket fd.
func Granted(fd int, proto metric.Proto) (metric.GrantedSocket, error) {
	var g metric.GrantedSocket
	var err error
	if g.SndBuf, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil {
		return g, os.NewSyscallError("getsockopt SO_SNDBUF", err)
	}
	if g.RcvBuf, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil {
		return g, os.NewSyscallError("getsockopt SO_RCVBUF", err)
	}
	if proto == metric.TCP {
		if g.Congestion, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil {
			return g, os.NewSyscallError("getsockopt TCP_CONGESTION", err)
		}
		if g.MSS, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG); err != nil {
			return g, os.NewSyscallError("getsockopt TCP_MAXSEG", err)
		}
	}
	return g, nil
}

// setPacing has the kernel pace a TCP socket to bps bit/s of payload; 0 takes the bound away. The kernel takes a long of
// bytes a second, and TCP's own pacing counts a segment before its headers are added (net/ipv4/tcp_output.c,
// tcp_update_skb_after_send), so there is nothing to correct for them.
func setPacing(fd int, bps int64) error {
	v := uint64(math.MaxUint64)
	if bps > 0 {
		v = max(uint64(bps)/8, 1)
		if strconv.IntSize == 32 {
			v = min(v, math.MaxUint32-1)
		}
	}
	return os.NewSyscallError("setsockopt SO_MAX_PACING_RATE",
		unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, v))
}

// socketDrops is how many datagrams the kernel dropped at the receive buffer of fd; it wraps at 2^32.
func socketDrops(fd int) (uint32, bool) {
	var info [unix.SK_MEMINFO_VARS]uint32
	n := uint32(unsafe.Sizeof(info))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&n)), 0)
	if e != 0 || n < 4*(unix.SK_MEMINFO_DROPS+1) {
		return 0, false
	}
	return info[unix.SK_MEMINFO_DROPS], true
}

func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

// closeOn closes fd because of err, which it returns.
func closeOn(fd int, err error) error {
	_ = unix.Close(fd)
	return err
}
