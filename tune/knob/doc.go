// Package knob is the vocabulary of turning: the names of knobs, the values they take, what a turn came to, and the
// catalogue that says what each knob is.
//
// A knob's name is family.name in the kernel's own words ("feature.rx-gro", "dev.mtu", "socket.sndbuf"). People's short
// names ("gro", "mtu", "sndbuf") are aliases. An alias that stands for several bits is a group ("feature.tso") and turns
// them together.
package knob
