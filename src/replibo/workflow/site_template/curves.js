// Curves of published runs: problem, methods, quantity, axis, mean or single runs.
"use strict";
const curves = {};
(() => {
  const find = id => document.getElementById(`curves-${id}`);
  const [problem, quantity, view, axis, methods, plot] =
    ["problem", "quantity", "view", "axis", "methods", "plot"].map(find);
  const folder = find("form").dataset.folder;

  function option(name) { return new Option(name, name); }

  function box([name, method]) {
    const label = document.createElement("label");
    const mark = Object.assign(document.createElement("input"), { type: "checkbox", value: name, checked: method.shown });
    const line = document.createElement("span");
    const style = { solid: "solid", dash: "dashed", dot: "dotted", dashdot: "double" }[method.dash];
    line.style.borderTop = `3px ${style} ${method.color}`;
    label.append(mark, line, `${method.label} (${method.seeds} seeds)`);
    return label;
  }

  function traces(name, method) {
    const curve = method.values[quantity.value];
    if (!curve) return [];
    const line = { color: method.color, dash: method.dash, width: 2 };
    const shared = { x: method.t, mode: "lines", name: method.label, legendgroup: name };
    if (view.value === "runs")
      return curve.runs.map(y => ({ ...shared, y, line: { ...line, width: 1 }, opacity: 0.6 }));
    const edge = { ...shared, line: { width: 0 }, hoverinfo: "skip" };
    const band = curve.band.map((y, i) => ({ ...edge, y, ...(i ? { fill: "tonexty", fillcolor: `${method.color}2e` } : {}) }));
    return [...band, { ...shared, y: curve.mean, line }];
  }

  // R_t / t over all rounds, the initial points among them.
  function withAverage(method) {
    const sum = method.values["cumulative regret"];
    if (!sum) return;
    const divided = values => values.map((value, i) => value / (method.t[i] - method.t[0] + 1));
    method.values["average regret"] =
      { mean: divided(sum.mean), band: sum.band.map(divided), runs: sum.runs.map(divided) };
  }

  // A regret is read on a logarithmic axis. Values may be negative.
  function axisOfQuantity() {
    const [log] = axis.options;
    log.disabled = quantity.value === "best value so far";
    axis.value = log.disabled ? "linear" : "log";
  }

  function draw() {
    const all = curves[problem.value];
    const chosen = [...methods.querySelectorAll("input:checked")].map(mark => mark.value);
    const lines = { gridcolor: "#ddd", zerolinecolor: "#bbb" };
    Plotly.react(plot, chosen.flatMap(name => traces(name, all[name])), {
      showlegend: false, hovermode: "closest", margin: { l: 64, r: 12, t: 12, b: 48 },
      font: { color: "#222" },
      xaxis: { ...lines, title: { text: "round t" } },
      yaxis: { ...lines, title: { text: quantity.value }, type: axis.value, exponentformat: "power" },
    }, { responsive: true, displaylogo: false });
  }

  function show() {
    const all = Object.entries(curves[problem.value]);
    all.forEach(([, method]) => withAverage(method));
    const before = quantity.value;
    const names = [...new Set(all.flatMap(([, method]) => Object.keys(method.values)))];
    quantity.replaceChildren(...names.map(option));
    if (names.includes(before)) quantity.value = before;
    axisOfQuantity();
    methods.replaceChildren(...all.map(box));
    draw();
  }

  function load() {
    if (curves[problem.value]) return show();
    const script = document.createElement("script");
    Object.assign(script, { src: `${folder}/${problem.value}.js`, onload: show });
    document.body.append(script);
  }

  problem.addEventListener("change", load);
  quantity.addEventListener("change", axisOfQuantity);
  [quantity, view, axis, methods].forEach(part => part.addEventListener("change", draw));
  load();
})();
