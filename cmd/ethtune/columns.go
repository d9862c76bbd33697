package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/ethtune/ethtune/tune/knob"
)

// writeColumns writes rows whose columns are as wide as their widest cell, two blanks apart. Each row has every cell: a column of
// [tabwriter] ends where a row has none of it.
func writeColumns(w io.Writer, rows [][]string) error {
	var b strings.Builder // takes whatever is written to it
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(tw, strings.Join(r, "\t"))
	}
	tw.Flush()
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// devOf is the interface that a knob belongs to where dev was asked for; empty for a sysctl, which belongs to none.
func devOf(name, dev string) string {
	if knob.Family(name) == "sysctl" {
		return ""
	}
	return dev
}

// devText is an interface as the lines of the knob commands name it, after the knob.
func devText(dev string) string {
	if dev == "" {
		return "-"
	}
	return dev
}
