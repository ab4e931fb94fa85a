// One dashboard as Grafana would lay it out, drawn from the data in `window.input`. Each panel tells in its element's
// `data-drawn` what became of it: `series`, `zeros`, `values`, `rows`, `text` (no data, and said so) or `nothing`.
import { createTheme, dateTime, formattedValueToString, getFieldDisplayValues } from '@grafana/data';
import {
  BigValue, BigValueColorMode, BigValueGraphMode, BigValueJustifyMode, BigValueTextMode, GlobalStyles, PanelChrome,
  ThemeContext, TimeSeries, VizRepeater,
} from '@grafana/ui';
import { createRoot } from 'react-dom/client';
import { configure, frames, table } from './fields.js';

const CELL = 30;
const GAP = 8;
const TIME_ZONE = 'utc';
const { dashboard, answers, from, to, width, title } = window.input;
const theme = createTheme({ colors: { mode: 'dark' } });
const timeRange = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: dateTime(from * 1000), to: dateTime(to * 1000) } };
const asIs = (text) => text;

function Empty({ panel }) {
  return (
    <div style={{ height: '100%', display: 'flex', alignItems: 'center', justifyContent: 'center', color: theme.colors.text.secondary, textAlign: 'center' }}>
      {panel.fieldConfig.defaults.noValue ?? 'No data'}
    </div>
  );
}

function Series({ panel, list, w, h }) {
  const { options } = panel;
  const kept = list.filter((frame) => !frame.fields[1].config.custom.hideFrom.viz);
  return (
    <TimeSeries frames={kept} width={w} height={h} timeRange={timeRange} timeZone={TIME_ZONE} legend={options.legend} options={options} replaceVariables={asIs} />
  );
}

function Stat({ panel, list, w, h }) {
  const { options, fieldConfig } = panel;
  const values = getFieldDisplayValues({
    fieldConfig, reduceOptions: options.reduceOptions, data: list, theme, timeZone: TIME_ZONE, replaceVariables: asIs,
    sparkline: options.graphMode !== BigValueGraphMode.None,
  });
  const only = values.length === 1;
  const draw = ({ value, width, height, count }) => (
    <BigValue
      value={{ ...value.display, title: value.display.title }} sparkline={value.sparkline} width={width} height={height} count={count} theme={theme}
      colorMode={options.colorMode ?? BigValueColorMode.Value} graphMode={options.graphMode} justifyMode={options.justifyMode ?? BigValueJustifyMode.Auto}
      textMode={options.textMode === 'auto' ? (only ? BigValueTextMode.Value : BigValueTextMode.ValueAndName) : options.textMode}
      wideLayout={options.wideLayout}
    />
  );
  return (
    <VizRepeater getValues={() => values} renderValue={draw} width={w} height={h} source={list} itemSpacing={3} autoGrid orientation={options.orientation} renderCounter={0} />
  );
}

function Rows({ panel, list }) {
  const [{ fields, length }] = list;
  const name = (field) => field.config.displayName ?? field.name;
  const order = [...Array(length).keys()];
  for (const { displayName, desc } of [...(panel.options.sortBy ?? [])].reverse()) {
    const by = fields.find((field) => name(field) === displayName);
    const compare = (a, b) => (by.values[a] < by.values[b] ? -1 : by.values[a] > by.values[b] ? 1 : 0);
    order.sort((a, b) => (desc ? compare(b, a) : compare(a, b)));
  }
  const cell = { textAlign: 'left', padding: '5px 8px', borderBottom: `1px solid ${theme.colors.border.weak}`, whiteSpace: 'nowrap' };
  const style = (field, row) => {
    const { color } = field.display(field.values[row]);
    if (field.config.custom.cellOptions?.type === 'color-background') {
      return { ...cell, background: color, color: theme.colors.getContrastText(color) };
    }
    return { ...cell, color: field.config.links?.length ? theme.colors.text.link : undefined };
  };
  return (
    <table style={{ width: '100%', borderCollapse: 'collapse' }}>
      <thead><tr>{fields.map((field) => <th key={field.name} style={cell}>{name(field)}</th>)}</tr></thead>
      <tbody>
        {order.map((row) => (
          <tr key={row}>
            {fields.map((field) => (
              <td key={field.name} style={style(field, row)}>{formattedValueToString(field.display(field.values[row]))}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function content(panel, step) {
  const got = answers[panel.id];
  if (got.answers.every((series) => series.length === 0)) {
    return { drawn: 'text', draw: () => <Empty panel={panel} /> };
  }
  const list = configure(panel.type === 'table' ? table(panel, got.answers) : frames(panel, got.answers, got.step), panel, theme, TIME_ZONE);
  const kinds = { timeseries: ['series', Series], stat: ['values', Stat], table: ['rows', Rows] };
  const flat = ({ config, values }) => (config.custom.drawStyle === 'bars' || config.custom.stacking.mode !== 'none') && values.every((v) => v === 0);
  const zero = list.every((frame) => frame.fields.every((field) => field.type === 'time' || flat(field)));
  const [drawn, Kind] = kinds[panel.type] ?? ['nothing', () => null];
  return { drawn: zero ? 'zeros' : drawn, draw: (w, h) => <Kind panel={panel} list={list} w={w} h={h} /> };
}

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const column = (width + GAP) / 24;
  const box = { left: x * column, top: y * (CELL + GAP), width: w * column - GAP, height: h * (CELL + GAP) - GAP };
  const place = { position: 'absolute', ...box };
  if (panel.type === 'row') {
    return <div style={{ ...place, color: theme.colors.text.primary, fontSize: 16, fontWeight: 500, paddingTop: 6 }}>⌄ {panel.title}</div>;
  }
  const { drawn, draw } = content(panel);
  return (
    <div style={place} data-panel={panel.id} data-title={panel.title} data-drawn={drawn}>
      <PanelChrome title={panel.title} description={panel.description} width={box.width} height={box.height} padding="md">
        {(innerWidth, innerHeight) => draw(innerWidth, innerHeight)}
      </PanelChrome>
    </div>
  );
}

function Page() {
  const bottom = Math.max(...dashboard.panels.map(({ gridPos: g }) => g.y + g.h));
  return (
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div style={{ padding: 16, background: theme.colors.background.canvas, width: width + 32 }}>
        <h2 style={{ margin: '0 0 12px', color: theme.colors.text.primary }}>{title}</h2>
        <div id="dashboard" style={{ position: 'relative', width, height: bottom * (CELL + GAP) }}>
          {dashboard.panels.map((panel) => <Panel key={panel.id} panel={panel} />)}
        </div>
      </div>
    </ThemeContext.Provider>
  );
}

createRoot(document.getElementById('root')).render(<Page />);
