// Holds locks with libraries of npm. driver.mjs [--worker NAME] HOST:PORT; the lines that it answers are told in
// tests/libraries.rs. Where a library renews by itself, it does; where its manual leaves that to the application, a timer here does it.

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import semaphores from 'redis-semaphore';
import Redlock from 'redlock';
import Redlock4 from 'redlock-4';

// What libraries print is none of the answers.
console.log = console.info = console.warn = console.debug = console.error;

const { values, positionals } = parseArgs({
  options: { worker: { type: 'string', default: 'driver' } }, allowPositionals: true,
});
const WORKER = values.worker;
const [host, port] = positionals[0].split(':');
const client = new Redis({ host, port });
const redlock = new Redlock([client], { retryCount: 3, retryDelay: 50 });
const redlock4 = new Redlock4([client], { retryCount: 3, retryDelay: 50 });

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Renews until told to end, or the lock is lost. */
function renewed(every, renew) {
  const timer = setInterval(() => renew().catch((e) => (clearInterval(timer), console.error(e))), every);
  return () => clearInterval(timer);
}

/** A lock that its application extends, as both versions of redlock have it. */
async function extended(lock, lease) {
  const end = renewed(Math.round(lease / 3), async () => (lock = await lock.extend(lease)));
  return [[lock.value], () => (end(), lock.unlock ? lock.unlock() : lock.release())];
}

/** redis-semaphore: the objects renew by themselves. */
async function refreshed(...objects) {
  for (const object of objects) await object.acquire();
  return [objects.map((o) => o.identifier), async () => { for (const o of objects) await o.release(); }];
}

/** Its options; a lost lock is the application's to know, and would else end this process. */
const options = (lease) => ({ lockTimeout: lease, onLockLost: (e) => console.error(e.message) });
const named = (lease) => ({ ...options(lease), identifierSuffix: WORKER });

/** The jobs of one worker that are under way, by id. */
const jobs = new Map();
let bull;

function start(lease) {
  const connection = { host, port, maxRetriesPerRequest: null };
  const queue = new Queue('work', { connection });
  const work = (job, token) =>
    new Promise((resolve) => jobs.set(job.id, { token, finish: resolve }));
  const worker = new Worker('work', work, {
    connection, name: WORKER, lockDuration: lease, stalledInterval: 500, maxStalledCount: 5, concurrency: 8, drainDelay: 1,
  });
  worker.on('error', (e) => console.error(e.message));
  return { queue, worker };
}

const CASES = {
  /** Extended by the library itself shortly before it ends. */
  async 'redlock-using'(name, lease) {
    let held, letGo;
    const isHeld = new Promise((resolve) => (held = resolve));
    const isOver = new Promise((resolve) => (letGo = resolve));
    const routine = redlock.using([name], lease, () => (held(), isOver));
    await Promise.race([isHeld, routine]);
    routine.catch((e) => console.error(e.message));
    return [[await client.get(name)], () => (letGo(), routine)];
  },
  'redlock-5': async (name, lease) => extended(await redlock.acquire([name], lease), lease),
  'redlock-4': async (name, lease) => extended(await redlock4.lock(name, lease), lease),
  mutex: (name, lease) => refreshed(new semaphores.Mutex(client, name, named(lease))),
  'mutex-unnamed': (name, lease) => refreshed(new semaphores.Mutex(client, name, options(lease))),
  'redlock-mutex': (name, lease) => refreshed(new semaphores.RedlockMutex([client], name, named(lease))),
  semaphore: async (name, lease) => {
    const first = new semaphores.Semaphore(client, name, 3, named(lease));
    const second = new semaphores.Semaphore(client, name, 3, named(lease));
    return refreshed(first, second);
  },
  /** Two of three permits. */
  async 'multi-semaphore'(name, lease) {
    const [[id], release] = await refreshed(new semaphores.MultiSemaphore(client, name, 3, 2, named(lease)));
    return [[`${id}_0`, `${id}_1`], release];
  },
  /** A job that is worked on for as long as it is held; one that stalled is given to this worker again, or to another. */
  async bullmq(name, lease) {
    bull ??= start(lease);
    if (!jobs.has(name)) await bull.queue.add('task', {}, { jobId: name });
    for (let waited = 0; waited < 10000; waited += 20, await sleep(20)) {
      const job = jobs.get(name);
      if (job && (await client.get(`bull:work:${name}:lock`)) === job.token) {
        const done = new Promise((resolve) => bull.worker.on('completed', (j) => j.id === name && resolve()));
        return [[job.token], () => (job.finish(), done)];
      }
    }
    throw new Error('no worker took it');
  },
};

const held = new Map();

async function answer(command, words) {
  const name = command === 'acquire' ? words[1] : words[0];
  try {
    if (command === 'acquire') {
      const [tokens, release] = await CASES[words[0]](name, Number(words[2]));
      held.set(name, release);
      return `held ${name} ${tokens.map((t) => Buffer.from(t).toString('hex')).join() || '-'}`;
    }
    await held.get(name)();
    return `released ${name}`;
  } catch (e) {
    console.error(e);
    return `failed ${name} ${String(e).replaceAll('\n', ' ')}`;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...words] = line.split(' ');
  if (command === 'quit') break;
  process.stdout.write(`${await answer(command, words)}\n`);
}
process.exit(0);
