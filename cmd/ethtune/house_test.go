package main

import (
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ethtune/ethtune"

// source is one Go file of the house.
type source struct {
	file    string // relative to the root, slashes
	dir     string
	test    bool
	doc     string // package comment
	imports []string
	body    []byte
}

func house(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() && rel != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		body, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, body, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{file: filepath.ToSlash(rel), test: strings.HasSuffix(p, "_test.go"), body: body}
		s.dir = path.Dir(s.file)
		if f.Doc != nil {
			s.doc = f.Doc.Text()
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, name)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("found %d Go files; is this the house?", len(out))
	}
	return out
}

// under says whether dir is one of roots or below it; "=root" is that room alone.
func under(dir string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool {
		if alone, ok := strings.CutPrefix(r, "="); ok {
			return dir == alone
		}
		return dir == r || strings.HasPrefix(dir, r+"/")
	})
}

// allowed says whether a file in room dir may import ours, a room of this module.
func allowed(dir, ours string) bool {
	switch {
	case under(ours, "cmd"):
		return false // nobody imports the door
	case under(dir, "cmd"):
		return true
	case under(dir, "assets"):
		return false
	case under(dir, "engine"):
		return under(ours, "engine")
	case under(dir, "tui/chart", "tui/term"):
		return under(ours, dir, "tui/chart")
	case under(dir, "tui/pane"):
		return under(ours, "tui/pane", "tui/chart", "tune/knob", "tune/trial", "tune/advise", "engine/metric")
	case under(dir, "tui"):
		return under(ours, "tui", "tune/knob", "tune/trial", "tune/advise", "engine/metric") || ours == "tune/rig"
	case under(dir, "tune/knob", "tune/trial", "tune/advise"):
		return under(ours, dir, "tune/knob", "engine/metric", "assets")
	case under(dir, "tune"):
		return under(ours, "tune", "engine", "assets")
	}
	return false
}

// libraries lists which rooms may import a library; the longest prefix that fits decides.
var libraries = map[string][]string{
	"charm.land":               {"tui", "cmd"},
	"github.com/NimbleMarkets": {"tui", "cmd"},
	"github.com/mdlayher":      {"engine/nic"},
	"github.com/safchain":      {"engine/nic"},
	"github.com/vishvananda":   {"engine", "tune"},
	"github.com/spf13/cobra":   {"cmd"},
	"github.com/spf13/pflag":   {"cmd"},
	"golang.org/x/sys/unix":    {"=tune", "engine/nic", "engine/internal", "tune/internal/kernel", "tune/rig", "tui/term"},
	"github.com/charmbracelet": {"tui", "cmd"},
	"github.com/creack/pty":    {"tui", "cmd"},
}

// TestWalls keeps the arrows of the house pointing down and each library in its rooms.
func TestWalls(t *testing.T) {
	for _, s := range house(t) {
		for _, imp := range s.imports {
			if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
				if !allowed(s.dir, ours) {
					t.Errorf("%s: %s must not import %s", s.file, s.dir, ours)
				}
				continue
			}
			if s.test {
				continue // a test may bring its own instruments
			}
			first, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(first, ".") {
				continue // the standard library
			}
			best := ""
			for lib := range libraries {
				if (imp == lib || strings.HasPrefix(imp, strings.TrimSuffix(lib, "/")+"/")) && len(lib) > len(best) {
					best = lib
				}
			}
			if best == "" || !under(s.dir, libraries[best]...) {
				t.Errorf("%s: %s must not import %s", s.file, s.dir, imp)
			}
		}
	}
}

// TestWallsHold proves that the wall test can fail.
func TestWallsHold(t *testing.T) {
	for _, c := range [][2]string{
		{"engine", "tune/knob"}, {"engine/metric", "tui"}, {"tui", "engine"}, {"tui", "tune/rig/lab"},
		{"tui/pane", "tune/rig"}, {"tui/chart", "engine/metric"}, {"tune/knob", "tune/rig"}, {"tune", "cmd/ethtune"},
		{"assets", "engine/metric"}, {"tui", "engine/nic"},
	} {
		if allowed(c[0], c[1]) {
			t.Errorf("%s may import %s", c[0], c[1])
		}
	}
}

// TestPackageDocs wants each package to say in its first sentence what the room is for.
func TestPackageDocs(t *testing.T) {
	docs := make(map[string]string)
	for _, s := range house(t) {
		if !s.test {
			docs[s.dir] += s.doc
		}
	}
	for dir, doc := range docs {
		if !strings.HasPrefix(doc, "Package ") && !strings.HasPrefix(doc, "Command ") {
			t.Errorf("%s has no package doc", dir)
		}
	}
}

// TestFormat keeps gofmt in the test suite.
func TestFormat(t *testing.T) {
	for _, s := range house(t) {
		want, err := format.Source(s.body)
		if err != nil {
			t.Fatalf("%s: %v", s.file, err)
		}
		if string(want) != string(s.body) {
			t.Errorf("%s is not gofmt'ed", s.file)
		}
	}
}
