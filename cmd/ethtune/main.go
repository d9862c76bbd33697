// Command ethtune keeps network traffic running, turns the kernel's knobs while it runs, and shows what each turn did
// to bandwidth, jitter and loss.
//
// This package is the door: flags, which Bench, which front end, exit codes.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
