// Package dialect is what every way of talking to a peer has in common: the [Session] by which the engine drives traffic,
// whatever the protocol, the [House] in which the servers of one process receive their guests, and the [Porch] before it.
//
// The packages below it are one protocol each, with their codecs. A dialect says what it cannot do in
// [metric.Granted.Fixed], and refuses it in Drive.
package dialect
