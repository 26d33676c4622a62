// Draws the charts of a report, sorts its table and switches its colours. Everything that is said in words or
// numbers is in the page already; this file only adds pictures. Data: what chart_json (reports/files/json/chart_json.cpp) wrote.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const configurations = data.configurations;
  const root = document.documentElement;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const NOT_CERTIFIED = "not certified: too few independent requests, or no steady state was found";

  // ---- what a series looks like: a colour and a shape, so that colour is never the only difference

  const COLOURS = 6;
  const SHAPES = [  // in a box from -6 to 6
    "M5.2 0A5.2 5.2 0 1 1-5.2 0A5.2 5.2 0 1 1 5.2 0Z",
    "M-4.7-4.7H4.7V4.7H-4.7Z",
    "M0-6L5.9 4.6H-5.9Z",
    "M0-6.3L6.3 0L0 6.3L-6.3 0Z",
    "M0 6L5.9-4.6H-5.9Z",
  ];
  const shapeOf = (series) => SHAPES[series % SHAPES.length];
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const seriesColour = (series) => colour(`series-${series % COLOURS}`);
  const faded = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, "0");

  const SVG = "http://www.w3.org/2000/svg";
  function markerElement(path, ink, style = "filled") {
    const span = document.createElement("span");
    span.className = "marker";
    span.setAttribute("aria-hidden", "true");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "-7.5 -7.5 15 15");
    const shape = document.createElementNS(SVG, "path");
    shape.setAttribute("d", path);
    shape.setAttribute("stroke", ink);
    shape.setAttribute("stroke-width", "1.8");
    shape.setAttribute("fill", style === "filled" ? ink : "none");
    if (style === "dashed") shape.setAttribute("stroke-dasharray", "2.6 2");
    svg.append(shape);
    const inside = { crossed: "M-6.5-6.5L6.5 6.5M6.5-6.5L-6.5 6.5", slashed: "M-6.5 6.5L6.5-6.5", dotted: "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0" };
    if (inside[style]) {
      const more = shape.cloneNode();
      more.setAttribute("d", inside[style]);
      svg.append(more);
    }
    span.append(svg);
    return span;
  }

  // ---- numbers

  function significant(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(2);
    return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 8 });
  }
  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const spanOf = (values) => Math.max(...values) / Math.min(...values);

  // ---- axes

  /** Round values between low and high: 1, 2, 5 per decade, or even steps where that would give too few. */
  function roundTicks(low, high, logarithmic) {
    if (logarithmic && high / low > 6) {
      const decades = Math.log10(high / low);
      const steps = decades > (innerWidth < 700 ? 2 : 4) ? [1] : [1, 2, 5];
      const ticks = [];
      for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power)
        for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(6)));
      return ticks.filter((tick) => tick >= low && tick <= high);
    }
    const raw = (high - low) / 6;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) ticks.push(Number(tick.toPrecision(6)));
    return ticks;
  }

  /** Logarithmic when the values span more than `logFrom`, else from zero. */
  function axis(values, title, logFrom, exactTicks = null) {
    const low = Math.min(...values);
    const high = Math.max(...values);
    const logarithmic = low > 0 && spanOf(values) >= logFrom;
    const min = logarithmic ? low / 1.18 : 0;
    const max = logarithmic ? high * 1.18 : (high > 0 ? high * 1.1 : 1);
    return {
      type: logarithmic ? "logarithmic" : "linear",
      min, max,
      title: { display: true, text: title, color: colour("muted"), font: { size: 14 } },
      grid: { color: colour("grid"), borderColor: colour("rule"), drawTicks: false },
      ticks: { color: colour("muted"), padding: 8, maxRotation: 0, callback: (value) => significant(value) },
      afterBuildTicks: (scale) => {
        const ticks = exactTicks || roundTicks(scale.min, scale.max, logarithmic);
        scale.ticks = ticks.map((value) => ({ value }));
      },
    };
  }

  // ---- plugins: what Chart.js does not draw by itself

  const markerPaths = SHAPES.map((path) => new Path2D(path));

  function drawMarker(context, x, y, point, series, ink) {
    const path = markerPaths[series % SHAPES.length];
    context.save();
    context.translate(x, y);
    context.scale(1.15, 1.15);
    context.lineWidth = 1.7;
    context.strokeStyle = ink;
    context.fillStyle = colour("paper");
    context.fill(path);
    if (point.filled) {
      context.fillStyle = point.certified ? ink : faded(ink, 0.3);
      context.fill(path);
    }
    if (!point.certified) context.setLineDash([2.4, 2]);
    context.stroke(path);
    context.setLineDash([]);
    if (point.invalid || point.slo === "missed") {
      context.lineWidth = 1.9;
      context.stroke(new Path2D(point.invalid ? "M-6.5-6.5L6.5 6.5M6.5-6.5L-6.5 6.5" : "M-6.5 6.5L6.5-6.5"));
    }
    if (point.slo === "within" && !point.invalid) {
      context.fillStyle = point.filled && point.certified ? colour("paper") : ink;
      context.beginPath();
      context.arc(0, 0, 2.2, 0, 2 * Math.PI);
      context.fill();
    }
    context.restore();
  }

  function eachPoint(chart, draw) {
    chart.data.datasets.forEach((dataset, index) => {
      if (!dataset.marked || !chart.isDatasetVisible(index)) return;
      chart.getDatasetMeta(index).data.forEach((element, i) => {
        const point = dataset.data[i];
        if (isNumber(point.y)) draw(element, point, dataset);
      });
    });
  }

  const markers = {
    id: "markers",
    afterDatasetsDraw(chart) {
      eachPoint(chart, ({ x, y }, point, dataset) => drawMarker(chart.ctx, x, y, point, dataset.series, dataset.ink));
    },
  };

  /** Draws only inside the chart's area, until the context is restored. */
  function clipToArea({ ctx, chartArea }) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
    ctx.clip();
  }

  /** 95 % bars. */
  const intervals = {
    id: "intervals",
    beforeDatasetsDraw(chart) {
      const { ctx, scales } = chart;
      clipToArea(chart);
      ctx.lineWidth = 1.5;
      eachPoint(chart, ({ x }, point, dataset) => {
        if (!point.interval || !point.interval.every(isNumber)) return;
        const [low, high] = point.interval.map((value) => scales.y.getPixelForValue(value));
        ctx.strokeStyle = dataset.ink;
        ctx.beginPath();
        ctx.moveTo(x, low);
        ctx.lineTo(x, high);
        for (const end of [low, high]) {
          ctx.moveTo(x - 4, end);
          ctx.lineTo(x + 4, end);
        }
        ctx.stroke();
      });
      ctx.restore();
    },
  };

  /** What the point costs at the card's low and high price: pale, so that it is not taken for what was measured. */
  const priceBands = {
    id: "priceBands",
    beforeDatasetsDraw(chart) {
      const { ctx, scales } = chart;
      clipToArea(chart);
      eachPoint(chart, ({ x }, point, dataset) => {
        if (!point.band || !point.band.every(isNumber)) return;
        const [low, high] = point.band.map((value) => scales.y.getPixelForValue(value));
        ctx.fillStyle = faded(dataset.ink, 0.1);
        ctx.fillRect(x - 5, high, 10, low - high);
      });
      ctx.restore();
    },
  };

  /** "c=16" beside each point, in the first of four places where it hides nothing. */
  const labels = {
    id: "labels",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea } = chart;
      const taken = [];
      eachPoint(chart, ({ x, y }) => taken.push([x - 7, y - 7, x + 7, y + 7]));
      const isFree = (box) => box[0] >= chartArea.left && box[2] <= chartArea.right + 4 && box[1] >= chartArea.top &&
        box[3] <= chartArea.bottom &&
        taken.every((other) => box[2] <= other[0] || other[2] <= box[0] || box[3] <= other[1] || other[3] <= box[1]);
      ctx.save();
      ctx.font = `13px ${Chart.defaults.font.family}`;
      ctx.textBaseline = "middle";
      ctx.lineJoin = "round";
      ctx.lineWidth = 4;
      ctx.strokeStyle = faded(colour("paper"), 0.9);
      eachPoint(chart, ({ x, y }, point) => {
        const width = ctx.measureText(point.label).width;
        const places = [[x + 11, y - 11], [x - 11 - width, y - 11], [x + 11, y + 11], [x - 11 - width, y + 11]];
        const place = places.find(([left, middle]) => isFree([left, middle - 8, left + width, middle + 8]));
        if (!place) return;
        taken.push([place[0], place[1] - 8, place[0] + width, place[1] + 8]);
        ctx.strokeText(point.label, ...place);
        ctx.fillStyle = point.invalid || !point.filled ? colour("muted") : colour("ink");
        ctx.fillText(point.label, ...place);
      });
      ctx.restore();
    },
  };

  /** The side of the hardware limits that nothing can reach: what is beyond every one of them. */
  const impossible = {
    id: "impossible",
    beforeDatasetsDraw(chart) {
      const { ctx, chartArea, scales } = chart;
      const limits = chart.data.datasets.filter((dataset, index) =>
        dataset.shaded && dataset.data.length > 1 && chart.isDatasetVisible(index));
      if (!limits.length) return;
      ctx.save();
      ctx.beginPath();
      ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
      ctx.clip();
      for (const { data: points, cheaperIsDown } of limits) {
        const curve = points.map(({ x, y }) => [scales.x.getPixelForValue(x), scales.y.getPixelForValue(y)]);
        // Of points with the same speed per user (to a hundredth of a pixel) the best comes first.
        curve.sort((a, b) => Math.round(100 * (a[0] - b[0])) || (cheaperIsDown ? b[1] - a[1] : a[1] - b[1]));
        const first = curve[0];
        const last = curve[curve.length - 1];
        // Beyond the largest batch the limit stays where it was; beyond batch 1 nobody is served faster.
        const far = 1e4;
        const away = cheaperIsDown ? far : -far;
        ctx.beginPath();
        ctx.moveTo(-far, first[1]);
        for (const point of curve) ctx.lineTo(...point);
        ctx.lineTo(last[0], -away);
        ctx.lineTo(far, -away);
        ctx.lineTo(far, away);
        ctx.lineTo(-far, away);
        ctx.closePath();
        ctx.clip();
      }
      ctx.fillStyle = colour("beyond");
      ctx.fillRect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
      ctx.font = `italic 13px ${Chart.defaults.font.family}`;
      ctx.fillStyle = colour("muted");
      ctx.textAlign = "right";
      ctx.textBaseline = limits[0].cheaperIsDown ? "bottom" : "top";
      const height = limits[0].cheaperIsDown ? chartArea.bottom - 8 : chartArea.top + 8;
      ctx.fillText("beyond the limit", chartArea.right - 10, height);
      ctx.restore();
    },
  };

  // ---- tooltips: which run, what it measured, how to do it again

  function folded(text, width, most) {
    const lines = [""];
    for (const word of text.split(" ")) {
      if (lines[lines.length - 1] && (lines[lines.length - 1] + word).length > width) lines.push("");
      lines[lines.length - 1] += `${word.slice(0, width)} `;
    }
    return lines.length > most ? [...lines.slice(0, most - 1), "…"] : lines;
  }

  function tooltip() {
    return {
      backgroundColor: colour("surface"), borderColor: colour("rule"), borderWidth: 1, titleColor: colour("ink"),
      bodyColor: colour("ink"), footerColor: colour("muted"), footerFont: { weight: "normal", size: 12 }, padding: 12,
      bodySpacing: 4, displayColors: false, titleFont: { size: 14, weight: 600 }, bodyFont: { size: 14 }, caretPadding: 8,
      callbacks: {
        title: ([item]) => (item ? item.raw.title || `${item.raw.label} · ${configurations[item.dataset.series].title}` : ""),
        label: (item) => item.raw.lines,
        footer: ([item]) => (item ? folded(item.raw.command, 64, 4) : ""),
      },
      filter: (item) => Boolean(item.raw.lines),
    };
  }

  // ---- charts

  const charts = new Map();  // canvas id → chart
  const hidden = new Set();  // what legends switched off: "series:0", "p95"

  function draw(id, datasets, scales, plugins, marks = []) {
    const canvas = document.getElementById(id);
    charts.get(id)?.destroy();
    charts.delete(id);
    const has = datasets.some((dataset) => dataset.data.some((point) => isNumber(point.y)));
    canvas.closest("figure").querySelector(".nothing").hidden = has;
    canvas.parentElement.hidden = !has;
    if (!has) return;
    for (const dataset of datasets) dataset.hidden = dataset.switches.some((name) => hidden.has(name));
    charts.set(id, new Chart(canvas, {
      type: "scatter",
      data: { datasets, marks },
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, layout: { padding: { top: 8, right: 12 } },
        interaction: { mode: "nearest", intersect: true },
        plugins: { legend: { display: false }, tooltip: tooltip() },
        scales,
      },
      plugins,
    }));
  }

  /** A data set whose markers are drawn by the plugin above; Chart.js keeps finding them under the pointer. */
  const markedSet = (series, ink, switches, points, line = {}) => ({
    series, ink, switches, data: points, marked: true, pointRadius: 7, pointHitRadius: 10, pointHoverRadius: 9,
    pointBackgroundColor: "transparent", pointBorderColor: "transparent", pointHoverBackgroundColor: faded(ink, 0.2),
    pointHoverBorderColor: "transparent", showLine: false, ...line,
  });
  /** Lines leave out what proves nothing. */
  /** A line joins valid runs of one kind of load: closed loops, or open ones. */
  const isJoined = (a, b) => !a.invalid && !b.invalid && a.open === b.open;
  const validOnly = (points) => ({
    borderColor: ({ p0DataIndex, p1DataIndex }) => (isJoined(points[p0DataIndex], points[p1DataIndex]) ? undefined : "transparent"),
  });
  const byLoad = (a, b) => Number(a.open) - Number(b.open) || a.x - b.x;
  const lineSet = (series, ink, switches, points, style) => ({
    series, ink, switches, data: points, showLine: true, borderColor: ink, borderWidth: 2, pointRadius: 0,
    pointHitRadius: 0, ...style,
  });

  // ---- the frontier

  const axes = data.axes;
  const hasPrice = configurations.some((c) => c.points.some((p) => isNumber(p.usd)));
  const indexOf = (list, name) => Math.max(0, list.findIndex((item) => item.name === name));
  let across = indexOf(axes.xs, axes.x);
  let up = hasPrice ? indexOf(axes.ys, axes.y) : indexOf(axes.ys, "tokens_per_s_per_gpu");
  // Runs of different days have a history; it has no front, and every run stands in it as it was measured.
  const times = configurations.flatMap((c) => c.points.map((p) => Date.parse(p.at))).filter(isNumber);
  const HOUR = 3.6e6;
  if (axes.x === "date" || (times.length && Math.max(...times) - Math.min(...times) >= HOUR))
    axes.xs.push({ name: "date", title: "Date of the run (UTC)", short: "date", more: true });
  if (axes.x === "date") across = axes.xs.length - 1;
  const overTime = () => axes.xs[across].name === "date";
  const inDollars = () => axes.ys[up].name === "usd_per_m";
  const LIMITS = [["hard", "limit", "hardware limit"], ["datasheet", "datasheet", "datasheet"],
    ["size", "sizeAware", "by size of reads"], ["reachable", "reachable", "our kernels"]];
  let limitKind = "hard";
  const LIMITED_AXIS = "interactivity_p90";  // limits are known at the speed of the whole request only

  /** [state, within noise, configuration, point]; state 1: on the front, 2: dominated by that point, 0: unfit. */
  const placeOf = (point) => overTime() ? [1] : point.places[across * axes.ys.length + up] || [0];

  function whyNot(point, own) {
    const [state, withinNoise, configuration, index] = placeOf(point);
    if (state !== 2) return point.whyNot;
    const by = configurations[configuration];
    return `dominated by ${by.points[index].label}${configuration === own ? "" : ` on ${by.name}`}${withinNoise ? ", within noise" : ""}`;
  }

  function frontierPoint(point, own) {
    const per = point.gpus;
    const dollars = inDollars();
    const [value, interval] = dollars ? [point.usd, point.usdCi]
      : [point.tps === null ? null : point.tps / per, point.tpsCi && point.tpsCi.map((v) => v / per)];
    const lines = [`${significant(point.xs[0])} tok/s per user, ${significant(point.tps)} tok/s in all`];
    if (overTime()) lines.push(point.at.replace("T", " ").replace("Z", " UTC"));
    else if (across > 0) lines.push(`${axes.xs[across].name}: ${significant(point.xs[across])}`);
    if (isNumber(point.usd)) lines.push(`$${significant(point.usd)} per million output tokens`);
    if (point.band) lines.push(`$${significant(point.band[0])} to $${significant(point.band[1])} within the card's price band`);
    if (isNumber(point.ofLimit)) lines.push(`${significant(100 * point.ofLimit)} % of the hardware's limit at this load`);
    const reason = whyNot(point, own);
    if (reason) lines.push(reason);
    if (point.slo === "within") lines.push("within the limits, which is not shown at 99 %");
    if (!point.certified) lines.push(`p90 ${NOT_CERTIFIED}`);
    return {
      x: overTime() ? Date.parse(point.at) : point.xs[across], y: value, interval, band: dollars ? point.band : null, lines,
      label: overTime() ? point.label.replace(/, run \d+$/, "") : point.label,  // runs of one load are one line over time
      command: data.commands[point.command], filled: placeOf(point)[0] === 1, certified: point.certified, invalid: point.invalid,
      slo: point.slo,
    };
  }

  /** The points of one configuration that none of its other points beats, from left to right. */
  function ownCurve(points) {
    const better = (a, b, more) => (more ? a >= b : a <= b);
    const [moreX, moreY] = [axes.xs[across].more, axes.ys[up].more];
    const beats = (a, b) => better(a.x, b.x, moreX) && better(a.y, b.y, moreY) && (a.x !== b.x || a.y !== b.y);
    const valid = points.filter((p) => !p.invalid);
    return valid.filter((p) => !valid.some((other) => beats(other, p))).sort((a, b) => a.x - b.x);
  }

  const isDrawn = (p) => isNumber(p.x) && isNumber(p.y) && p.x > 0 && p.y > 0;
  const shownPoints = (configuration) => configuration.points.filter((point) => !point.hidden);

  /** A line through the runs of each load, by their dates. */
  function historySets(points, series, ink, switches) {
    const valid = points.filter((p) => !p.invalid).sort((a, b) => a.x - b.x);
    const lines = [...new Set(valid.map((p) => p.label))].map((label) => valid.filter((p) => p.label === label))
      .filter((line) => line.length > 1)
      .map((line) => lineSet(series, ink, switches, line.map(({ x, y }) => ({ x, y })), { borderWidth: 1.5 }));
    return [...lines, markedSet(series, ink, switches, points)];
  }

  function timeAxis(values) {
    const low = Math.min(...values);
    const high = Math.max(...values);
    const margin = Math.max((high - low) * 0.06, HOUR / 60);
    const scale = axis([low, high], axes.xs[across].title, 1e9);
    const steps = [1 / 60, 1 / 12, 1 / 4, 1, 3, 6, 12, 24, 48, 7 * 24, 14 * 24, 30 * 24, 91 * 24, 365 * 24].map((h) => h * HOUR);
    const most = innerWidth < 700 ? 4 : 8;
    const step = steps.find((s) => (high - low) / s <= most) || (high - low) / most;
    const ticks = [];
    for (let tick = Math.ceil((low - margin) / step) * step; tick <= high + margin; tick += step) ticks.push({ value: tick });
    const [from, to] = step < 24 * HOUR ? [5, 16] : [0, 10];
    return {
      ...scale, min: low - margin, max: high + margin, afterBuildTicks: (built) => { built.ticks = ticks; },
      ticks: { ...scale.ticks, callback: (value) => new Date(value).toISOString().slice(from, to).replace("T", " ") },
    };
  }

  function frontierSets(configuration, series) {
    const ink = seriesColour(series);
    const switches = [`series:${series}`];
    const points = shownPoints(configuration).map((point) => frontierPoint(point, series)).filter(isDrawn);
    if (overTime()) return historySets(points, series, ink, switches);
    const front = points.filter((p) => p.filled && !p.invalid).sort((a, b) => a.x - b.x);
    const own = ownCurve(points);
    const isPart = ({ p0DataIndex, p1DataIndex }) => own[p0DataIndex].filled && own[p1DataIndex].filled;
    const gpus = configuration.points.length ? configuration.points[0].gpus : 1;
    const [, key] = LIMITS.find(([kind]) => kind === limitKind) || [];
    const curve = axes.xs[across].name === LIMITED_AXIS && key
      ? configuration[key].map((p) => ({ x: p.x, y: inDollars() ? p.usd : p.tps / gpus })).filter(isDrawn) : [];
    const style = limitKind === "reachable" ? { borderDash: [2, 4], borderWidth: 1.6 }
      : { borderDash: [9, 4], borderWidth: 1.8, shaded: true, cheaperIsDown: inDollars() };
    return [
      lineSet(series, ink, switches, curve, style),
      lineSet(series, faded(ink, 0.6), switches, own.map(({ x, y }) => ({ x, y })), {
        borderDash: [3, 4], borderWidth: 1.2, segment: { borderColor: (part) => (isPart(part) ? "transparent" : undefined) },
      }),
      lineSet(series, ink, switches, front.map(({ x, y }) => ({ x, y })), {}),
      markedSet(series, ink, switches, points),
    ];
  }

  /** The limit on the quantity of the horizontal axis: a line with its words, and the excluded side shaded. */
  const limitOnAxis = {
    id: "limitOnAxis",
    beforeDatasetsDraw(chart) {
      const { limit, more } = axes.xs[across];
      if (!limit) return;
      const { ctx, chartArea, scales } = chart;
      const at = Math.min(Math.max(scales.x.getPixelForValue(limit.value), chartArea.left), chartArea.right);
      clipToArea(chart);
      ctx.fillStyle = faded(colour("faint"), 0.18);
      if (more) ctx.fillRect(chartArea.left, chartArea.top, at - chartArea.left, chartArea.height);
      else ctx.fillRect(at, chartArea.top, chartArea.right - at, chartArea.height);
      ctx.strokeStyle = ctx.fillStyle = colour("ink");
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(at, chartArea.top);
      ctx.lineTo(at, chartArea.bottom);
      ctx.stroke();
      ctx.font = `13px ${Chart.defaults.font.family}`;
      ctx.textBaseline = "top";
      const width = ctx.measureText(limit.text).width;
      ctx.fillText(limit.text, at + 6 + width > chartArea.right ? at - 6 - width : at + 6, chartArea.top + 6);
      ctx.restore();
    },
  };

  /** What runs would come to elsewhere: hollow, dashed and on no front. Only the default axis is estimated. */
  function estimatedSets() {
    if (axes.xs[across].name !== LIMITED_AXIS) return [];
    return data.whatIfs.map((whatIf) => {
      const series = whatIf.configuration;
      const points = whatIf.points.map((point) => ({
        x: point.x, y: inDollars() ? point.usd : point.tps / whatIf.gpus, label: `${point.label} est.`, filled: false,
        certified: false, invalid: false, command: whatIf.asked, title: `${point.label} · ${whatIf.title}`,
        lines: [`estimated: ${significant(point.x)} tok/s per user, ${significant(point.tps)} tok/s in all`,
          ...(isNumber(point.usd) ? [`$${significant(point.usd)} per million output tokens`] : []),
          `${significant(100 * point.ofLimit)} % of the limit, estimated from what was measured on`, configurations[series].title],
      })).filter(isDrawn);
      return markedSet(series, seriesColour(series), [`series:${series}`], points);
    });
  }

  /** A line through the runs that no run of any configuration beats, certified or not. There is none if the page says that
   * some configurations are not compared, or if these runs are all of one configuration. */
  function commonFront(datasets) {
    if (overTime() || data.separate) return [];
    const sets = datasets.filter((d) => d.marked && !d.switches.some((name) => hidden.has(name)));
    const front = ownCurve(sets.flatMap((d) => d.data.filter((p) => p.filled).map((p) => ({ ...p, series: d.series }))));
    if (new Set(front.map((p) => p.series)).size < 2) return [];
    return [lineSet(0, colour("faint"), [], front.map(({ x, y }) => ({ x, y })), { borderWidth: 7, borderColor: faded(colour("faint"), 0.35) })];
  }

  function drawFrontier() {
    const sets = configurations.flatMap(frontierSets);
    const datasets = [...estimatedSets(), ...sets, ...commonFront(sets)];  // what was measured lies above
    const measured = datasets.filter((d) => d.marked).flatMap((d) => d.data);
    if (!measured.length) {
      draw("frontier", [], {}, []);
      return;
    }
    const ends = (key) => [Math.min(...measured.map((p) => p[key])), Math.max(...measured.map((p) => p[key]))];
    const [left, right] = ends("x");
    const [bottom, top] = ends("y");
    const dollars = inDollars();
    // A limit far from everything measured is cut rather than squeezing what was measured into a corner.
    const curve = datasets.filter((d) => d.shaded).flatMap((d) => d.data)
      .filter((p) => p.x > left / 1.7 && p.x < right * 100 && p.y > bottom / 1000 && p.y < top * 1000);
    const bars = measured.flatMap((p) => [...(p.interval || []), ...(p.band || [])])
      .filter((v) => isNumber(v) && v > bottom / 3 && v < top * 3);
    const narrow = innerWidth < 700;
    const costTitle = narrow ? "← $ per M output tokens" : "← cheaper: $ per million output tokens";
    const perGpu = configurations.some((c) => c.points.some((p) => p.gpus > 1));
    const padded = (values) => [Math.min(...values) / 1.06, Math.max(...values) * 1.06];
    const xs = padded([...measured, ...curve].map((p) => p.x));
    if (curve.length && dollars) bars.push(Math.min(...curve.map((p) => p.y)) / 1.3);  // room for words beyond it
    if (curve.length && !dollars) bars.push(Math.max(...curve.map((p) => p.y)) * 1.3);
    const ys = padded([...[...measured, ...curve].map((p) => p.y), ...bars]);
    // The vertical title is turned by a quarter: its arrow to the left points down, to the right up.
    draw("frontier", datasets, {
      x: overTime() ? timeAxis(measured.map((p) => p.x)) : axis(xs, narrow && across === 0 ? "Tokens/s per user, p90: faster →" : axes.xs[across].title, 1),
      y: axis(ys, dollars ? costTitle : `Output tokens/s${perGpu ? " per GPU" : ""}: more →`, 1),
    }, [impossible, limitOnAxis, priceBands, intervals, markers, labels]);
  }

  const pricedTitle = one("#frontier-title")?.textContent;

  function tellDirections() {
    const place = one("#directions");
    if (!place) return;
    one("#frontier-title").textContent = inDollars() ? pricedTitle : "How much at every speed";
    const note = one("#limit-note");
    if (note) note.hidden = limitKind !== "hard" || axes.xs[across].name !== LIMITED_AXIS;
    if (overTime()) {
      place.textContent = "A line joins the runs of one load, by their dates.";
      return;
    }
    place.textContent = `${axes.xs[across].more ? "Further right, every user is served faster" : "Further left, every user is served sooner"}; ${
      inDollars() ? "further down, a token is cheaper." : "further up, the machine makes more tokens."}`;
  }

  function redrawFrontier() {
    tellDirections();
    drawFrontier();
    root.dataset.charts = String(charts.size);
  }

  // ---- against load

  const PERCENTILES = ["p50", "p95", "p99"];
  // Several configurations have a colour each, and one percentile is shown at a time.
  const isComparison = configurations.length > 1;
  let percentile = "p95";
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const kinds = { open: configurations.some((c) => c.openLoop), closed: configurations.some((c) => c.closedLoop) };
  const loadTitle = kinds.open && kinds.closed ? "Load (requests in flight, or requests/s offered)"
    : kinds.open ? "Requests/s offered" : "Requests in flight";

  function loadAxis(loads) {
    const distinct = [...new Set(loads)].sort((a, b) => a - b);
    return axis(distinct, loadTitle, 3, distinct.length <= 8 ? distinct : null);
  }

  function latencySets(metric) {
    return configurations.flatMap((configuration, series) => PERCENTILES.map((name, i) => {
      if (isComparison && name !== percentile) return null;
      const ink = isComparison ? seriesColour(series) : colour(name);
      const points = shownPoints(configuration).map((point) => {
        const seconds = point[metric].values[i];
        return {
          x: point.load, y: isNumber(seconds) ? seconds * 1e3 : null, label: point.label, command: data.commands[point.command],
          filled: true, certified: point[metric].certified[i], invalid: point.invalid, open: point.open,
          lines: [`${name}: ${significant(isNumber(seconds) ? seconds * 1e3 : null)} ms`,
            ...(point[metric].certified[i] ? [] : [NOT_CERTIFIED])],
        };
      }).filter((point) => point.x > 0).sort(byLoad);
      return markedSet(series, ink, isComparison ? [`series:${series}`] : [name], points,
        { showLine: true, borderColor: ink, borderWidth: 2, segment: validOnly(points) });
    }).filter(Boolean));
  }

  function drawLatency(id, metric, title) {
    const datasets = latencySets(metric);
    const points = datasets.flatMap((d) => d.data);
    const values = points.map((p) => p.y).filter(isNumber);
    const scales = values.length ? { x: loadAxis(points.map((p) => p.x)), y: axis(values, title, 8) } : {};
    draw(id, datasets, scales, [markers]);
  }

  function drawLatencies() {
    const which = isComparison ? `, ${percentile}` : "";
    drawLatency("ttft", "ttft", `Time to first token${which}, ms`);
    drawLatency("itl", "itl", `Inter-token latency${which}, ms`);
  }

  function drawThroughput() {
    const datasets = configurations.flatMap((configuration, series) => {
      const ink = seriesColour(series);
      const switches = [`series:${series}`];
      const points = shownPoints(configuration).filter((p) => p.load > 0).map((point) => ({
        x: point.load, y: point.tps, interval: point.tpsCi, label: point.label, command: data.commands[point.command], filled: true,
        certified: true, invalid: point.invalid, open: point.open,
        lines: [`${significant(point.tps)} tok/s`,
          ...(isNumber(point.limitTps) ? [`of ${significant(point.limitTps)} that the hardware could`] : [])],
      })).sort(byLoad);
      const limit = shownPoints(configuration).filter((p) => isNumber(p.limitTps) && p.load > 0)
        .map((p) => ({ x: p.load, y: p.limitTps, invalid: false, open: p.open })).sort(byLoad);
      return [
        lineSet(series, ink, switches, limit, { borderDash: [9, 4], borderWidth: 1.8, segment: validOnly(limit) }),
        markedSet(series, ink, switches, points,
          { showLine: true, borderColor: ink, borderWidth: 2, segment: validOnly(points) }),
      ];
    });
    const points = datasets.flatMap((d) => d.data);
    const values = points.map((p) => p.y).filter(isNumber);
    const scales = values.length ? { x: loadAxis(points.map((p) => p.x)), y: axis(values, "Output tokens/s", 8) } : {};
    draw("throughput", datasets, scales, [intervals, markers]);
  }

  // ---- the charts of sections

  /** Names of ceilings, each above its line where no other name is. */
  const ceilingNames = {
    id: "ceilingNames",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea, scales } = chart;
      const taken = [];
      eachPoint(chart, ({ x, y }) => taken.push([x - 8, y - 8, x + 8, y + 8]));
      ctx.save();
      ctx.font = `12px ${Chart.defaults.font.family}`;
      ctx.fillStyle = colour("muted");
      ctx.textBaseline = "bottom";
      for (const dataset of chart.data.datasets) {
        if (!dataset.ceiling) continue;
        const bottom = scales.y.getPixelForValue(dataset.data[0].y) - 3;
        const width = ctx.measureText(dataset.ceiling).width;
        const places = [1, 0.8, 0.6, 0.4, 0.2, 0].map((share) => chartArea.left + 6 + share * (chartArea.width - width - 12));
        const isFree = (left) => taken.every((other) =>
          left + width <= other[0] || other[2] <= left || bottom <= other[1] || other[3] <= bottom - 13);
        const left = places.find(isFree);
        if (left === undefined) continue;  // the caption names every ceiling
        taken.push([left, bottom - 13, left + width, bottom]);
        ctx.fillText(dataset.ceiling, left, bottom);
      }
      ctx.restore();
    },
  };

  /** Vertical lines, with their names beside them at the bottom. */
  const verticalMarks = {
    id: "verticalMarks",
    beforeDatasetsDraw(chart) {
      const { ctx, chartArea, scales } = chart;
      ctx.save();
      ctx.font = `12px ${Chart.defaults.font.family}`;
      ctx.strokeStyle = ctx.fillStyle = colour("muted");
      ctx.textBaseline = "bottom";
      chart.data.marks.forEach(({ name, x }, i) => {
        const at = scales.x.getPixelForValue(x);
        ctx.setLineDash([2, 4]);
        ctx.beginPath();
        ctx.moveTo(at, chartArea.top);
        ctx.lineTo(at, chartArea.bottom);
        ctx.stroke();
        const width = ctx.measureText(name).width;
        const left = at + 5 + width > chartArea.right ? at - 5 - width : at + 5;
        ctx.fillText(name, left, chartArea.bottom - 4 - 15 * i);
      });
      ctx.restore();
    },
  };

  /** The points of a series: objects, or two lists of numbers where they say nothing but their places. */
  const pointsOf = (series) => series.points || series.xs.map((x, i) => ({ x, y: series.ys[i], valid: true, row: "", note: "" }));

  /** A chart of a section. `logFrom`: how far values must spread for a logarithmic vertical axis. */
  function drawPicture({ id, logFrom, ...rest }) {
    const picture = { ...rest, series: rest.series.map((one) => ({ ...one, points: pointsOf(one) })) };
    const xs = [...new Set(picture.series.flatMap((s) => s.points.map((p) => p.x)))].sort((a, b) => a - b);
    const ys = [...picture.series.flatMap((s) => s.points.flatMap((p) => [p.y, ...(p.interval || [])])),
      ...picture.lines.map((line) => line.y)].filter(isNumber);
    const linear = Boolean(picture.linearX);
    const ends = linear ? [0, xs[xs.length - 1] || 1] : xs.length > 1 ? [xs[0], xs[xs.length - 1]] : [xs[0] / 2, xs[0] * 2];
    const edges = [ends[0] / 1.5, ends[1] * 1.5];
    const lines = picture.lines.map((line) => ({
      ...lineSet(0, colour("muted"), [], edges.map((x) => ({ x, y: line.y })), { borderDash: [7, 4], borderWidth: 1.3 }),
      ceiling: line.name,
    }));
    const inkOf = (one, i) => (one.style === "fit" ? colour("muted") : seriesColour(i));
    const series = picture.series.map((one, i) => {
      const ink = inkOf(one, i);
      if (one.style === "fit")
        return lineSet(i, ink, [`${id}:${i}`], one.points.map(({ x, y }) => ({ x, y })), { borderDash: [7, 4] });
      const points = one.points.map((point) => ({
        x: point.x, y: point.y, interval: point.interval, filled: point.valid, certified: true, invalid: false,
        label: one.name, command: point.row,
        title: `${one.name} · ${picture.xTitle.toLowerCase()}: ${point.x.toLocaleString("en-US")}`,
        lines: [`${significant(point.y)} ${picture.yTitle}`,
          ...(point.note ? folded(point.note, 60, 3) : point.valid ? [] : ["not valid"])],
      }));
      return markedSet(i, ink, [`${id}:${i}`], points, {
        ...(one.style === "line" ? { marked: false, pointRadius: 0, pointHitRadius: 6, pointHoverRadius: 5 } : {}),
        showLine: one.style !== "points", borderColor: ink, borderWidth: 2, borderDash: DASHES[Math.floor(i / COLOURS) % DASHES.length],
      });
    });
    one(`#${id}-legend`).replaceChildren(...picture.series.map((s, i) =>
      legendItem(`${id}:${i}`, s.name, markerElement(s.style === "fit" || s.style === "line" ? "M-7-2H7V2H-7Z" : shapeOf(i), inkOf(s, i)))));
    const across = axis(ends, picture.xTitle, linear ? Infinity : 1, !linear && xs.length <= 7 ? xs : null);
    if (linear) across.max = ends[1] * 1.04;
    across.ticks.callback = (value) => value.toLocaleString("en-US");  // batches and lengths are whole
    draw(id, [...lines, ...series], { x: across, y: axis(ys, picture.yTitle, linear ? Infinity : logFrom) },
      [intervals, markers, ceilingNames, verticalMarks], picture.marks);
  }

  // Colours of parts, by the numbers that BarPart::colour (reports/document/picture.h) refers to.
  const BAR_COLOURS = ["faint", "series-0", "p50", "series-3", "p95", "series-1", "series-2", "p99", "accent", "muted"];

  /** A chart of bars: one per row, each a stack of parts. Parts of a group share its colour and are kept apart by an edge. */
  function drawBars({ id, unit, xTitle, bars, parts }) {
    const canvas = document.getElementById(id);
    const narrow = innerWidth < 700;
    const inkOf = (part) => colour(BAR_COLOURS[part.colour % BAR_COLOURS.length]);
    const groups = parts.filter((part, i) => parts.findIndex((other) => other.group === part.group) === i);
    one(`#${id}-legend`).replaceChildren(...groups.map((part) =>
      legendItem(`${id}:${part.group}`, part.group, markerElement(SHAPES[1], inkOf(part)))));
    const sumOf = (i, sign) => parts.reduce((sum, part) => sum + Math.max(0, sign * (part.lengths[i] ?? 0)), 0);
    const least = -Math.max(0, ...bars.map((_, i) => sumOf(i, -1)));
    const most = Math.max(...bars.map((bar, i) => Math.max(bar.total, sumOf(i, 1))));
    canvas.parentElement.style.height = `${bars.length * 46 + 70}px`;
    charts.get(id)?.destroy();
    charts.set(id, new Chart(canvas, {
      type: "bar",
      data: {
        labels: bars.map((bar) => folded(bar.name, narrow ? 20 : 44, 3)),
        datasets: parts.map((part) => ({
          label: part.name, hidden: hidden.has(`${id}:${part.group}`), backgroundColor: inkOf(part), data: part.lengths,
          borderColor: colour("paper"), borderWidth: { left: 0, right: 1 }, borderSkipped: false, barThickness: 22,
        })),
      },
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, indexAxis: "y",
        plugins: {
          legend: { display: false },
          tooltip: { ...tooltip(), filter: () => true, callbacks: {
            title: ([item]) => (item ? bars[item.dataIndex].title : ""),
            label: (item) => `${item.dataset.label}: ${significant(item.raw)} of ${significant(bars[item.dataIndex].total)} ${unit}`,
          } },
        },
        scales: {
          x: { ...axis([least, most], xTitle, 1e9), ...(least < 0 ? { min: least } : {}), stacked: true },
          y: { stacked: true, grid: { display: false }, ticks: { color: colour("muted"), font: { size: narrow ? 11 : 13 } } },
        },
      },
    }));
  }

  /** The charts of the sections. Those in an option that a menu hides are drawn when it is chosen. */
  function drawSections() {
    const isShown = ({ id }) => !document.getElementById(id).closest("[data-option][hidden]");
    for (const picture of data.pictures.filter(isShown)) drawPicture(picture);
    for (const bars of data.bars.filter(isShown)) drawBars(bars);
  }

  /** Shows one option of a menu and frees the charts of the others. */
  function showChosen(menu) {
    for (const option of all(`[data-option^="${menu.dataset.menu}-"]`)) {
      option.hidden = option.dataset.option !== `${menu.dataset.menu}-${menu.value}`;
      if (!option.hidden) continue;
      for (const canvas of option.querySelectorAll("canvas")) {
        charts.get(canvas.id)?.destroy();
        charts.delete(canvas.id);
      }
    }
  }

  // ---- legends

  function legendItem(name, text, marker) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(!hidden.has(name)));
    button.append(marker, text);
    button.addEventListener("click", () => {
      if (!hidden.delete(name)) hidden.add(name);
      drawAll();
    });
    button.dataset.name = name;
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  function drawLegends() {
    const focused = document.activeElement?.dataset?.name;
    const place = document.activeElement?.closest?.(".legend")?.id;
    const series = () => configurations.map((c, i) =>
      legendItem(`series:${i}`, c.name, markerElement(shapeOf(i), seriesColour(i))));
    one("#frontier-legend").replaceChildren(...series());
    one("#latency-legend").replaceChildren(...(isComparison ? series()
      : PERCENTILES.map((name) => legendItem(name, name, markerElement("M-7-2H7V2H-7Z", colour(name))))));
    one("#throughput-legend").replaceChildren(...(isComparison ? series() : []));
    if (focused && place) one(`#${place} [data-name="${focused}"]`)?.focus();
  }

  function drawMarkers() {
    for (const element of all("[data-series]")) {
      const series = Number(element.dataset.series);
      element.replaceChildren(...markerElement(shapeOf(series), seriesColour(series)).childNodes);
    }
    for (const element of all("[data-key]"))
      element.replaceChildren(...markerElement(SHAPES[0], colour("muted"), element.dataset.key).childNodes);
  }

  // ---- the switches

  function segmented(fieldset, choices, chosen, choose) {
    for (const [value, text] of choices) {
      const label = document.createElement("label");
      const input = document.createElement("input");
      input.type = "radio";
      input.name = fieldset.id;
      input.value = value;
      input.checked = value === chosen;
      input.addEventListener("change", () => choose(value));
      const span = document.createElement("span");
      span.textContent = text;
      label.append(input, span);
      fieldset.append(label);
    }
    fieldset.hidden = false;
  }

  function setTheme(theme) {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    drawAll();
  }

  // ---- the table

  function sortBy(header) {
    const table = header.closest("table");
    const descending = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const column = +header.dataset.column;
    const keyed = [...table.tBodies[0].rows].map((row) => [row.cells[column].dataset.value, row]);
    const compare = (a, b) => (a === "" ? 1 : b === "" ? -1 : (Number(a) - Number(b)) * (descending ? -1 : 1));
    keyed.sort((a, b) => compare(a[0], b[0]));
    table.tBodies[0].append(...keyed.map(([, row]) => row));
  }

  // ---- what scrolls inside itself is reached by the keyboard

  function markScrollable() {
    for (const box of all(".scroll")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      if (!scrolls && !box.dataset.scrolls) continue;
      box.dataset.scrolls = "1";
      if (!scrolls) {
        for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
        continue;
      }
      const heading = box.closest(".part, details > div > div, section")?.querySelector("h2, h3, h4");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      if (!box.hasAttribute("aria-labelledby")) box.setAttribute("aria-label", heading?.textContent.trim() || "Table");
    }
  }

  // ---- definitions on hover and focus

  function showTip(target) {
    const tip = one("#tip");
    tip.textContent = target.dataset.definition;
    tip.hidden = false;
    const box = target.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left), root.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${box.bottom + scrollY + 8}px`;
    target.setAttribute("aria-describedby", "tip");
  }
  function hideTip(target) {
    one("#tip").hidden = true;
    target.removeAttribute("aria-describedby");
  }

  // ---- all of it

  function drawAll() {
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 14;
    drawMarkers();
    if (one("#frontier")) {
      drawLegends();
      drawFrontier();
      drawLatencies();
      drawThroughput();
    }
    drawSections();
    root.dataset.charts = String(charts.size);
  }

  segmented(one("#theme"), [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]], "auto", setTheme);
  if (one("#frontier")) {
    segmented(one("#x-axis"), axes.xs.map((x) => [x.name, x.short]), axes.xs[across].name, (value) => {
      across = indexOf(axes.xs, value);
      redrawFrontier();
    });
    if (hasPrice)
      segmented(one("#axis"), axes.ys.map((y) => [y.name, y.short]), axes.ys[up].name, (value) => {
        up = indexOf(axes.ys, value);
        redrawFrontier();
      });
    const known = LIMITS.filter(([, key]) => configurations.some((c) => c[key].length));
    if (known.length)
      segmented(one("#limits"), [...known.map(([kind, , text]) => [kind, text]), ["none", "none"]], limitKind, (value) => {
        limitKind = value;
        redrawFrontier();
      });
    if (isComparison)
      segmented(one("#percentile"), PERCENTILES.map((name) => [name, name]), percentile, (value) => {
        percentile = value;
        drawLatencies();
        root.dataset.charts = String(charts.size);
      });
    tellDirections();
  }
  for (const menu of all("[data-menu]")) {
    showChosen(menu);
    menu.addEventListener("change", () => {
      showChosen(menu);
      drawSections();
      root.dataset.charts = String(charts.size);
      markScrollable();
    });
  }
  for (const header of all("th[data-column]")) header.querySelector(".sort").addEventListener("click", () => sortBy(header));
  for (const target of all("[data-definition]")) {
    for (const event of ["mouseenter", "focus"]) target.addEventListener(event, () => showTip(target));
    for (const event of ["mouseleave", "blur"]) target.addEventListener(event, () => hideTip(target));
    target.addEventListener("keydown", (event) => event.key === "Escape" && hideTip(target));
  }
  addEventListener("resize", markScrollable);
  for (const details of all("details")) details.addEventListener("toggle", markScrollable);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  // Paper is white: charts are drawn anew for it and back.
  let screenTheme;
  addEventListener("beforeprint", () => {
    screenTheme = root.dataset.theme;
    setTheme("light");
    for (const chart of charts.values()) chart.resize();
  });
  addEventListener("afterprint", () => setTheme(screenTheme || "auto"));
  drawAll();
  markScrollable();

  // A page that `report --serve` gave loads itself anew when runs have landed.
  if (root.dataset.served)
    setInterval(async () => {
      try {
        const answer = await fetch("version", { cache: "no-store" });
        if (answer.ok && (await answer.text()) !== root.dataset.served) location.reload();
      } catch {
        // The server has ended; what is shown stays.
      }
    }, 2000);
})();
