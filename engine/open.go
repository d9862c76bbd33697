package engine

import (
	"context"
	"fmt"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/dialect/native"
)

// open reaches the peer at addr in its dialect.
func open(ctx context.Context, addr string, o Options, h dialect.Hooks) (dialect.Session, error) {
	switch o.Dialect {
	case native.Name, "":
		return native.NewDriver(ctx, addr, native.Options{Bind: o.Bind, Key: o.Key}, h)
	}
	return nil, fmt.Errorf("dialect %q: native, iperf3 or iperf2", o.Dialect)
}
