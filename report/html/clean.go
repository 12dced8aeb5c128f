package html

import (
	"reflect"
	"strings"

	"github.com/herdscan/herdscan/report"
)

// cleaned copies the document with every text made safe to show, so that no
// template has to remember it. Documents hold cleaned text already; one that
// was built elsewhere may not. Line ends and tabs stay: in a page they are
// white space.
func cleaned(d *report.Document) *report.Document {
	return copyClean(reflect.ValueOf(d)).Interface().(*report.Document)
}

func copyClean(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		out := reflect.New(v.Type()).Elem()
		out.SetString(cleanLines(v.String()))
		return out
	case reflect.Pointer:
		if v.IsNil() || !holdsText(v.Type().Elem()) {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(copyClean(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() || !holdsText(v.Type().Elem()) {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copyClean(v.Index(i)))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && holdsText(v.Field(i).Type()) {
				out.Field(i).Set(copyClean(v.Field(i)))
			}
		}
		return out
	default:
		return v
	}
}

// holdsText reports whether a value of the type can hold text. A struct counts
// as one that does, so that only plain numbers are shared with the original.
func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Struct:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsText(t.Elem())
	default:
		return false
	}
}

// textSize is how many bytes of text a value holds.
func textSize(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			return textSize(v.Elem())
		}
	case reflect.Slice:
		if holdsText(v.Type().Elem()) {
			for i := range v.Len() {
				n += textSize(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += textSize(v.Field(i))
			}
		}
	default:
	}
	return n
}

func cleanLines(text string) string {
	if !strings.ContainsAny(text, "\n\t") {
		return report.Clean(text)
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		parts := strings.Split(lines[i], "\t")
		for j := range parts {
			parts[j] = report.Clean(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}
