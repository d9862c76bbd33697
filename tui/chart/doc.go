// Package chart turns series into glyphs: it bins samples, keeps gaps as gaps, draws axes, marks and traces, and paints
// everything on a [Grid] of cells.
//
// A [Series] remembers, a [Window] is the stretch of time that stacked plots share, a [Plot] draws a series into it on a
// [Scale], and [TimeAxis] is the one row below them. [Glyphs] says which signs the terminal can show.
//
// The picture stands still: bins are anchored to time, so that between frames only the newest cell changes, and when it is
// full everything moves by one whole cell. That is quiet to look at, and a screen library that sends differences sends few.
//
// It knows nothing of engine or tune. Numbers come in as float64 with NaN for what was not measured.
package chart
