'use strict';
// Values under the cursor, zoom and CSV. The page is complete without this script.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const { starts, ends } = data;
  const length = data.end - data.start, WIDTH = 2000;
  for (const group of data.groups) {
    group.verdict = [];
    for (const run of group.verdicts.split(',')) {
      const [word, count] = run.split('*');
      for (let n = 0; n < Number(count || 0); n++) group.verdict.push(word);
    }
  }

  // Numbers as the program prints them: three digits that matter.
  const digits = (value, unit) => value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + unit;
  const number = (value) => {
    if (value === 0) return '0';
    if (value < 99999.5) return digits(value, '').replace(/\B(?=(\d{3})+$)/g, ',');
    return value < 999500 ? (value / 1e3).toFixed(0) + 'k' : digits(value / 1e6, 'M');
  };
  const formats = {
    ms: (v) => v === 0 ? '0 ms' : v < 0.9995 ? Math.max(v * 1e3, 1).toFixed(0) + ' µs' : v < 999.5 ? digits(v, ' ms') : digits(v / 1e3, ' s'),
    rate: (v) => number(v) + '/s',
    mib: (v) => number(v / 1024) + ' MiB/s',
    count: number,
    pct: (v) => (v === 0 ? '0' : v < 9.95 ? v.toFixed(1) : v.toFixed(0)) + '%',
    x: (v) => v.toFixed(v < 99.95 ? 1 : 0) + 'x',
    kib: (v) => number(v) + ' KiB',
  };

  const pad = (n) => String(n).padStart(2, '0');
  const offsetAt = (seconds) => data.offsets.reduce((found, [from, offset]) => (from <= seconds ? offset : found), data.offsets[0][1]);
  const clock = (seconds, decimals) => {
    if (!data.wall) {
      const rest = pad(Math.floor(seconds % 60)) + (decimals ? (seconds % 1).toFixed(decimals).slice(1) : '');
      const hours = Math.floor(seconds / 3600);
      return '+' + (hours ? hours + ':' + pad(Math.floor(seconds / 60) % 60) : Math.floor(seconds / 60)) + ':' + rest;
    }
    return new Date((seconds + offsetAt(seconds)) * 1000).toISOString().slice(11, decimals ? 20 + decimals : 19);
  };

  // The part of the time that is shown, and the point under the cursor; null for none.
  let from = data.start, to = data.end, point = null;
  const plots = [...document.querySelectorAll('.plot.time')];
  const STEPS = [.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600];
  const firstLabels = [...document.querySelectorAll('.xs')].map((axis) => [axis, axis.innerHTML, axis.closest('.panel')]);
  const timeAxes = firstLabels.filter(([axis, , panel]) => !panel || panel.querySelector('.plot.time'));
  const grid = document.getElementById('hours'), firstGrid = grid.getAttribute('d');
  const now = document.createElement('div');
  now.id = 'now';
  const nowText = document.createElement('span'), reset = document.createElement('button');
  reset.textContent = 'Show everything (Esc)';
  reset.addEventListener('click', () => zoom(data.start, data.end));
  now.append(nowText, reset);
  document.body.append(now);

  const cursors = plots.map((plot) => {
    const cursor = document.createElement('div');
    cursor.className = 'cursor';
    cursor.hidden = true;
    plot.append(cursor);
    return cursor;
  });
  const outputs = [...document.querySelectorAll('.key[data-k]')].map((key) => {
    const group = data.groups[Number(key.closest('[data-g]').dataset.g)];
    return { element: key.querySelector('output'), series: group.series[key.dataset.k], format: formats[key.closest('.panel').dataset.u] };
  }).filter((output) => output.series);

  const place = (seconds) => (seconds - from) / (to - from);
  const isZoomed = () => from > data.start || to < data.end;

  function show() {
    const middle = point === null ? null : (starts[point] + ends[point]) / 2 + data.start;
    const left = middle === null ? -1 : place(middle);
    for (const cursor of cursors) {
      cursor.hidden = left < 0 || left > 1;
      cursor.style.left = left * 100 + '%';
    }
    for (const { element, series, format } of outputs) {
      const at = (part) => (point === null || !series[part] ? null : series[part][point] ?? null);
      const mean = at('mean'), min = at('min'), max = at('max');
      element.textContent = mean === null ? '' : min === null || min === max ? format(mean) : `${format(mean)} (${format(min)} to ${format(max)})`;
    }
    nowText.textContent = middle === null
      ? `${clock(from)} to ${clock(to)}`
      : `${clock(data.start + starts[point])} to ${clock(data.start + ends[point])}`;
    reset.hidden = !isZoomed();
    now.style.display = middle === null && !isZoomed() ? 'none' : 'block';
  }

  function zoom(start, end) {
    const shortest = Math.min(length, Math.max(...starts.slice(0, 50).map((s, n) => ends[n] - s)) * 3);
    if (end - start < shortest) {
      const middle = (start + end) / 2;
      [start, end] = [middle - shortest / 2, middle + shortest / 2];
    }
    from = Math.max(data.start, Math.min(start, data.end - shortest));
    to = Math.min(data.end, Math.max(end, from + shortest));
    const x = (from - data.start) / length * WIDTH, width = (to - from) / length * WIDTH;
    for (const plot of plots) plot.querySelector('svg').setAttribute('viewBox', `${x} 0 ${width} 240`);
    for (const inner of document.querySelectorAll('.band .inner')) {
      inner.style.width = 100 * length / (to - from) + '%';
      inner.style.left = -100 * (from - data.start) / (to - from) + '%';
    }
    labelAxes();
    show();
  }

  function labelAxes() {
    if (!isZoomed()) {
      for (const [axis, html] of timeAxes) axis.innerHTML = html;
      grid.setAttribute('d', firstGrid);
      return;
    }
    const step = STEPS.find((step) => (to - from) / step <= 6) || Math.ceil((to - from) / 6 / 86400) * 86400;
    const offset = data.wall ? offsetAt(from) : 0;
    const ticks = [];
    for (let n = Math.ceil((from + offset) / step - 1e-9); n * step - offset <= to; n++) ticks.push(n * step - offset);
    for (const [axis] of timeAxes) {
      axis.replaceChildren(...ticks.map((tick) => {
        const label = document.createElement('i');
        const left = place(tick) * 100;
        label.style.left = left + '%';
        label.className = left < 3 ? 'first' : left >= 95 ? 'last' : '';
        label.textContent = step < 1 ? clock(tick, step < .1 ? 2 : 1) : clock(tick).slice(0, data.wall && step >= 60 ? 5 : undefined);
        return label;
      }));
    }
    grid.setAttribute('d', ticks.map((tick) => `M${((tick - data.start) / length * WIDTH).toFixed(2)} 0v240`).join(''));
  }

  // The point at a time, or the nearest one.
  function pointAt(seconds) {
    let low = 0, high = starts.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (data.start + ends[middle] < seconds) low = middle + 1; else high = middle;
    }
    return low;
  }
  const timeAt = (plot, event) => {
    const box = plot.getBoundingClientRect();
    return from + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (to - from);
  };
  function move(next) {
    point = Math.min(starts.length - 1, Math.max(0, next));
    const middle = (starts[point] + ends[point]) / 2 + data.start;
    if (middle < from || middle > to) zoom(middle - (to - from) / 2, middle + (to - from) / 2); else show();
  }

  for (const plot of plots) {
    let begin = null, drag = null;
    plot.tabIndex = 0;
    plot.addEventListener('pointermove', (event) => {
      point = pointAt(timeAt(plot, event));
      if (drag) {
        const [a, b] = [place(begin), place(timeAt(plot, event))].sort((a, b) => a - b);
        drag.style.left = a * 100 + '%';
        drag.style.width = (b - a) * 100 + '%';
      }
      show();
    });
    plot.addEventListener('pointerleave', () => { if (!drag) { point = null; show(); } });
    plot.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      begin = timeAt(plot, event);
      drag = document.createElement('div');
      drag.className = 'drag';
      plot.append(drag);
      plot.setPointerCapture(event.pointerId);
    });
    const finish = (event, isDone) => {
      if (!drag) return;
      drag.remove();
      drag = null;
      const [a, b] = [begin, timeAt(plot, event)].sort((a, b) => a - b);
      if (isDone && b - a > (to - from) * 0.01) zoom(a, b);
    };
    plot.addEventListener('pointerup', (event) => finish(event, true));
    plot.addEventListener('pointercancel', (event) => finish(event, false));
    plot.addEventListener('dblclick', () => zoom(data.start, data.end));
    plot.addEventListener('keydown', (event) => {
      const by = event.shiftKey ? 10 : 1, at = point ?? pointAt((from + to) / 2), middle = (starts[at] + ends[at]) / 2 + data.start;
      const keys = {
        ArrowLeft: () => move(at - by), ArrowRight: () => move(at + by), Home: () => move(0), End: () => move(starts.length - 1),
        '+': () => zoom(middle - (to - from) / 4, middle + (to - from) / 4), '-': () => zoom(middle - (to - from), middle + (to - from)),
      };
      if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        keys[event.key]();
      }
    });
    plot.addEventListener('focus', () => { if (plot.matches(':focus-visible')) move(point ?? pointAt((from + to) / 2)); });
    plot.addEventListener('blur', () => { point = null; show(); });
  }
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { point = null; zoom(data.start, data.end); }
  });

  // A click on an event shows its time with some of that before and after it.
  for (const link of document.querySelectorAll('tr[data-from] a')) {
    link.addEventListener('click', () => {
      const { from: begin, to: end } = link.closest('tr').dataset, around = Math.max(10, (end - begin) / 2);
      zoom(Number(begin) - around, Number(end) + around);
    });
  }

  function csv(group) {
    const cell = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
    const columns = Object.entries(group.series).flatMap(([key, series]) =>
      series.min ? [[key + '_min', series.min], [key, series.mean], [key + '_max', series.max]] : [[key, series.mean]]);
    const time = (seconds) => (data.wall ? new Date((data.start + seconds) * 1000).toISOString() : String(data.start + seconds));
    const lines = [['start', 'end', ...(group.verdict.length ? ['verdict'] : []), ...columns.map(([key]) => key)]];
    starts.forEach((start, n) => lines.push([
      time(start), time(ends[n]), ...(group.verdict.length ? [(group.verdict[n] || '')] : []), ...columns.map(([, values]) => String(values[n] ?? '')),
    ]));
    return lines.map((line) => line.map(cell).join(',') + '\n').join('');
  }
  for (const button of document.querySelectorAll('button.csv')) {
    button.addEventListener('click', () => {
      const group = data.groups[Number(button.dataset.g)], link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([csv(group)], { type: 'text/csv' }));
      link.download = `blkstat-${group.name.replace(/[^A-Za-z0-9._-]/g, '_')}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }
  // What is folded is printed, too.
  addEventListener('beforeprint', () => document.querySelectorAll('details.more').forEach((more) => { more.open = true; }));
  document.documentElement.classList.add('js');
})();
