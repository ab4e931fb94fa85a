// Turns answers of Prometheus into Grafana's data frames, with the panel's defaults, overrides and mappings applied the
// way Grafana applies them. It draws nothing.
import { FieldType, fieldMatchers, getDisplayProcessor, getFieldDisplayName } from '@grafana/data';

// What the timeseries panel takes for what a panel does not say.
const CUSTOM = {
  axisPlacement: 'auto',
  barAlignment: 0,
  drawStyle: 'line',
  fillOpacity: 0,
  gradientMode: 'none',
  hideFrom: { legend: false, tooltip: false, viz: false },
  lineInterpolation: 'linear',
  lineWidth: 1,
  pointSize: 5,
  scaleDistribution: { type: 'linear' },
  showPoints: 'auto',
  spanNulls: false,
  stacking: { mode: 'none', group: 'A' },
  thresholdsStyle: { mode: 'off' },
};

const THRESHOLDS = { mode: 'absolute', steps: [{ value: -Infinity, color: 'green' }] };

function number(text) {
  if (text === null) return null;
  return { '+Inf': Infinity, '-Inf': -Infinity }[text] ?? Number(text);
}

function legend(target, labels) {
  const format = target.legendFormat;
  if (format && format !== '__auto') {
    return format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, name) => labels[name] ?? '');
  }
  return undefined;
}

// Where a series pauses for more than a step there is a gap. Grafana's panel does this before it hands over its frames.
function withGaps(points, step) {
  return points.flatMap(([time, value], i) => {
    const next = points[i + 1]?.[0];
    return next - time > step ? [[time, value], [time + step, null]] : [[time, value]];
  });
}

/** One frame for each series of each target. */
export function frames(panel, answers, step) {
  return panel.targets.flatMap((target, i) =>
    answers[i].map(({ metric, values, value }) => {
      const points = values ? withGaps(values, step) : [value];
      const { __name__: name, ...labels } = metric;
      return {
        refId: target.refId,
        length: points.length,
        fields: [
          {
            name: 'Time',
            type: FieldType.time,
            config: { interval: step * 1000 },
            state: { nullThresholdApplied: true },
            values: points.map((p) => p[0] * 1000),
          },
          {
            name: name ?? 'Value',
            type: FieldType.number,
            labels,
            config: { displayNameFromDS: legend(target, metric) },
            values: points.map((p) => number(p[1])),
          },
        ],
      };
    })
  );
}

/** One frame with a column for each label and one for the value, ordered by the panel's `organize`. */
export function table(panel, answers) {
  const rows = answers.flat();
  const order = panel.transformations?.find((t) => t.id === 'organize')?.options ?? {};
  const labels = [...new Set(rows.flatMap((row) => Object.keys(row.metric)))];
  const columns = labels.map((name) => ({ name, type: FieldType.string, config: {}, values: rows.map((row) => row.metric[name] ?? '') }));
  columns.push({ name: 'Value', type: FieldType.number, config: {}, values: rows.map((row) => number(row.value[1])) });
  const place = (field) => order.indexByName?.[field.name] ?? 99;
  const fields = columns.filter((field) => !order.excludeByName?.[field.name]).sort((a, b) => place(a) - place(b));
  return [{ refId: panel.targets[0].refId, length: rows.length, fields }];
}

function set(config, id, value) {
  const path = id.split('.');
  const last = path.pop();
  let at = config;
  for (const part of path) {
    at[part] = { ...at[part] };
    at = at[part];
  }
  at[last] = value;
}

/** Applies defaults and overrides, numbers the series for the palette, and makes the fields able to print values. */
export function configure(list, panel, theme, timeZone) {
  let series = 0;
  const { defaults, overrides } = panel.fieldConfig;
  for (const frame of list) {
    for (const field of frame.fields) {
      if (field.type === FieldType.time) {
        field.display = getDisplayProcessor({ field, theme, timeZone });
        continue;
      }
      const own = field.config;
      field.config = { ...structuredClone(defaults), ...own, custom: { ...CUSTOM, ...structuredClone(defaults.custom ?? {}) } };
      field.config.thresholds ??= structuredClone(THRESHOLDS);
      field.config.thresholds.steps[0].value = -Infinity;
      for (const { matcher, properties } of overrides) {
        // Names of the panels' own fields may match by the name of the field too.
        if (fieldMatchers.get(matcher.id).get(matcher.options)(field, frame, list)) {
          properties.forEach(({ id, value }) => set(field.config, id, structuredClone(value)));
        }
      }
      field.state = { ...field.state, seriesIndex: series++ };
      field.display = getDisplayProcessor({ field, theme, timeZone });
      if (field.type === FieldType.number) {
        field.state.displayName = getFieldDisplayName(field, frame, list);
      }
    }
  }
  return list;
}
