// Makes the charts answer: values at the pointer, a range brushed with the
// mouse, a finger or the keyboard. Without it the page shows the same charts,
// still. Text is only ever written as text.
(function () {
  'use strict';

  var SVG = 'http://www.w3.org/2000/svg';
  var DAY = 86400000;
  var STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5,
    36e5, 72e5, 108e5, 216e5, 432e5, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 365 * DAY];
  var HEADROOM = 14;

  function el(name, attrs, text) {
    var e = document.createElementNS(SVG, name);
    for (var k in attrs) e.setAttribute(k, attrs[k]);
    if (text !== undefined) e.textContent = text;
    return e;
  }
  function div(cls, text) {
    var e = document.createElement('div');
    e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  }
  function empty(e) { while (e.firstChild) e.removeChild(e.firstChild); return e; }
  function pad(n, width) { return String(n).padStart(width || 2, '0'); }

  // Numbers as the report writes them: whole from 10 on, else two figures.
  function num(x) {
    if (x >= 9.95) return Math.round(x).toLocaleString('en-US');
    if (x === 0) return '0';
    if (x < 0.095) return String(Number(x.toPrecision(1)));
    return String(Number(x.toFixed(1)));
  }
  function count(x, unit) {
    if (x === 1 && /^[a-z]+s$/.test(unit)) unit = unit === 'queries' ? 'query' : unit.slice(0, -1);
    return num(x) + ' ' + unit;
  }
  function plain(x) { return String(Number(x.toFixed(2))); }
  function spanText(ms) {
    if (ms >= 2 * DAY) return plain(ms / DAY) + 'd';
    if (ms >= 72e5) return plain(ms / 36e5) + 'h';
    if (ms >= 12e4) return plain(ms / 6e4) + 'm';
    if (ms >= 1e3) return plain(ms / 1e3) + 's';
    return plain(ms) + 'ms';
  }
  function signed(ms) {
    if (Math.abs(ms) < 0.5) return '0';
    return (ms < 0 ? '−' : '+') + spanText(Math.abs(ms));
  }

  function Chart(figure) {
    var data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    var plots = figure.querySelector('.plots');
    var tip = figure.querySelector('.tip');
    var svgs = Array.from(figure.querySelectorAll('.plot'));
    var ticks = figure.querySelector('.ticks');
    var view = { from: 0, to: data.span };
    var cursor = div('cursor'), brush = div('brush');
    var at = null;      // where the cursor is, in ms from the start
    var pressed = null; // where a brush began
    var smallest = data.span;
    var keyed = figure.classList.contains('keyed');
    var showAll = figure.querySelector('[data-do="reset"]');

    data.rows.forEach(function (row) {
      row.lanes.forEach(function (lane) {
        for (var i = 1; i < lane.at.length; i++) lane.at[i] += lane.at[i - 1];
        smallest = Math.min(smallest, lane.step);
      });
    });
    var narrowest = Math.min(data.span, Math.max(smallest * 5, data.span / 1e6));

    function width() { return Math.max(svgs[0].getBoundingClientRect().width, 1); }
    function zoomed() { return view.from > 0 || view.to < data.span; }

    // first is the index of the first value whose step ends after t.
    function first(lane, t) {
      var lo = 0, hi = lane.at.length;
      while (lo < hi) {
        var mid = (lo + hi) >> 1;
        if ((lane.at[mid] + 1) * lane.step <= t) lo = mid + 1; else hi = mid;
      }
      return lo;
    }

    // bars reduces what is in view to columns, one a pixel, by maximum.
    function bars(lane, w) {
      var out = [], scale = w / (view.to - view.from), last;
      for (var i = first(lane, view.from); i < lane.at.length; i++) {
        var t = lane.at[i] * lane.step;
        if (t >= view.to) break;
        var a = (t - view.from) * scale, b = a + lane.step * scale;
        if (lane.step * scale < 1) { a = Math.floor(a); b = a + 1; }
        a = Math.max(a, 0); b = Math.min(b, w);
        if (last && last.a === a) { last.n = Math.max(last.n, lane.n[i]); continue; }
        last = { a: a, b: b, n: lane.n[i] };
        out.push(last);
      }
      return out;
    }

    function path(list, peak, height) {
      if (!(peak > 0)) return '';
      var d = '', end = -1;
      list.forEach(function (s) {
        if (Math.abs(s.a - end) > 0.01) d += (d ? 'V' + height : '') + 'M' + plain(s.a) + ' ' + height;
        d += 'V' + plain(height - s.n / peak * (height - HEADROOM)) + 'H' + plain(s.b);
        end = s.b;
      });
      return d ? d + 'V' + height : '';
    }

    function levels(peak, height) {
      if (!(peak > 0)) return [];
      var all = [peak], step = Math.pow(10, Math.floor(Math.log10(peak)));
      if (height < 100) return all;
      var f = [0.25, 0.5, 1, 2, 2.5].find(function (f) { return peak / (step * f) <= 4.5; });
      for (var n = step * f; n < peak * 0.85; n += step * f) all.push(n);
      return all;
    }

    function drawRow(svg, row, w) {
      var drawn = row.lanes.map(function (lane) { return lane.kind === 'events' ? [] : bars(lane, w); });
      var peak = 0;
      drawn.forEach(function (list) { list.forEach(function (s) { peak = Math.max(peak, s.n); }); });
      var area = svg.querySelector('.area');
      area.setAttribute('viewBox', '0 0 ' + w + ' ' + row.height);
      var paths = area.querySelectorAll('path'), next = 0;
      row.lanes.forEach(function (lane, i) {
        if (lane.kind !== 'events') paths[next++].setAttribute('d', path(drawn[i], peak, row.height));
      });
      var grid = empty(svg.querySelector('.grid')), text = empty(svg.querySelector('.levels'));
      levels(peak, row.height).forEach(function (n) {
        var y = row.height - n / peak * (row.height - HEADROOM);
        grid.appendChild(el('line', { x1: 0, x2: '100%', y1: y, y2: y }));
        text.appendChild(el('text', { x: keyed ? '100%' : 4, y: y - 3 }, num(n)));
      });
    }

    function drawMarks(svg, row) {
      var g = empty(svg.querySelector('.marks')), end = -1e9, w = width();
      data.rows.forEach(function (r) {
        r.lanes.forEach(function (lane) {
          if (lane.kind !== 'events') return;
          lane.at.forEach(function (a, i) {
            var x = (a * lane.step - view.from) / (view.to - view.from) * w;
            if (x < 0 || x > w) return;
            g.appendChild(el('line', { x1: x, x2: x, y1: 0, y2: '100%' }));
            var label = (lane.text && lane.text[i]) || lane.name;
            if (label.length > 22) label = label.slice(0, 21) + '…';
            if (r !== row || x - end < label.length * 7 + 12) return;
            var right = x > w * 0.75;
            g.appendChild(el('text', { x: right ? x - 6 : x + 6, y: 34, 'text-anchor': right ? 'end' : 'start' }, label));
            end = x;
          });
        });
      });
    }

    function offsetAt(ms) {
      var o = { s: 0, name: 'UTC' };
      (data.offsets || []).forEach(function (c) { if (c.at <= ms || o.name === 'UTC') o = c; });
      return o;
    }
    function parts(ms) {
      var o = offsetAt(ms), d = new Date(ms + o.s * 1000);
      return { date: d.getUTCFullYear() + '-' + pad(d.getUTCMonth() + 1) + '-' + pad(d.getUTCDate()), day: pad(d.getUTCMonth() + 1) + '-' + pad(d.getUTCDate()),
        time: pad(d.getUTCHours()) + ':' + pad(d.getUTCMinutes()) + ':' + pad(d.getUTCSeconds()), name: o.name, s: o.s };
    }
    function clockText(t) {
      var p = parts(data.from + t);
      return p.date + ' ' + p.time + ' ' + p.name;
    }
    function whenText(t) {
      if (data.axis === 'offset') return signed(t - data.span / 2) + ' from the onset';
      if (data.axis === 'ahead') return '+' + spanText(t) + (data.from ? ' · ' + clockText(t) : ' from the onset');
      return clockText(t);
    }
    // otherClock is UTC for a local axis, and the reader's own time for UTC.
    function otherClock(t) {
      if (data.axis !== 'clock') return '';
      var ms = data.from + t, d = new Date(ms);
      if (offsetAt(ms).s !== 0) return d.toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
      if (d.getTimezoneOffset() === 0) return '';
      return pad(d.getHours()) + ':' + pad(d.getMinutes()) + ':' + pad(d.getSeconds()) + ' your time';
    }
    function tickText(t, step) {
      if (data.axis === 'offset') return signed(t - data.span / 2);
      if (data.axis === 'ahead') return t === 0 ? (data.from ? 'now' : '0') : '+' + spanText(t);
      var p = parts(data.from + t);
      if (step >= DAY || (p.time === '00:00:00' && view.to - view.from > DAY / 2)) return p.day;
      if (step >= 6e4) return p.time.slice(0, 5);
      if (step >= 1e3) return p.time;
      return p.time + '.' + pad((data.from + t) % 1000, 3);
    }

    function drawTicks(w) {
      var span = view.to - view.from, most = Math.max(3, Math.min(10, Math.floor(w / 75)));
      var step = STEPS.find(function (s) { return span <= s * most; }) || Math.ceil(span / DAY / most) * DAY;
      var origin = data.axis === 'offset' ? -data.span / 2 : data.axis === 'clock' ? data.from + offsetAt(data.from).s * 1000 : 0;
      empty(ticks);
      for (var t = Math.ceil((origin + view.from) / step) * step - origin; t <= view.to; t += step) {
        var x = (t - view.from) / span * 100;
        ticks.appendChild(el('line', { x1: x + '%', x2: x + '%', y1: 0, y2: 5 }));
        ticks.appendChild(el('text', { x: x + '%', y: 19, 'text-anchor': x < 5 ? 'start' : x > 95 ? 'end' : 'middle' }, tickText(t, step)));
      }
    }

    function draw() {
      var w = Math.round(width());
      svgs.forEach(function (svg, i) { drawRow(svg, data.rows[i], w); drawMarks(svg, data.rows[i]); });
      drawTicks(w);
      if (showAll) showAll.disabled = !zoomed();
      figure.dataset.from = view.from;
      figure.dataset.to = view.to;
    }

    function show(from, to) {
      var span = Math.min(Math.max(to - from, narrowest), data.span);
      var mid = (from + to) / 2;
      from = Math.min(Math.max(mid - span / 2, 0), data.span - span);
      view = { from: from, to: from + span };
      draw();
    }
    function zoom(factor) {
      var span = (view.to - view.from) * factor;
      var mid = at !== null && at >= view.from && at <= view.to ? at : (view.from + view.to) / 2;
      var share = (mid - view.from) / (view.to - view.from);
      show(mid - span * share, mid + span * (1 - share));
      if (at !== null) look(at);
    }
    function pan(share) {
      var d = (view.to - view.from) * share;
      d = Math.max(-view.from, Math.min(d, data.span - view.to));
      show(view.from + d, view.to + d);
      if (at !== null) look(at + d);
    }
    function reset() { show(0, data.span); look(null); }

    function place(e, x, w) {
      var box = plots.getBoundingClientRect(), plot = svgs[0].getBoundingClientRect();
      e.style.left = (plot.left - box.left + x) + 'px';
      if (w !== undefined) e.style.width = w + 'px';
    }

    // nearest is the largest value within three pixels of t.
    function nearest(lane, t) {
      var reach = 3 * (view.to - view.from) / width(), best = -1;
      for (var i = first(lane, t - reach); i < lane.at.length && lane.at[i] * lane.step <= t + reach; i++) {
        if (best < 0 || lane.n[i] > lane.n[best]) best = i;
      }
      return best;
    }

    function tipRow(name, value) {
      var r = div('row');
      [name, value].forEach(function (text) {
        var s = document.createElement('span');
        s.textContent = text;
        r.appendChild(s);
      });
      tip.appendChild(r);
    }

    // look puts the cursor at t and says what is there.
    function look(t) {
      at = t;
      if (t === null) { tip.hidden = true; cursor.remove(); return; }
      at = t = Math.min(Math.max(t, view.from), view.to);
      var x = (t - view.from) / (view.to - view.from) * width();
      plots.appendChild(cursor);
      place(cursor, x);
      empty(tip);
      var head = document.createElement('b');
      head.textContent = whenText(t);
      tip.appendChild(head);
      var other = otherClock(t);
      if (other) tip.appendChild(div('utc', other));
      data.rows.forEach(function (row) {
        row.lanes.forEach(function (lane) {
          var i = nearest(lane, t);
          if (lane.kind === 'events') {
            if (i >= 0) tipRow((lane.text && lane.text[i]) || lane.name, parts(data.from + lane.at[i] * lane.step).time);
            return;
          }
          var value = i < 0 ? '0' : count(lane.n[i], lane.unit);
          if (i >= 0 && data.axis === 'clock') value += ' at ' + parts(data.from + lane.at[i] * lane.step).time;
          if (i >= 0 && data.axis !== 'clock') value += ' at ' + (data.axis === 'offset' ? signed(lane.at[i] * lane.step - data.span / 2) : '+' + spanText(lane.at[i] * lane.step));
          tipRow(lane.name, value);
        });
      });
      tip.hidden = false;
      var box = figure.getBoundingClientRect(), plot = svgs[0].getBoundingClientRect();
      var left = plot.left - box.left + x + 14, size = tip.getBoundingClientRect();
      if (left + size.width > box.width - 8) left = plot.left - box.left + x - size.width - 14;
      tip.style.left = Math.max(left, 6) + 'px';
      tip.style.top = (plots.getBoundingClientRect().top - box.top - Math.min(size.height + 8, 0) + 6) + 'px';
    }

    function timeAt(event) {
      var r = svgs[0].getBoundingClientRect();
      return view.from + Math.min(Math.max((event.clientX - r.left) / r.width, 0), 1) * (view.to - view.from);
    }
    function inPlot(event) {
      var r = svgs[0].getBoundingClientRect();
      return event.clientX >= r.left - 4 && event.clientX <= r.right + 4;
    }

    plots.addEventListener('pointerdown', function (e) {
      if (e.button !== 0 || !inPlot(e)) return;
      pressed = timeAt(e);
      plots.setPointerCapture(e.pointerId);
    });
    plots.addEventListener('pointermove', function (e) {
      if (pressed === null && !inPlot(e)) { look(null); return; }
      var t = timeAt(e);
      look(t);
      if (pressed === null) return;
      var scale = width() / (view.to - view.from), a = Math.min(pressed, t), b = Math.max(pressed, t);
      plots.appendChild(brush);
      place(brush, (a - view.from) * scale, (b - a) * scale);
    });
    function release(e) {
      if (pressed === null) return;
      var t = timeAt(e), a = Math.min(pressed, t), b = Math.max(pressed, t);
      pressed = null;
      brush.remove();
      if (e.type === 'pointerup' && (b - a) * width() / (view.to - view.from) > 6) { show(a, b); look(null); }
    }
    plots.addEventListener('pointerup', release);
    plots.addEventListener('pointercancel', release);
    plots.addEventListener('pointerleave', function () { if (pressed === null) look(null); });
    plots.addEventListener('dblclick', reset);
    plots.addEventListener('blur', function () { look(null); });

    function move(pixels) {
      var d = (view.to - view.from) * pixels / width();
      look((at === null ? (view.from + view.to) / 2 - d : at) + d);
    }
    var keys = {
      '+': function () { zoom(0.5); }, '=': function () { zoom(0.5); }, '-': function () { zoom(2); }, '_': function () { zoom(2); },
      '0': reset, 'Escape': reset,
      'Home': function () { look(view.from); }, 'End': function () { look(view.to); }
    };
    plots.addEventListener('keydown', function (e) {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      var side = e.key === 'ArrowLeft' ? -1 : e.key === 'ArrowRight' ? 1 : 0;
      if (side && e.shiftKey) pan(side * 0.25);
      else if (side) move(side * 8);
      else if (keys[e.key]) keys[e.key]();
      else return;
      e.preventDefault();
    });
    var actions = { 'in': function () { zoom(0.5); }, out: function () { zoom(2); }, left: function () { pan(-0.5); }, right: function () { pan(0.5); }, reset: reset };
    figure.querySelectorAll('[data-do]').forEach(function (b) {
      b.addEventListener('click', function () { actions[b.dataset.do](); });
    });

    plots.tabIndex = 0;
    plots.setAttribute('role', 'application');
    plots.setAttribute('aria-roledescription', 'chart');
    plots.setAttribute('aria-label', plots.getAttribute('aria-label') + ' Arrow keys read values, shift and arrow keys move, plus and minus zoom, 0 shows all.');
    return { draw: draw };
  }

  // Charts are drawn when they come near the screen, and anew when they get
  // another width.
  function watch(figures) {
    var charts = new Map();
    var sizes = new ResizeObserver(function (entries) {
      entries.forEach(function (e) { charts.get(e.target).draw(); });
    });
    var near = new IntersectionObserver(function (entries) {
      entries.forEach(function (e) {
        if (!e.isIntersecting || charts.has(e.target)) return;
        near.unobserve(e.target);
        charts.set(e.target, Chart(e.target));
        e.target.dataset.ready = 'yes';
        sizes.observe(e.target);
      });
    }, { rootMargin: '600px' });
    figures.forEach(function (f) { near.observe(f); });
  }

  function copyButtons() {
    document.querySelectorAll('.copy').forEach(function (b) {
      b.addEventListener('click', function () {
        var code = b.closest('.code').querySelector('code');
        function done(ok) {
          b.textContent = ok ? 'Copied' : 'Select and copy';
          setTimeout(function () { b.textContent = 'Copy'; }, 2000);
        }
        function bySelection() {
          var range = document.createRange(), s = getSelection();
          range.selectNodeContents(code);
          s.removeAllRanges();
          s.addRange(range);
          done(document.execCommand('copy'));
        }
        if (!navigator.clipboard) { bySelection(); return; }
        navigator.clipboard.writeText(code.textContent).then(function () { done(true); }, bySelection);
      });
    });
  }

  function filter() {
    var input = document.getElementById('filter');
    if (!input) return;
    var items = Array.from(document.querySelectorAll('.list .finding'));
    var texts = null;
    input.addEventListener('input', function () {
      texts = texts || items.map(function (f) { return f.textContent.toLowerCase(); });
      var want = input.value.trim().toLowerCase(), n = 0;
      items.forEach(function (f, i) {
        f.hidden = texts[i].indexOf(want) < 0;
        if (!f.hidden) n++;
      });
      document.getElementById('filtered').textContent = want ? n + ' of ' + items.length : '';
    });
    input.closest('.filter').hidden = items.length < 10;
  }

  // Times in the text say, when pointed at, what the reader's clock showed.
  function times() {
    document.addEventListener('pointerover', function (e) {
      var t = e.target.closest && e.target.closest('time[datetime]');
      if (!t || t.dataset.told) return;
      t.dataset.told = 'yes';
      var d = new Date(t.dateTime);
      if (isNaN(d)) return;
      var utc = d.toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
      t.title = d.getTimezoneOffset() === 0 ? utc : utc + ' · ' + d.toLocaleString() + ' your time';
    });
  }

  // A link to a finding opens it.
  function openTarget() {
    var t = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (t && t.tagName === 'DETAILS') t.open = true;
  }

  // Paper can't be opened: everything is, while it is printed.
  function printing() {
    var closed = [];
    addEventListener('beforeprint', function () {
      closed = Array.from(document.querySelectorAll('details:not([open])'));
      closed.forEach(function (d) { d.open = true; });
    });
    addEventListener('afterprint', function () { closed.forEach(function (d) { d.open = false; }); });
  }

  document.querySelectorAll('.script').forEach(function (e) { e.hidden = false; });
  watch(document.querySelectorAll('figure.chart'));
  copyButtons();
  filter();
  printing();
  times();
  addEventListener('hashchange', openTarget);
  openTarget();
})();
