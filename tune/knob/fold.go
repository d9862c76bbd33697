package knob

// Fold tells results as people made them: where every member of a group that moved at one side and interface moved the
// same way, the group stands for its members. Order is kept; a group takes the place of its first member.
func Fold(results []Result) []Result {
	out := make([]Result, 0, len(results))
	type group struct {
		Setting
		dev string
	}
	at := make(map[group]int) // of a folded group in out
	for _, r := range results {
		g, ok := GroupOf(r.Knob)
		if !ok || !alike(results, r, g.Members) {
			out = append(out, r)
			continue
		}
		key := group{Setting{r.Side, g.Key, r.Value}, r.Dev}
		if _, folded := at[key]; folded {
			continue
		}
		at[key] = len(out)
		r.Knob = g.Key
		out = append(out, r)
	}
	return out
}

// GroupOf is the group that turns name together with others, if there is one.
func GroupOf(name string) (Doc, bool) {
	for _, d := range catalogue().docs {
		for _, m := range d.Members {
			if m == name {
				return d, true
			}
		}
	}
	return Doc{}, false
}

// alike says whether more than one of members is in results at r's side and interface, and all of those moved as r did.
func alike(results []Result, r Result, members []string) bool {
	n := 0
	for _, o := range results {
		for _, m := range members {
			if o.Knob != m || o.Side != r.Side || o.Dev != r.Dev {
				continue
			}
			if o.Value != r.Value || o.From != r.From || o.Got != r.Got || o.Outcome != r.Outcome || o.Reason != r.Reason {
				return false
			}
			n++
		}
	}
	return n > 1
}

// FoldChanges leaves out the members of a group that is itself in the list.
func FoldChanges(changes []Change) []Change {
	var out []Change
	for _, c := range changes {
		if g, ok := GroupOf(c.Knob); ok && has(changes, g.Key) {
			continue
		}
		out = append(out, c)
	}
	return out
}

func has(changes []Change, name string) bool {
	for _, c := range changes {
		if c.Knob == name {
			return true
		}
	}
	return false
}
