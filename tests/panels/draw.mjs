// Fetches what the dashboards ask of a Prometheus, draws them in a headless Chromium, and saves one PNG for each. See
// `draw`. Fails on an error in the console, a panel that drew nothing, and a query that Prometheus refuses.
import { readFile, readdir, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
const dashboards = join(here, '../../dashboards');
const WIDTH = 1880;
const [prometheus, out, minutes = '60', ...given] = process.argv.slice(2);
const chosen = Object.fromEntries(given.map((pair) => pair.split('=')));
const to = chosen.to ? Number(chosen.to) : Date.now() / 1000;
const from = to - Number(minutes) * 60;
const scrape = Number(chosen.scrape ?? 2);
delete chosen.to;
delete chosen.scrape;
const failures = [];

async function api(path, words) {
  const answer = await fetch(`${prometheus}/api/v1/${path}?${new URLSearchParams(words)}`);
  const body = await answer.json();
  if (body.status !== 'success') throw new Error(`${body.error} in ${JSON.stringify(words)}`);
  return body.data;
}

function replace(text, values) {
  return Object.entries(values).sort(([a], [b]) => b.length - a.length).reduce((t, [name, value]) => t.replaceAll(`$${name}`, value), text);
}

// The value of each variable: as given, all of them for those that may be, else the first.
async function variables(list) {
  const values = {};
  for (const variable of list.filter((v) => v.type === 'query')) {
    const [, selector, label] = /^label_values\((.*), *(\w+)\)$/.exec(variable.definition);
    const series = await api('series', { 'match[]': replace(selector, values), start: from, end: to });
    const all = [...new Set(series.map((labels) => labels[label]))].sort();
    values[variable.name] = chosen[variable.name] ?? (variable.includeAll ? variable.allValue : all[0]);
  }
  return values;
}

// Grafana's steps, and at least one scrape.
function stepOf(panel) {
  const least = panel.interval && to - from > 600 ? 60 : scrape;
  const wanted = Math.max((to - from) / (panel.gridPos.w / 24) / WIDTH, least);
  return [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600].find((s) => s >= wanted);
}

async function answersOf(dashboard, values) {
  const answers = {};
  for (const panel of dashboard.panels.filter((p) => p.targets)) {
    const step = stepOf(panel);
    const rate = Math.max(step + scrape, 4 * scrape);
    const all = { ...values, __rate_interval: `${rate}s`, __range: `${Math.round(to - from)}s`, __interval: `${step}s` };
    const results = [];
    for (const target of panel.targets) {
      const query = replace(target.expr, all);
      const asked = target.instant ? ['query', { query, time: to }] : ['query_range', { query, start: Math.floor(from / step) * step, end: to, step }];
      results.push((await api(...asked)).result);
    }
    answers[panel.id] = { step, answers: results };
  }
  return answers;
}

function serve() {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };
  const weights = { Regular: 400, Medium: 500 };
  // Where a Grafana server has its icons and its font.
  const place = (path) =>
    path
      .replace(/^\/public\/build\/img/, '../node_modules/@grafana/ui/dist/public/img')
      .replace(/^\/public\/fonts\/inter\/Inter-(\w+)\.woff2$/, (_, name) => `../node_modules/@fontsource/inter/files/inter-latin-${weights[name]}-normal.woff2`);
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://x').pathname;
    try {
      const body = await readFile(join(here, 'dist', path === '/' ? 'index.html' : place(path)));
      response.writeHead(200, { 'content-type': types[extname(path)] ?? 'text/html' }).end(body);
    } catch {
      response.writeHead(path === '/favicon.ico' ? 204 : 404).end();
    }
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

// What became of each panel: how many pixels of its canvases have a colour, which axes and grids have not, or the grey of
// what is unknown; and its text.
function inspect() {
  return [...document.querySelectorAll('[data-panel]')].map((element) => {
    let [coloured, grey] = [0, 0];
    for (const canvas of element.querySelectorAll('canvas')) {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) {
        const [low, high] = [Math.min(data[i], data[i + 1], data[i + 2]), Math.max(data[i], data[i + 1], data[i + 2])];
        coloured += data[i + 3] > 40 && high - low > 40;
        grey += data[i + 3] > 100 && low > 136 && high < 148;
      }
    }
    return { title: element.dataset.title, drawn: element.dataset.drawn, coloured, grey, text: element.innerText.replace(element.dataset.title, '').trim() };
  });
}

async function draw(browser, address, file) {
  const dashboard = JSON.parse(await readFile(join(dashboards, file), 'utf8'));
  const values = await variables(dashboard.templating.list);
  const answers = await answersOf(dashboard, values);
  const shown = Object.entries(values).map(([name, value]) => `${name} = ${value}`).join(', ');
  const input = { dashboard, answers, from, to, width: WIDTH, title: `${dashboard.title}${shown ? `   (${shown})` : ''}` };
  const page = await browser.newPage({ viewport: { width: WIDTH + 32, height: 1000 } });
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && failures.push(`${file}: console ${message.type()}: ${message.text()}`));
  page.on('response', (response) => response.status() >= 400 && failures.push(`${file}: ${response.status()} ${response.url()}`));
  page.on('pageerror', (error) => failures.push(`${file}: ${error.stack}`));
  await page.addInitScript((given) => { window.input = given; }, input);
  await page.goto(address);
  await page.waitForSelector('#dashboard [data-panel]', { timeout: 60000 });
  await page.evaluate(() => document.fonts.ready);
  await page.waitForTimeout(500);
  const panels = await page.evaluate(inspect);
  for (const { title, drawn, coloured, grey, text } of panels) {
    const good = drawn === 'series' ? coloured > 20 || grey > 400 : ['zeros', 'values', 'rows', 'text'].includes(drawn) && text !== '';
    if (!good) failures.push(`${file}: "${title}" drew nothing (${drawn}, ${coloured} coloured pixels, text "${text}")`);
  }
  if (panels.length !== dashboard.panels.filter((p) => p.type !== 'row').length) failures.push(`${file}: ${panels.length} panels drawn`);
  const name = file.replace('.json', '');
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: true });
  await page.close();
  const empty = panels.filter((p) => p.drawn === 'text').map((p) => p.title);
  console.log(`${name}: ${panels.length} panels${empty.length ? `; said to have no data: ${empty.join('; ')}` : ''}`);
}

await mkdir(out, { recursive: true });
const server = await serve();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--force-color-profile=srgb'] });
try {
  for (const file of (await readdir(dashboards)).filter((f) => f.endsWith('.json')).sort()) {
    await draw(browser, `http://127.0.0.1:${server.address().port}/`, file);
  }
} finally {
  await browser.close();
  server.close();
}
failures.forEach((failure) => console.error(failure));
process.exit(failures.length ? 1 : 0);
