package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// control runs f with the descriptor of file, without making the file blocking as File.Fd may.
func control(file *os.File, f func(fd int) error) error {
	c, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// winsize asks the kernel for the size; a serial line has one of 0x0. tty is false for what is no terminal.
func winsize(file *os.File) (columns, rows int, tty bool) {
	err := control(file, func(fd int) error {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err != nil {
			return err
		}
		columns, rows = int(ws.Col), int(ws.Row)
		return nil
	})
	return columns, rows, err == nil
}

// baud is the speed of the line in bit/s, 0 for terminals that only claim one.
func baud(file *os.File) int {
	speed := 0
	err := control(file, func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		dev := uint64(st.Rdev)
		if !isLine(unix.Major(dev), unix.Minor(dev)) {
			return nil
		}
		var err error
		speed, err = lineSpeed(fd)
		return err
	})
	if err != nil {
		return 0
	}
	return speed
}

// lineSpeed is the output speed in bit/s that the kernel keeps for a terminal, also one that is no multiple of 300
// (TCGETS2, which Linux has had since 2.6.20).
func lineSpeed(fd int) (int, error) {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return 0, err
	}
	return int(t.Ospeed), nil
}

// isLine says whether a terminal's device number is that of something with a speed. Pseudo terminals (majors 136-143, and
// 2 and 3 of old) and virtual consoles (major 4 below minor 64) say 38400 and mean nothing by it, and /dev/tty and
// /dev/console (major 5) do not say what is behind them. Numbers are those of the kernel's devices.txt.
func isLine(major, minor uint32) bool {
	switch {
	case major >= 136 && major <= 143, major == 2, major == 3, major == 5:
		return false
	case major == 4:
		return minor >= 64
	}
	return true
}

// outq is how many bytes the kernel still holds back for a terminal (TIOCOUTQ).
func outq(file *os.File) (int, error) {
	n := 0
	err := control(file, func(fd int) error {
		var err error
		n, err = unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		return err
	})
	return n, err
}
