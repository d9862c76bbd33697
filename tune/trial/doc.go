// Package trial is the statistics of turning a knob: it compares what was measured before with what was measured after
// and says how sure the answer is. It is pure: samples in, a [Verdict] out.
//
// Noise is not an effect. Samples taken every 100 ms follow each other, so the interval comes from a bootstrap of blocks
// of a second and not of single samples.
package trial
