package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ethtune/ethtune/tune/knob"
)

// writeColumns writes rows whose columns are as wide as their widest cell, two blanks apart.
func writeColumns(w io.Writer, rows [][]string) error {
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
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
