package pane

import "github.com/ethtune/ethtune/tui/chart"

// Confirm asks whether to do what somebody else will feel. The default, and what no answer means, is not to.
type Confirm struct {
	ask  Ask
	open bool
}

// Ask opens the question.
func (c *Confirm) Ask(a Ask) { c.ask, c.open = a, true }

// Open reports whether keys are answers now.
func (c *Confirm) Open() bool { return c.open }

// About is the guest that an open question is about; 0 = none.
func (c *Confirm) About() int {
	if !c.open {
		return 0
	}
	return c.ask.About
}

// Close takes the question back.
func (c *Confirm) Close() { c.open = false }

// Type takes a key while the question is open.
func (c *Confirm) Type(name string) Intent {
	switch name {
	case "y":
		c.open = false
		return c.ask.Do
	case "n", "esc", "enter":
		c.open = false
	}
	return nil
}

// Draw paints the question into r: a box, and no box where there is no room for one.
func (c *Confirm) Draw(b Brush, r Rect) {
	if r.Empty() {
		return
	}
	if r.H <= boxLeast {
		if r.H > 1 {
			b.Text(r.X, r.Y, r.W, b.brief(c.ask.Title, r.W), chart.Bold)
		}
		c.drawAnswers(b, r.Row(r.H-1))
		return
	}
	air := 0
	if r.H >= boxFull+1 {
		air = 1
	}
	r.H = boxLeast + 2*air + 1
	drawBox(b, r, c.ask.Title, c.ask.Fact)
	inner := Rect{r.X + 3, r.Y + 1 + air, r.W - 6, 1}
	b.Line(inner, Span{b.brief(c.ask.Text, inner.W), chart.Ink}, Span{c.ask.More, chart.Ink})
	c.drawAnswers(b, inner.Row(1+air))
}

func (c *Confirm) drawAnswers(b Brush, r Rect) {
	b.Line(r, Span{"y", chart.Bold}, Span{" " + c.ask.Yes + "  ", chart.Ink}, Span{"n " + c.ask.No, chart.Reverse},
		Span{"  No answer means " + c.ask.No + ".", chart.Ink})
}
