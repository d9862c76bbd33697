package knob

import (
	"fmt"
	"strings"
)

// maxSetting bounds one setting as typed.
const maxSetting = 512

// ParseSetting understands "gro=on", "far:gro=on", "rate=1.5G". The side is near unless said; a knob of the whole host
// goes to host whatever was said. Name and value come back in canonical form; the error is one line.
func ParseSetting(text string) (Setting, error) {
	if len(text) > maxSetting {
		return Setting{}, fmt.Errorf("a setting has at most %d characters, not %d", maxSetting, len(text))
	}
	typed, value, ok := strings.Cut(text, "=")
	if !ok {
		return Setting{}, fmt.Errorf("%.40q has no value: write knob=value, such as gro=on", text)
	}
	side, typed, err := cutSide(typed)
	if err != nil {
		return Setting{}, err
	}
	k, err := Resolve(typed)
	if err != nil {
		return Setting{}, err
	}
	canonical, err := DomainOf(k.Name).Typed(value)
	if err != nil {
		if hint := ringMeant(k.Name, typed, value); hint != "" {
			return Setting{}, fmt.Errorf("%s", hint)
		}
		return Setting{}, fmt.Errorf("%s %w", typed, err)
	}
	if doc, ok := Lookup(k.Name); ok && doc.HostWide() {
		side = Host
	}
	return Setting{Side: side, Knob: k.Name, Value: canonical}, nil
}

// Canonical is [Domain.Canonical] of the knob with this canonical name.
func Canonical(name, text string) (string, error) { return DomainOf(name).Canonical(text) }

func cutSide(typed string) (Side, string, error) {
	before, rest, ok := strings.Cut(typed, ":")
	if !ok {
		return Near, typed, nil
	}
	switch s := Side(before); s {
	case Near, Far, Host:
		return s, rest, nil
	}
	return "", "", fmt.Errorf("no side is called %.20q: near, far or host", before)
}

// ringMeant answers people who mean the ring size: ethtool -G has rx and tx too, and takes numbers there.
func ringMeant(name, typed, value string) string {
	means := map[string]string{"feature.rx-checksum": "receive", "feature.tx": "send"}[name]
	if means == "" || (typed != "rx" && typed != "tx") {
		return ""
	}
	if _, err := ParseNumber(value, 1024); err != nil {
		return ""
	}
	return fmt.Sprintf("%s means %s checksum and takes on or off; did you mean ring.%s=%s?", typed, means, typed, value)
}
